//! The two steps of ending: drain, then cut.

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// A step of ending; the second includes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// Accept nothing more, close what is idle, let requests in flight finish.
    Soft,
    /// Cut everything now.
    Hard,
}

/// The signal by which a server is told to end; clones are the same signal.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    soft: CancellationToken,
    hard: CancellationToken,
}

impl Stop {
    /// Makes a signal that nobody has given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal; giving it again changes nothing.
    pub fn request(&self, step: Shutdown) {
        self.soft.cancel();
        if step == Shutdown::Hard {
            self.hard.cancel();
        }
    }

    /// Completes when the step was requested.
    pub fn requested(&self, step: Shutdown) -> WaitForCancellationFuture<'_> {
        match step {
            Shutdown::Soft => self.soft.cancelled(),
            Shutdown::Hard => self.hard.cancelled(),
        }
    }

    /// Whether the step was requested.
    pub fn is_requested(&self, step: Shutdown) -> bool {
        match step {
            Shutdown::Soft => self.soft.is_cancelled(),
            Shutdown::Hard => self.hard.is_cancelled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shutdown, Stop};

    #[test]
    fn a_hard_stop_includes_the_soft_one() {
        let stop = Stop::new();
        stop.request(Shutdown::Hard);
        assert!(stop.is_requested(Shutdown::Soft) && stop.is_requested(Shutdown::Hard));
    }

    #[test]
    fn a_soft_stop_cuts_nothing() {
        let stop = Stop::new();
        stop.request(Shutdown::Soft);
        assert!(stop.is_requested(Shutdown::Soft) && !stop.is_requested(Shutdown::Hard));
    }
}
