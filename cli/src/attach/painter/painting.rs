//! A painter's pace, and the handle on its thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::sync::oneshot;

/// How much of what waits is still shown; it only ever becomes less.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace(Arc<AtomicU8>);

impl Pace {
    /// From now on only the last screen is shown.
    pub(super) fn hurry(&self) {
        self.0.fetch_max(HURRY, Ordering::Relaxed);
    }

    /// Whether a backlog is not worth showing any more.
    pub(super) fn is_hurried(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= HURRY
    }

    /// Whether nothing may be written any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= STOP
    }

    fn stop(&self) {
        self.0.fetch_max(STOP, Ordering::Relaxed);
    }
}

/// A painter at work in its thread.
pub(in crate::attach) struct Painting {
    end: oneshot::Receiver<()>,
    pace: Pace,
}

impl Painting {
    /// The painter with this pace, whose thread says when it ends.
    pub(super) fn new(end: oneshot::Receiver<()>, pace: Pace) -> Self {
        Self { end, pace }
    }

    /// Waits until the last job is done.
    pub(in crate::attach) async fn done(&mut self) {
        (&mut self.end).await.ok();
    }

    /// Has the painter skip to the last screen, and stops it for good where even that takes too long.
    pub(in crate::attach) async fn hurry(mut self) {
        self.pace.hurry();
        if !self.end.is_terminated() {
            tokio::time::timeout(LAST_JOB, self.done()).await.ok();
        }
        self.pace.stop();
    }
}

/// How long the terminal may take for what is still to be written.
const LAST_JOB: Duration = Duration::from_secs(1);
/// Only the last screen is shown.
const HURRY: u8 = 1;
/// Nothing is shown any more.
const STOP: u8 = 2;
