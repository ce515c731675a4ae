//! Drawing: from the records onto the screen, off the path of reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::store::Records;
use super::{SessionState, Shared, lock, look};
use crate::attachment::Drawn;
use crate::checkpoint::Checkpoint;
use crate::journal::Read;
use crate::offset::Offset;
use crate::screen::{Emulator, Screen};
use crate::size::Size;

/// Draws a session's records until its program has ended and all of them are drawn.
pub(super) async fn draw(shared: Arc<Shared>, drawing: Arc<Mutex<Drawing>>) {
    if !shared.is_rebuilt() {
        shared.begin_again().await;
        lock(&drawing).kept = shared.drawn.borrow().ground;
    }
    let mut state = shared.state.subscribe();
    loop {
        let has_ended = !state.borrow_and_update().is_running();
        let step = lock(&drawing).step(&shared, MAX_TURN);
        match step {
            Step::Drawn { bytes } if bytes < MAX_TURN => {}
            Step::Drawn { .. } => tokio::task::yield_now().await,
            Step::Away { from, sizes, limit } => {
                let records = shared.records(from, sizes, limit).await;
                lock(&drawing).take(&shared, from, records);
            }
            Step::Nothing if has_ended => {
                lock(&drawing).end(&shared);
                return;
            }
            Step::Nothing => {
                let held = lock(&drawing).held(&shared);
                match held {
                    Some(until) => {
                        let _ = timeout_at(until, changed(&shared, &mut state)).await;
                    }
                    None => changed(&shared, &mut state).await,
                }
            }
        }
    }
}

/// Waits until there may be more to draw.
async fn changed(shared: &Shared, state: &mut watch::Receiver<SessionState>) {
    tokio::select! {
        () = shared.undrawn.notified() => {}
        _ = state.changed() => {}
    }
}

/// The pen of a session: whoever has it draws, one at a time.
pub(super) struct Drawing {
    /// What is drawn at once; kept while there is more, so that a flood allocates nothing.
    bytes: Vec<u8>,
    /// Where a held synchronized update began, and when it is drawn although it has not ended.
    held: Option<(Offset, Instant)>,
    /// The ground offset of the last checkpoint, and whether scrollback is in it.
    kept: Offset,
    is_kept_whole: bool,
    /// The size that the session began with.
    first_size: Size,
    /// Bytes of output from one checkpoint to the next.
    step: u64,
}

/// What one step came to.
#[derive(Debug)]
pub(super) enum Step {
    /// So many bytes were drawn, or a size.
    Drawn { bytes: usize },
    /// There was nothing to draw.
    Nothing,
    /// What comes next is no longer in the journal.
    Away { from: Offset, sizes: u64, limit: usize },
}

impl Drawing {
    pub(super) fn new(shared: &Shared) -> Self {
        let (capacity, first_size) = {
            let journal = shared.journal();
            (journal.capacity() as u64, journal.first_size())
        };
        Self {
            bytes: Vec::new(),
            held: None,
            kept: shared.drawn.borrow().ground,
            is_kept_whole: true,
            first_size: first_size.unwrap_or_default(),
            // The reader is up to half of the journal ahead: the records since the last one are still there.
            step: CHECKPOINT.min((capacity / 2).saturating_sub(MAX_TURN as u64)),
        }
    }

    /// Draws the next record, at most so many bytes of it, without waiting.
    pub(super) fn step(&mut self, shared: &Arc<Shared>, limit: usize) -> Step {
        let Drawn { seen, sizes, .. } = *shared.drawn.borrow();
        // What was answered before and what was not are drawn apart.
        let limit = match usize::try_from(shared.rebuild.answered.since(seen)) {
            Ok(0) | Err(_) => limit,
            Ok(rest) => limit.min(rest),
        };
        self.bytes.clear();
        let read = shared.journal().read(seen, sizes, limit, &mut self.bytes);
        match read {
            Read::Output => self.feed(shared, seen),
            Read::Size { number, size, .. } => self.resize(shared, number, size),
            Read::Nothing => {
                shared.rebuild.finished();
                self.keep(shared, true);
                // Most sessions stand still most of the time.
                self.bytes.shrink_to(IDLE_BUFFER);
                return Step::Nothing;
            }
            Read::Trimmed { .. } => {
                return Step::Away {
                    from: seen,
                    sizes,
                    limit,
                };
            }
        }
        let bytes = self.bytes.len();
        self.stepped(shared);
        Step::Drawn { bytes }
    }

    /// Draws what the journal has no more.
    fn take(&mut self, shared: &Arc<Shared>, from: Offset, records: Records) {
        match records {
            Records::Output(bytes) => {
                self.bytes = bytes;
                self.feed(shared, from);
            }
            Records::Size { number, size, .. } => self.resize(shared, number, size),
            Records::Nothing => return,
            Records::Gone { to } => self.skip(shared, to),
        }
        self.stepped(shared);
    }

    fn stepped(&mut self, shared: &Arc<Shared>) {
        let drawn = *shared.drawn.borrow();
        shared.rebuild.reached(drawn);
        let begun = shared.screen().is_held().then_some(drawn.ground);
        self.held = begun.map(|begun| match self.held {
            Some((same, until)) if same == begun => (same, until),
            _ => (begun, Instant::now() + MAX_HELD),
        });
        self.held(shared);
        self.keep(shared, false);
    }

    /// When what is held is drawn; draws it if it is time.
    fn held(&mut self, shared: &Shared) -> Option<Instant> {
        let (_, until) = self.held?;
        if until > Instant::now() {
            return Some(until);
        }
        release(shared);
        self.held = None;
        None
    }

    fn feed(&mut self, shared: &Shared, seen: Offset) {
        let seen = seen.plus(self.bytes.len());
        let bytes = &self.bytes;
        record(shared, |screen| screen.feed(bytes), |drawn| drawn.seen = seen);
        if shared.is_rebuilt() {
            look::wrote(shared);
        }
        if seen == shared.rebuild.answered {
            // What was answered inside of a synchronized update was shown then, though the update had not ended.
            release(shared);
        }
    }

    fn resize(&mut self, shared: &Shared, number: u64, size: Size) {
        record(
            shared,
            |screen| screen.resize(size),
            |drawn| drawn.sizes = number + 1,
        );
    }

    /// Goes on behind records that are gone: the modes stay, a sequence that had begun does not go on.
    fn skip(&mut self, shared: &Shared, to: Offset) {
        let cancel = |screen: &mut dyn Screen| {
            screen.release();
            screen.feed(CANCEL);
        };
        record(shared, cancel, |drawn| drawn.seen = to);
    }

    /// Keeps the screen on disk, if enough was drawn since it was.
    fn keep(&mut self, shared: &Arc<Shared>, is_idle: bool) {
        let since = shared.drawn.borrow().ground.since(self.kept);
        if since >= self.step || is_idle && !self.is_kept_whole {
            self.keep_now(shared, is_idle);
        }
    }

    fn keep_now(&mut self, shared: &Arc<Shared>, is_whole: bool) {
        // What ended before is not written again.
        if !shared.has_store() || shared.is_settled() {
            return;
        }
        // Under a flood only the screen, which is quickly drawn: a daemon that is killed before it pauses has no scrollback
        // from before this one, only what the records that follow scroll off.
        let lines = if is_whole { HISTORY } else { 0 };
        let mut screen = shared.screen();
        // Published under the screen's lock, so it belongs to what the screen shows.
        let Drawn { ground, sizes, .. } = *shared.drawn.borrow();
        let (size, numbering) = (screen.size(), screen.numbering());
        let drawn = catch_unwind(AssertUnwindSafe(|| screen.checkpoint(lines)));
        drop(screen);
        // Also where it failed: the next one is tried when more was drawn.
        (self.kept, self.is_kept_whole) = (ground, is_whole);
        let Ok(bytes) = drawn else {
            tracing::error!("a session's screen could not be kept");
            return;
        };
        shared.keep(Checkpoint {
            ground,
            sizes,
            size,
            first_size: self.first_size,
            numbering: Some(numbering),
            bytes,
        });
    }

    /// Shows what is held back, and keeps the last screen of a program that ended here.
    fn end(&mut self, shared: &Arc<Shared>) {
        release(shared);
        if !shared.is_settled() {
            self.keep_now(shared, true);
            shared.settle();
        }
    }
}

fn release(shared: &Shared) {
    record(shared, |screen| screen.release(), |_| {});
}

/// Changes the screen and publishes how far it is, as one.
fn record(shared: &Shared, change: impl FnOnce(&mut dyn Screen), advance: impl FnOnce(&mut Drawn)) {
    let mut screen = shared.screen();
    let size = screen.size();
    if catch_unwind(AssertUnwindSafe(|| change(screen.as_mut()))).is_err() {
        tracing::error!("the screen failed on a session's output and was begun anew");
        *screen = Box::new(Emulator::new(size));
    }
    let replies = screen.take_replies();
    let pending = screen.pending();
    look::keep(shared, screen.take_signals());
    let mut now = None;
    shared.drawn.send_modify(|drawn| {
        advance(drawn);
        drawn.ground = drawn.seen.minus(pending);
        now = Some(*drawn);
    });
    drop(screen);
    if let Some(drawn) = now
        && !replies.is_empty()
        && drawn.seen > shared.rebuild.answered
    {
        answer(shared, &replies, drawn.ground);
    }
}

/// Queues answers to queries, all of which stand before `ground`.
fn answer(shared: &Shared, replies: &[u8], ground: Offset) {
    // First: a program that is answered once too seldom asks again, one that is answered twice takes it for typing.
    shared.journal().set_answered(ground);
    let mut waiting = lock(&shared.replies);
    // A program that asks and never reads is not answered without end.
    if waiting.len() + replies.len() <= MAX_REPLIES {
        waiting.extend_from_slice(replies);
    }
    drop(waiting);
    shared.replied.notify_one();
}

/// Bytes drawn before others get their turn.
const MAX_TURN: usize = 16 * 1024;
/// How long a synchronized update may keep the screen as it was.
const MAX_HELD: Duration = Duration::from_millis(150);
/// Bytes of answers that wait for the terminal.
const MAX_REPLIES: usize = 64 * 1024;
/// Bytes of output after which the screen is kept.
const CHECKPOINT: u64 = 1024 * 1024;
/// Bytes of buffer that a session keeps which draws nothing.
const IDLE_BUFFER: usize = 1024;
/// Lines of scrollback that are kept with it.
const HISTORY: usize = 2_000;
/// CAN: ends a sequence that had begun (ECMA-48 8.3.6).
pub(super) const CANCEL: &[u8] = b"\x18";
