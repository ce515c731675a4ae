//! Drawing a screen again that an earlier process had drawn.

use std::io;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::draw::{Drawing, draw};
use super::store::ENOUGH;
use super::{Patience, Session, Shared};
use crate::attachment::Drawn;
use crate::checkpoint::Checkpoint;
use crate::journal::Journal;
use crate::offset::Offset;
use crate::screen::Emulator;

impl Session {
    /// Waits until the screen shows what the program wrote before this process took the session over; at once, where
    /// there is nothing such. Until then the screen is blank and small. Cancel safe.
    pub async fn rebuilt(&self) {
        self.shared.rebuilt().await;
    }
}

/// How far a screen that has to be drawn again is.
#[derive(Debug)]
pub(super) struct Rebuild {
    is_done: watch::Sender<bool>,
    wanted: Notify,
    /// The program's queries before here were answered.
    pub(super) answered: Offset,
    /// What the program said about itself before here was heard.
    pub(super) heard: Offset,
    /// The screen shows what was written before this process came, when it is here and has made so many size changes.
    until: Offset,
    sizes: u64,
    /// Whether somebody draws it, or waits to: not of what has ended before anybody asks for it. A program that runs may wait
    /// for an answer.
    has_begun: AtomicBool,
}

impl Rebuild {
    /// Of a screen that shows nothing yet of what a journal says; what has ended waits for who asks.
    pub(super) fn of(journal: &Journal, has_ended: bool) -> Self {
        let sizes = journal.first_size_from(Offset(u64::MAX));
        let is_new = journal.end() == Offset::START && sizes == 0;
        Self {
            is_done: watch::Sender::new(is_new),
            wanted: Notify::new(),
            answered: journal.answered(),
            // Nobody waits for what has ended.
            heard: if has_ended {
                Offset(u64::MAX)
            } else {
                journal.said().0
            },
            until: journal.end(),
            sizes,
            has_begun: AtomicBool::new(!has_ended),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        *self.is_done.borrow()
    }

    /// How much is drawn at once from `seen` on, at most `most` bytes. What was answered or heard before and what was not
    /// are drawn apart; of the last there is, so is each record, as what a program says there is new and came at its time.
    pub(super) fn limit(&self, journal: &Journal, seen: Offset, most: usize) -> usize {
        if self.is_done() {
            return most;
        }
        let is_new = seen >= self.heard && self.until.since(seen) < NEW;
        let record = journal.record_before(seen.plus(1)).filter(|_| is_new);
        let cuts = [Some(self.answered), Some(self.heard), record.map(|(_, end)| end)];
        let cuts = cuts.into_iter().flatten().filter(|cut| *cut > seen);
        let rests = cuts.map(|cut| usize::try_from(cut.since(seen)).unwrap_or(usize::MAX));
        rests.min().map_or(most, |rest| rest.min(most))
    }

    /// Says that the screen shows all there is.
    pub(super) fn finished(&self) {
        if !self.is_done() {
            self.is_done.send_replace(true);
        }
    }

    /// Says how far the screen is.
    pub(super) fn reached(&self, drawn: Drawn) {
        if !self.is_done() && drawn.seen >= self.until && drawn.sizes >= self.sizes {
            self.is_done.send_replace(true);
        }
    }
}

impl Shared {
    pub(crate) fn is_rebuilt(&self) -> bool {
        self.rebuild.is_done()
    }

    /// Waits until the screen shows what was there before; asks for it.
    pub(crate) async fn rebuilt(self: &Arc<Self>) {
        if self.is_rebuilt() {
            return;
        }
        self.rebuild.wanted.notify_one();
        if !self.rebuild.has_begun.swap(true, Ordering::AcqRel) {
            let drawing = Drawing::new(self);
            tokio::spawn(draw(Arc::clone(self), Arc::new(Mutex::new(drawing))));
        }
        // The sender lives in `shared`.
        let _ = self.rebuild.is_done.subscribe().wait_for(|done| *done).await;
    }

    /// Has the screen begun at once, and the disk take what is there: output waits for room.
    pub(super) fn hurry(self: &Arc<Self>) {
        self.rebuild.wanted.notify_one();
        self.appended(ENOUGH);
    }

    /// Waits until the screen is asked for or is due anyway, and begins it with the last checkpoint.
    pub(super) async fn begin_again(self: &Arc<Self>) {
        let _ = timeout(UNASKED, self.rebuild.wanted.notified()).await;
        let mut patience = Patience::default();
        let checkpoint = loop {
            let shared = Arc::clone(self);
            let read = spawn_blocking(move || shared.checkpoint()).await;
            let read = read.map_err(io::Error::from).flatten();
            if let Err(error) = &read {
                tracing::warn!(%error, "a screen could not be read from the disk");
            }
            match patience.pause(read.is_err()) {
                Some(pause) => sleep(pause).await,
                None => break read.ok().flatten(),
            }
        };
        let drawn = checkpoint.and_then(|checkpoint| self.begin_with(&checkpoint));
        let drawn = drawn.unwrap_or_else(|| self.begin_blank());
        self.drawn.send_replace(drawn);
    }

    /// Begins the screen with what a checkpoint draws, unless it fails on that.
    fn begin_with(&self, checkpoint: &Checkpoint) -> Option<Drawn> {
        let Ok(screen) = catch_unwind(|| checkpoint.draw()) else {
            tracing::error!("a session's kept screen could not be drawn; it is drawn from its records");
            return None;
        };
        *self.screen() = Box::new(screen);
        Some(Drawn {
            seen: checkpoint.ground,
            ground: checkpoint.ground,
            sizes: checkpoint.sizes,
            is_begun: true,
        })
    }

    /// Begins the screen as it was when the session began.
    fn begin_blank(&self) -> Drawn {
        let size = {
            let journal = self.journal();
            journal.first_size().unwrap_or(journal.size())
        };
        *self.screen() = Box::new(Emulator::new(size));
        Drawn {
            seen: Offset::START,
            ground: Offset::START,
            sizes: 0,
            is_begun: true,
        }
    }

    /// The screen on disk that this one goes on from. Blocks.
    pub(super) fn checkpoint(&self) -> io::Result<Option<Checkpoint>> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let (start, end) = {
            let journal = self.journal();
            (journal.start(), journal.end())
        };
        Checkpoint::last(&store.directory, end, |from| store.tail.holds(from, start))
    }
}

/// Bytes of output that another process may not have drawn.
const NEW: u64 = 64 * 1024;
/// How long a screen that nobody asked for waits, so that all sessions are served first.
const UNASKED: Duration = Duration::from_millis(200);
