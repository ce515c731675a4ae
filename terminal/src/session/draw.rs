//! Drawing: from the records onto the screen, off the path of reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
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
pub(super) async fn draw(shared: Arc<Shared>) {
    if !shared.is_rebuilt() {
        shared.begin_again().await;
    }
    let mut state = shared.state.subscribe();
    let mut drawing = Drawing::new(shared);
    // Where a held synchronized update began, and when it is drawn although it has not ended.
    let mut held: Option<(Offset, Instant)> = None;
    loop {
        let has_ended = !state.borrow_and_update().is_running();
        let has_drawn = drawing.step().await;
        if has_drawn {
            let ground = drawing.drawn().ground;
            let is_held = drawing.shared.screen().is_held();
            let same = held.filter(|(begin, _)| *begin == ground);
            held = is_held.then(|| same.unwrap_or_else(|| (ground, Instant::now() + MAX_HELD)));
            if drawing.bytes.len() >= MAX_TURN {
                tokio::task::yield_now().await;
            }
        } else if has_ended {
            drawing.end();
            return;
        }
        match held {
            Some((_, until)) if until <= Instant::now() => {
                release(&drawing.shared);
                held = None;
            }
            _ if has_drawn => {}
            Some((_, until)) => {
                let _ = timeout_at(until, drawing.changed(&mut state)).await;
            }
            None => drawing.changed(&mut state).await,
        }
    }
}

/// The one who draws a session.
struct Drawing {
    shared: Arc<Shared>,
    /// What is drawn at once; kept while there is more, so that a flood allocates nothing.
    bytes: Vec<u8>,
    /// The ground offset of the last checkpoint, and whether scrollback is in it.
    kept: Offset,
    is_kept_whole: bool,
    /// The size that the session began with.
    first_size: Size,
    /// Bytes of output from one checkpoint to the next.
    step: u64,
}

impl Drawing {
    fn new(shared: Arc<Shared>) -> Self {
        let (capacity, first_size) = {
            let journal = shared.journal();
            (journal.capacity() as u64, journal.first_size())
        };
        let kept = shared.drawn.borrow().ground;
        Self {
            shared,
            bytes: Vec::new(),
            kept,
            is_kept_whole: true,
            first_size: first_size.unwrap_or_default(),
            // The reader is up to half of the journal ahead: the records since the last one are still there.
            step: CHECKPOINT.min((capacity / 2).saturating_sub(MAX_TURN as u64)),
        }
    }

    fn drawn(&self) -> Drawn {
        *self.shared.drawn.borrow()
    }

    /// Waits until there may be more to draw.
    async fn changed(&self, state: &mut watch::Receiver<SessionState>) {
        tokio::select! {
            () = self.shared.undrawn.notified() => {}
            _ = state.changed() => {}
        }
    }

    /// Draws the next record; returns whether there was one.
    async fn step(&mut self) -> bool {
        let Drawn { seen, sizes, .. } = self.drawn();
        let answered = self.shared.rebuild.answered;
        // What was answered before and what was not are drawn apart.
        let limit = match usize::try_from(answered.since(seen)) {
            Ok(0) | Err(_) => MAX_TURN,
            Ok(rest) => MAX_TURN.min(rest),
        };
        self.bytes.clear();
        let read = self.shared.journal().read(seen, sizes, limit, &mut self.bytes);
        match read {
            Read::Output => self.feed(seen),
            Read::Size { number, size, .. } => self.resize(number, size),
            Read::Nothing => {
                self.shared.rebuild.finished();
                self.keep(true);
                // Most sessions stand still most of the time.
                self.bytes.shrink_to(IDLE_BUFFER);
                return false;
            }
            Read::Trimmed { .. } => match self.shared.records(seen, sizes, limit).await {
                Records::Output(bytes) => {
                    self.bytes = bytes;
                    self.feed(seen);
                }
                Records::Size { number, size, .. } => self.resize(number, size),
                Records::Nothing => {}
                Records::Gone { to } => self.skip(to),
            },
        }
        self.shared.rebuild.reached(self.drawn());
        self.keep(false);
        true
    }

    fn feed(&mut self, seen: Offset) {
        let seen = seen.plus(self.bytes.len());
        let bytes = &self.bytes;
        record(
            &self.shared,
            |screen| screen.feed(bytes),
            |drawn| drawn.seen = seen,
        );
        if self.shared.is_rebuilt() {
            look::wrote(&self.shared);
        }
        if seen == self.shared.rebuild.answered {
            // What was answered inside of a synchronized update was shown then, though the update had not ended.
            release(&self.shared);
        }
    }

    fn resize(&self, number: u64, size: Size) {
        record(
            &self.shared,
            |screen| screen.resize(size),
            |drawn| drawn.sizes = number + 1,
        );
    }

    /// Goes on behind records that are gone: the modes stay, a sequence that had begun does not go on.
    fn skip(&self, to: Offset) {
        let cancel = |screen: &mut dyn Screen| {
            screen.release();
            screen.feed(CANCEL);
        };
        record(&self.shared, cancel, |drawn| drawn.seen = to);
    }

    /// Keeps the screen on disk, if enough was drawn since it was.
    fn keep(&mut self, is_idle: bool) {
        let since = self.drawn().ground.since(self.kept);
        if since >= self.step || is_idle && !self.is_kept_whole {
            self.keep_now(is_idle);
        }
    }

    fn keep_now(&mut self, is_whole: bool) {
        // What ended before is not written again.
        if !self.shared.has_store() || self.shared.is_settled() {
            return;
        }
        // Under a flood only the screen, which is quickly drawn: a daemon that is killed before it pauses has no scrollback
        // from before this one, only what the records that follow scroll off.
        let lines = if is_whole { HISTORY } else { 0 };
        let mut screen = self.shared.screen();
        // Published under the screen's lock, so it belongs to what the screen shows.
        let Drawn { ground, sizes, .. } = self.drawn();
        let size = screen.size();
        let drawn = catch_unwind(AssertUnwindSafe(|| screen.checkpoint(lines)));
        drop(screen);
        // Also where it failed: the next one is tried when more was drawn.
        (self.kept, self.is_kept_whole) = (ground, is_whole);
        let Ok(bytes) = drawn else {
            tracing::error!("a session's screen could not be kept");
            return;
        };
        self.shared.keep(Checkpoint {
            ground,
            sizes,
            size,
            first_size: self.first_size,
            bytes,
        });
    }

    /// Shows what is held back, and keeps the last screen of a program that ended here.
    fn end(mut self) {
        release(&self.shared);
        if !self.shared.is_settled() {
            self.keep_now(true);
            self.shared.settle();
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
