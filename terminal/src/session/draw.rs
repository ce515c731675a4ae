//! Drawing: from the records onto the screen, off the path of reading.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use super::store::Records;
use super::{Patience, SessionState, Shared, lock, look};
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
        lock(&drawing).begun(&shared);
    }
    let mut state = shared.state.subscribe();
    let mut patience = Patience::default();
    loop {
        let has_ended = !state.borrow_and_update().is_running();
        let step = lock(&drawing).step(&shared, MAX_TURN);
        match step {
            Step::Drawn { is_turn_over: false } => {}
            Step::Drawn { is_turn_over: true } => tokio::task::yield_now().await,
            Step::Away { from, sizes, limit } => {
                let records = shared.records(from, sizes, limit).await;
                match patience.pause(matches!(records, Records::Failed { .. })) {
                    Some(pause) => sleep(pause).await,
                    None => lock(&drawing).take(&shared, from, records),
                }
            }
            Step::Nothing if has_ended => {
                lock(&drawing).end(&shared);
                return;
            }
            Step::Nothing => rest(&shared, &drawing, &mut state).await,
        }
    }
}

/// Waits until there may be more to draw, or what is held back may be shown; a program that pauses meanwhile has its
/// scrollback kept.
async fn rest(shared: &Arc<Shared>, drawing: &Mutex<Drawing>, state: &mut watch::Receiver<SessionState>) {
    let (held, lacks_scrollback) = {
        let mut drawing = lock(drawing);
        (drawing.held(shared), drawing.lacks_scrollback())
    };
    let pause = lacks_scrollback.then(|| Instant::now() + PAUSE);
    let Some(until) = held.or(pause) else {
        return changed(shared, state).await;
    };
    let seen = shared.drawn.borrow().seen;
    let is_over = timeout_at(until, changed(shared, state)).await.is_err();
    // The thread of a flood draws and wakes nobody here.
    if is_over && held.is_none() && shared.drawn.borrow().seen == seen {
        lock(drawing).keep_now(shared, true, usize::MAX);
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
    /// The ground offsets of the last checkpoint, and of the last with scrollback.
    kept: Offset,
    kept_whole: Offset,
    /// Bytes of output from the last with scrollback to the next, under a flood.
    whole_step: u64,
    /// The size that the session began with.
    first_size: Size,
    /// Bytes of output from one checkpoint to the next.
    step: u64,
    /// Bytes that are drawn in about [`PIECE_TIME`], as they were of late.
    piece: usize,
}

/// What one step came to.
#[derive(Debug)]
pub(super) enum Step {
    /// Some bytes were drawn, or a size; whether others should have their turn now.
    Drawn { is_turn_over: bool },
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
        let kept = shared.drawn.borrow().ground;
        Self {
            bytes: Vec::new(),
            held: None,
            kept,
            kept_whole: kept,
            whole_step: 0,
            first_size: first_size.unwrap_or_default(),
            // The reader is up to half of the journal ahead: the records since the last one are still there.
            step: CHECKPOINT.min((capacity / 2).saturating_sub(MAX_TURN as u64)),
            piece: MIN_PIECE,
        }
    }

    /// Goes on from a screen that was kept.
    fn begun(&mut self, shared: &Shared) {
        self.kept = shared.drawn.borrow().ground;
        self.kept_whole = self.kept;
    }

    /// Bytes that are drawn in some ten microseconds, as they were of late.
    pub(super) fn piece(&self) -> usize {
        self.piece
    }

    /// Draws the next record, at most so many bytes of it, without waiting.
    pub(super) fn step(&mut self, shared: &Arc<Shared>, limit: usize) -> Step {
        let Drawn { seen, sizes, .. } = *shared.drawn.borrow();
        self.bytes.clear();
        let (read, limit) = {
            let journal = shared.journal();
            let limit = shared.rebuild.limit(&journal, seen, limit);
            (journal.read(seen, sizes, limit, &mut self.bytes), limit)
        };
        let drawn = match read {
            Read::Output => self.feed(shared, seen),
            Read::Size { number, size, .. } => {
                self.resize(shared, number, size);
                0
            }
            Read::Nothing => {
                if !shared.is_rebuilt() {
                    take_last_size(shared);
                }
                shared.rebuild.finished();
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
        };
        let is_turn_over = drawn >= MAX_TURN || drawn < self.bytes.len();
        self.stepped(shared);
        Step::Drawn { is_turn_over }
    }

    /// Draws what the journal has no more.
    fn take(&mut self, shared: &Arc<Shared>, from: Offset, records: Records) {
        match records {
            Records::Output(bytes) => {
                self.bytes = bytes;
                // What it leaves is taken again.
                self.feed(shared, from);
            }
            Records::Size { number, size, .. } => self.resize(shared, number, size),
            Records::Nothing => return,
            // The program waits for its screen, and so do its viewers: not for ever.
            Records::Gone { to } | Records::Failed { to, .. } => self.skip(shared, to),
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
        self.keep(shared);
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

    /// Draws the bytes, which stand at `seen`, or as many of them as it has time for; returns how many.
    fn feed(&mut self, shared: &Shared, seen: Offset) -> usize {
        let begun = Instant::now();
        let (fed, mut length) = (Cell::new(0), self.piece);
        let draw = |screen: &mut dyn Screen| {
            let (mut rest, mut before) = (&self.bytes[..], Duration::ZERO);
            while !rest.is_empty() && before <= MAX_TIME {
                let (piece, later) = rest.split_at(length.min(rest.len()));
                rest = later;
                // First: what makes it fail is not drawn again.
                fed.set(fed.get() + piece.len());
                screen.feed(piece);
                let now = begun.elapsed();
                length = next_piece(length, piece.len(), now.saturating_sub(before));
                before = now;
            }
        };
        record(shared, draw, |drawn| drawn.seen = seen.plus(fed.get()));
        self.piece = length;
        let seen = seen.plus(fed.get());
        if shared.is_rebuilt() {
            look::wrote(shared);
        }
        if [shared.rebuild.answered, shared.rebuild.heard].contains(&seen) {
            // What was answered or heard inside of a synchronized update was shown then, though the update had not ended.
            release(shared);
        }
        fed.get()
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
        if to >= shared.journal().start() {
            take_last_size(shared);
        }
    }

    /// Keeps the screen on disk, if enough was drawn since it was.
    fn keep(&mut self, shared: &Arc<Shared>) {
        let ground = shared.drawn.borrow().ground;
        if ground.since(self.kept) >= self.step {
            let is_whole = ground.since(self.kept_whole) >= self.whole_step;
            self.keep_now(shared, is_whole, MAX_FLOODED);
        }
    }

    /// Whether what was kept last has no scrollback.
    fn lacks_scrollback(&self) -> bool {
        self.kept_whole != self.kept
    }

    /// Keeps it with scrollback, whose cells take at most `most` bytes, or without.
    fn keep_now(&mut self, shared: &Arc<Shared>, is_whole: bool, most: usize) {
        // What ended before is not written again.
        if !shared.has_store() || shared.is_settled() {
            return;
        }
        // Under a flood mostly the screen alone, which is quickly drawn; it is drawn again from the last one with scrollback,
        // where what was written since is there still.
        let lines = if is_whole { HISTORY } else { 0 };
        let mut screen = shared.screen();
        // Published under the screen's lock, so it belongs to what the screen shows.
        let Drawn { ground, sizes, .. } = *shared.drawn.borrow();
        let (size, numbering) = (screen.size(), screen.numbering());
        let drawn = catch_unwind(AssertUnwindSafe(|| screen.checkpoint(lines, most)));
        drop(screen);
        // Also where it failed: the next one is tried when more was drawn.
        self.kept = ground;
        if is_whole {
            self.kept_whole = ground;
        }
        let Ok(bytes) = drawn else {
            tracing::error!("a session's screen could not be kept");
            return;
        };
        if is_whole {
            self.whole_step = (WHOLE_SHARE * bytes.len() as u64).min(MAX_WHOLE_STEP);
        }
        shared.keep(Checkpoint {
            ground,
            sizes,
            size,
            first_size: self.first_size,
            numbering: Some(numbering),
            is_whole,
            bytes,
        });
    }

    /// Shows what is held back, and keeps the last screen of a program that ended here.
    fn end(&mut self, shared: &Arc<Shared>) {
        release(shared);
        if !shared.is_settled() {
            self.keep_now(shared, true, usize::MAX);
            shared.settle();
        }
    }
}

/// The length of the next piece, after `drawn` bytes of one of this length took so long.
fn next_piece(length: usize, drawn: usize, took: Duration) -> usize {
    if took > PIECE_TIME {
        (length / 2).max(MIN_PIECE)
    } else if drawn == length && took < PIECE_TIME / 2 {
        (length * 2).min(MAX_TURN)
    } else {
        length
    }
}

fn release(shared: &Shared) {
    record(shared, |screen| screen.release(), |_| {});
}

/// Gives a screen that came over a gap the session's size, where the record of the last change was in there: nothing that is
/// left would tell it.
fn take_last_size(shared: &Shared) {
    let Drawn { seen, sizes, .. } = *shared.drawn.borrow();
    let (count, next, size) = {
        let journal = shared.journal();
        let count = journal.first_size_from(Offset(u64::MAX));
        (count, journal.first_size_from(seen), journal.size())
    };
    let is_other = sizes < count || shared.screen().size() != size;
    if next == count && is_other {
        record(
            shared,
            |screen| screen.resize(size),
            |drawn| drawn.sizes = drawn.sizes.max(count),
        );
    }
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
    let mut drawn = *shared.drawn.borrow();
    advance(&mut drawn);
    drawn.ground = drawn.seen.minus(pending);
    // Before it is published: whoever waits for what is drawn knows then what was said in it.
    look::hear(shared, &screen.take_signals(), drawn);
    shared.drawn.send_replace(drawn);
    drop(screen);
    if !replies.is_empty() && drawn.seen > shared.rebuild.answered {
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
/// Time after which others get their turn: a few bytes may ask for much. It is looked at behind each piece.
const MAX_TIME: Duration = Duration::from_millis(5);
/// Time that a piece should take: while one is drawn, a program that floods fills the kernel's buffer and stops.
const PIECE_TIME: Duration = Duration::from_micros(24);
/// Bytes of the shortest piece.
const MIN_PIECE: usize = 1024;
/// How long a synchronized update may keep the screen as it was.
const MAX_HELD: Duration = Duration::from_millis(150);
/// Bytes of answers that wait for the terminal.
const MAX_REPLIES: usize = 64 * 1024;
/// Bytes of output after which the screen is kept.
const CHECKPOINT: u64 = 1024 * 1024;
/// Bytes of buffer that a session keeps which draws nothing.
const IDLE_BUFFER: usize = 1024;
/// Bytes of output for each byte that a checkpoint with scrollback takes: what the one costs is a few hundredths of what the
/// others cost to draw.
const WHOLE_SHARE: u64 = 32;
/// Bytes of output after which scrollback is kept however much it is: to draw as many again takes some ten milliseconds.
const MAX_WHOLE_STEP: u64 = 5 * 1024 * 1024;
/// Bytes of scrollback that are kept under a flood: two thousand usual lines.
const MAX_FLOODED: usize = 192 * 1024;
/// After a silence of so long a program is no flood any more.
const PAUSE: Duration = Duration::from_secs(1);
/// Lines of scrollback that are kept with it.
const HISTORY: usize = 2_000;
/// CAN: ends a sequence that had begun (ECMA-48 8.3.6).
pub(super) const CANCEL: &[u8] = b"\x18";
