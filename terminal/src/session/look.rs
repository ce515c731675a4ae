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

    /// What the program said about itself since the last call, each with the milliseconds from the session's beginning to
    /// when the screen saw it. The oldest are forgotten when they are many.
    #[must_use]
    pub fn take_signals(&self) -> Vec<(u64, Signal)> {
        std::mem::take(&mut *lock(&self.shared.signals))
    }
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

/// Signals that wait for whoever takes them.
const MAX_SIGNALS: usize = 64;
