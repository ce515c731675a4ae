//! Looking at a session's screen, and taking what its program said about itself.

use super::{Session, Shared, lock};
use crate::screen::{Screen, Signal};

impl Session {
    /// Looks at the screen as it is drawn now. Drawing waits meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&dyn Screen) -> T) -> T {
        look(self.shared.screen().as_ref())
    }

    /// Waits until the screen shows all the output that there is now.
    pub async fn drawn(&self) {
        self.shared.rebuilt().await;
        let end = self.end();
        // The sender lives in `shared`.
        let _ = self
            .shared
            .drawn
            .subscribe()
            .wait_for(|drawn| drawn.seen >= end)
            .await;
    }

    /// The last stretch of output: when it began and when its last bytes came, in milliseconds since the session began. A
    /// stretch ends with a silence of [`QUIET_MS`]. None if there was no output since this process has the session.
    #[must_use]
    pub fn burst(&self) -> Option<(u64, u64)> {
        *lock(&self.shared.burst)
    }

    /// Milliseconds since the session began.
    #[must_use]
    pub fn time_ms(&self) -> u64 {
        self.shared.time_ms()
    }

    /// What the program said about itself since the last call, each with the milliseconds from the session's beginning to
    /// when the screen saw it. The oldest are forgotten when they are many.
    #[must_use]
    pub fn take_signals(&self) -> Vec<(u64, Signal)> {
        std::mem::take(&mut *lock(&self.shared.signals))
    }
}

/// The lowest line of a screen that is not blank, without blanks at its end.
pub(super) fn last_line(screen: &dyn Screen) -> String {
    let mut lines = screen.text_lines().into_iter().rev();
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Keeps signals until somebody takes them.
pub(super) fn keep(shared: &Shared, signals: Vec<Signal>) {
    if signals.is_empty() {
        return;
    }
    let now = shared.time_ms();
    let mut kept = lock(&shared.signals);
    kept.extend(signals.into_iter().map(|signal| (now, signal)));
    let surplus = kept.len().saturating_sub(MAX_SIGNALS);
    kept.drain(..surplus);
}

/// Notes that output was drawn just now.
pub(super) fn wrote(shared: &Shared) {
    let now = shared.time_ms();
    let mut burst = lock(&shared.burst);
    *burst = match *burst {
        Some((since, last)) if now.saturating_sub(last) < QUIET_MS => Some((since, now)),
        _ => Some((now, now)),
    };
}

/// A silence of so many milliseconds is no pause of a program that works: spinners turn and progress is told several times a
/// second, compilers are silent for a second or two.
pub const QUIET_MS: u64 = 3_000;

/// Signals that wait for whoever takes them.
const MAX_SIGNALS: usize = 64;
