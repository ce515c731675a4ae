//! Looking at a session's screen, and at what its program said about itself.

use super::{Session, Shared, lock};
use crate::attachment::Drawn;
use crate::journal::Journal;
use crate::said::{self, Said};
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

    /// The last stretch of output that was no echo of what somebody typed: when it began and when its last bytes came, in
    /// milliseconds since the session began. A stretch ends with a silence of [`QUIET_MS`](crate::QUIET_MS). None if there
    /// was none.
    #[must_use]
    pub fn worked(&self) -> Option<(u64, u64)> {
        self.shared.journal().worked()
    }

    /// Says that somebody typed: what the program called for is answered, and what it writes now is the echo.
    pub fn typed(&self) {
        let mut said = lock(&self.shared.said);
        let mut journal = self.shared.journal();
        let now = journal.time_ms();
        journal.set_disturbed(now);
        if said.answered(now) {
            let (heard, _) = journal.said();
            journal.set_said(heard, &said);
        }
    }

    /// Milliseconds since the session began.
    #[must_use]
    pub fn time_ms(&self) -> u64 {
        self.shared.time_ms()
    }

    /// What the program said about itself last, in whichever process drew it.
    #[must_use]
    pub fn said(&self) -> Said {
        lock(&self.shared.said).clone()
    }
}

/// The lowest line of a screen that is not blank, without blanks at its end.
pub(super) fn last_line(screen: &dyn Screen) -> String {
    let mut lines = screen.text_lines().into_iter().rev();
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Takes in what the program said in what was drawn up to here, unless that was heard before.
pub(super) fn hear(shared: &Shared, signals: &[Signal], drawn: Drawn) {
    if signals.is_empty() || drawn.seen <= shared.rebuild.heard {
        return;
    }
    let mut said = lock(&shared.said);
    let mut journal = shared.journal();
    let written = journal.record_before(drawn.seen).filter(|_| !shared.is_rebuilt());
    let at = written.map_or_else(|| journal.time_ms(), |(time, _)| time);
    signals.iter().for_each(|signal| said.hear(at, signal));
    journal.set_said(drawn.ground, &said);
}

/// Notes that output was drawn just now.
pub(super) fn wrote(shared: &Shared) {
    let mut burst = lock(&shared.burst);
    let journal = shared.journal();
    let stretch = said::stretch(*burst, journal.time_ms());
    *burst = Some(stretch);
    if !said::is_echo(stretch, journal.disturbed()) {
        journal.set_worked(stretch);
    }
}

/// The last stretch of output that a journal knows of, with what came while nobody drew it.
pub(super) fn worked(journal: &Journal) -> Option<(u64, u64)> {
    let worked = journal.worked();
    let last = journal.last_output_ms();
    let last = last.filter(|last| worked.is_none_or(|(_, known)| known < *last));
    let Some(last) = last else { return worked };
    let stretch = said::stretch(worked, last);
    if !said::is_echo(stretch, journal.disturbed()) {
        journal.set_worked(stretch);
    }
    Some(stretch)
}
