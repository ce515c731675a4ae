//! Following a session: a cursor into its output, not a queue of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::acks::{LOSSLESS, Standing};
use self::window::MAX_BEHIND;

use crate::journal::Read;
use crate::offset::Offset;
use crate::process::Exit;
use crate::screen::Snapshot;
use crate::session::{Patience, Records, Shared};
use crate::size::Size;

mod acks;
mod brackets;
mod window;

pub use self::acks::Acks;
pub(crate) use self::brackets::Brackets;

/// What an attachment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Output only.
    View,
    /// Output, and its holder may also have a [`Writer`](crate::Writer).
    Write,
    /// Every byte from where it starts, never a snapshot in their place; for recordings and pipes.
    Lossless,
}

/// Where an attachment starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With a snapshot of the screen. In [`Mode::Lossless`] that is the start of the output.
    Screen,
    /// At an offset: the same terminal is still there and only missed what came since. Where the journal has
    /// that no more, where it is more than a window or where the offset lies beyond the end, with a snapshot
    /// (in [`Mode::Lossless`]: with what the journal has).
    Offset(Offset),
}

/// The next thing that whoever follows a session must know, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// Reset your terminal to this size, draw this, go on from its ground offset.
    Snapshot(Snapshot),
    /// The program wrote this.
    Output {
        /// Where the first of these bytes stands.
        offset: Offset,
        /// At least one byte.
        bytes: Vec<u8>,
    },
    /// From this offset on the session has this size.
    Size {
        /// Where the size changed.
        offset: Offset,
        /// The new size.
        size: Size,
    },
    /// Bytes that nobody can have any more were skipped. In [`Mode::Lossless`] only.
    Truncated {
        /// The first byte that is missing.
        from: Offset,
        /// The first one after the gap.
        to: Offset,
    },
    /// What comes next may be on the disk, which has not given it for a while. Nothing is skipped: whoever asks again, here or
    /// in a later attachment, has it tried again. In [`Mode::Lossless`] only.
    Unreadable,
    /// The program ended and everything it wrote was delivered. Nothing follows.
    Exit(Exit),
}

/// One viewer's place in a session. Holds a few hundred bytes, whatever the session prints; one that is not
/// read delays nobody.
#[derive(Debug)]
pub struct Attachment {
    shared: Arc<Shared>,
    mode: Mode,
    /// The next byte to deliver.
    cursor: Offset,
    /// The number of the next size change to deliver.
    next_size: u64,
    /// What comes before more output.
    due: Due,
    acks: Arc<acks::Shared>,
    /// When the viewer counts as late if it has not had all there was before.
    late_at: Instant,
    /// Whether the last snapshot stood for a backlog: until the viewer has drawn it, nothing is sent behind it.
    was_behind: bool,
    /// When something was delivered last, and the last snapshot that stood for a backlog.
    delivered_at: Option<Instant>,
    skipped_at: Option<Instant>,
    /// With a disk that does not give what comes next, and when it is asked again.
    patience: Patience,
    retry_at: Option<Instant>,
    output: watch::Receiver<()>,
    drawn: watch::Receiver<Drawn>,
    state: watch::Receiver<crate::session::SessionState>,
    exit_delivered: bool,
}

/// How many snapshots were sent in the place of a replay that their viewers would not have drawn in good time, since this process
/// began.
#[must_use]
pub fn skipped_replays() -> u64 {
    SKIPPED.load(Ordering::Relaxed)
}

impl Attachment {
    pub(crate) fn new(shared: Arc<Shared>, mode: Mode, start: Start) -> Self {
        let output = shared.output.subscribe();
        let drawn = shared.drawn.subscribe();
        let state = shared.state.subscribe();
        let acks = Arc::new(acks::Shared::new());
        let mut attachment = Self {
            shared,
            mode,
            cursor: Offset::START,
            next_size: 0,
            due: Due::Output,
            acks,
            late_at: Instant::now() + FIRST_LATE,
            was_behind: false,
            delivered_at: None,
            skipped_at: None,
            patience: Patience::default(),
            retry_at: None,
            output,
            drawn,
            state,
            exit_delivered: false,
        };
        attachment.place(start);
        attachment
    }

    /// The next update, or `None` after [`Update::Exit`], and where the program's end cannot be known. Waits for output;
    /// while more is on the way than the viewer draws in a quarter of a second, for [`acked`](Self::acked); and while the
    /// program is in the middle of a synchronized update, for its end. Cancel safe: an update is not lost when the future
    /// is dropped.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if self.exit_delivered {
                return None;
            }
            self.output.borrow_and_update();
            // Read before the journal: once it says so, the journal's end is the last.
            let state = *self.state.borrow_and_update();
            match self.step(!state.is_running(), Instant::now()) {
                Step::Deliver(update) => return Some(update),
                Step::Again => {}
                Step::WaitForAck { version } => self.acks.moved_beyond(version).await,
                Step::WaitForScreen { sizes } => {
                    self.shared.rebuilt().await;
                    self.wait_for_screen(sizes).await;
                }
                Step::WaitForRecords { limit } => {
                    if let Some(retry_at) = self.retry_at {
                        tokio::time::sleep_until(retry_at.into()).await;
                    }
                    let records = self.shared.records(self.cursor, self.next_size, limit).await;
                    if let Some(update) = self.take(records) {
                        return Some(update);
                    }
                }
                Step::WaitForOutput { until: None } => {
                    if !state.is_running() {
                        self.exit_delivered = true;
                        return state.exit().map(Update::Exit);
                    }
                    self.wait_for_output().await;
                }
                Step::WaitForOutput { until: Some(until) } => {
                    let _ = tokio::time::timeout_at(until.into(), self.wait_for_output()).await;
                }
                Step::Pause { until } => {
                    let _ = tokio::time::timeout_at(until.into(), self.acks.changed.notified()).await;
                }
            }
        }
    }

    /// Says that everything before `offset` is drawn, and by its ground offset that a snapshot is. Whoever follows
    /// says so again and again, at the latest when nothing more is left to draw.
    pub fn acked(&self, offset: Offset) {
        self.acks().acked(offset);
    }

    /// A handle that acknowledges for this attachment from another task.
    #[must_use]
    pub fn acks(&self) -> Acks {
        Acks(Arc::clone(&self.acks))
    }

    /// The next byte to be delivered.
    #[must_use]
    pub fn offset(&self) -> Offset {
        self.cursor
    }

    /// What this attachment is for.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    fn place(&mut self, start: Start) {
        let journal = self.shared.journal();
        match (self.mode, start) {
            (Mode::Lossless, Start::Screen) => self.cursor = Offset::START,
            (Mode::Lossless, Start::Offset(offset)) => {
                self.cursor = offset.min(journal.end());
                // What the journal has no more is on disk, with sizes that are not counted here.
                if self.cursor >= journal.start() {
                    self.next_size = journal.first_size_from(self.cursor);
                }
            }
            (_, Start::Offset(offset))
                if offset <= journal.end() && journal.end().since(offset) <= MAX_MISSED =>
            {
                self.cursor = offset;
                // What the journal has no more may be on disk, with sizes that are not counted here.
                if offset >= journal.start() {
                    self.next_size = journal.first_size_from(offset);
                }
            }
            _ => self.due = Due::Snapshot { sizes: 0 },
        }
        self.acks.place(self.cursor);
    }

    /// One step without waiting; `has_ended` if nothing more will come.
    fn step(&mut self, has_ended: bool, now: Instant) -> Step {
        let standing = self.acks.standing();
        let step = if self.mode == Mode::Lossless {
            self.read(standing, LOSSLESS, None)
        } else {
            self.show(standing, has_ended, now)
        };
        if matches!(step, Step::Deliver(_)) {
            self.delivered_at = Some(now);
        }
        step
    }

    /// The next step for somebody who wants to see the present.
    fn show(&mut self, standing: Standing, has_ended: bool, now: Instant) -> Step {
        let version = standing.version;
        let rest = self.delivered_at.map(|at| at + HIDDEN_PAUSE);
        if let Some(until) = rest.filter(|until| standing.is_hidden && now < *until) {
            return Step::Pause { until };
        }
        if let Due::Snapshot { sizes } = self.due {
            return self.snapshot(sizes, now);
        }
        if self.was_behind && standing.unacked > 0 {
            return Step::WaitForAck { version };
        }
        if self.is_behind(standing.backlog, now) {
            if standing.unacked > 0 {
                return Step::WaitForAck { version };
            }
            let rest = self.skipped_at.map(|at| at + SKIP_PAUSE);
            if let Some(until) = rest.filter(|until| now < *until) {
                return Step::Pause { until };
            }
            self.was_behind = true;
            self.skipped_at = Some(now);
            SKIPPED.fetch_add(1, Ordering::Relaxed);
            self.due = Due::Snapshot { sizes: 0 };
            return Step::Again;
        }
        let step = self.read(standing, standing.window, (!has_ended).then_some(now));
        if matches!(step, Step::WaitForOutput { .. }) {
            self.late_at = now + LATE;
            self.acks.ran_dry();
        }
        step
    }

    /// Reads what comes next, of which `window` bytes may be on the way; what is in the middle of a synchronized update at
    /// `now`, if that is minded, stays.
    fn read(&mut self, standing: Standing, window: usize, now: Option<Instant>) -> Step {
        if standing.unacked >= window as u64 {
            return Step::WaitForAck {
                version: standing.version,
            };
        }
        let mut limit = MAX_OUTPUT.min(window - standing.unacked as usize);
        let mut bytes = Vec::new();
        let (held, read) = {
            // Locked before it is asked what is held: nothing is appended between.
            let journal = self.shared.journal();
            let held = now.and_then(|now| self.shared.held(now));
            if let Some((offset, _)) = held {
                // None, where a part of the update was sent before it could be known for one.
                limit = limit.min(usize::try_from(offset.since(self.cursor)).unwrap_or(limit));
            }
            (held, journal.read(self.cursor, self.next_size, limit, &mut bytes))
        };
        match read {
            Read::Output => {
                let offset = self.cursor;
                self.cursor = offset.plus(bytes.len());
                self.acks.sent(self.cursor);
                Step::Deliver(Update::Output { offset, bytes })
            }
            Read::Size { number, size, offset } => {
                self.next_size = number + 1;
                if self.mode != Mode::Lossless {
                    // Terminals differ in how they wrap lines anew, so what is drawn from here on is ours.
                    self.due = Due::Snapshot { sizes: number + 1 };
                }
                Step::Deliver(Update::Size { offset, size })
            }
            Read::Nothing => Step::WaitForOutput {
                until: held.filter(|_| limit == 0).map(|(_, until)| until),
            },
            // Nothing of it may go out yet, so it is not read.
            Read::Trimmed { .. } if limit == 0 => Step::WaitForOutput {
                until: held.map(|(_, until)| until),
            },
            // A viewer that is far behind does not come here: it gets a snapshot.
            Read::Trimmed { .. } => Step::WaitForRecords { limit },
        }
    }

    /// What an attachment is told of records that the journal has no more.
    fn take(&mut self, records: Records) -> Option<Update> {
        let pause = self.patience.pause(matches!(records, Records::Failed { .. }));
        self.retry_at = pause.map(|pause| Instant::now() + pause);
        match records {
            Records::Output(bytes) => {
                let offset = self.cursor;
                self.cursor = offset.plus(bytes.len());
                self.acks.sent(self.cursor);
                Some(Update::Output { offset, bytes })
            }
            Records::Size { number, size, offset } => {
                self.next_size = number + 1;
                if self.mode != Mode::Lossless {
                    self.due = Due::Snapshot { sizes: number + 1 };
                }
                Some(Update::Size { offset, size })
            }
            Records::Nothing => None,
            Records::Gone { .. } | Records::Failed { .. } if self.mode != Mode::Lossless => {
                self.due = Due::Snapshot { sizes: 0 };
                None
            }
            Records::Failed { .. } => pause.is_none().then_some(Update::Unreadable),
            Records::Gone { to } => {
                let from = std::mem::replace(&mut self.cursor, to);
                self.acks.place(to);
                Some(Update::Truncated { from, to })
            }
        }
    }

    fn snapshot(&mut self, sizes: u64, now: Instant) -> Step {
        if !self.shared.is_rebuilt() || self.drawn.borrow_and_update().sizes < sizes {
            return Step::WaitForScreen { sizes };
        }
        let (snapshot, sizes) = self.shared.snapshot();
        self.due = Due::Output;
        self.cursor = snapshot.ground;
        self.next_size = sizes;
        self.late_at = now + LATE;
        self.acks.sent_snapshot(snapshot.ground, snapshot.bytes.len());
        Step::Deliver(Update::Snapshot(snapshot))
    }

    /// Whether what a snapshot would leave out is more than the viewer can draw in good time.
    fn is_behind(&mut self, backlog: u64, now: Instant) -> bool {
        let behind = self.drawn.borrow().ground.since(self.cursor);
        self.was_behind &= behind > backlog;
        let is_late = self.was_behind || self.late_at <= now;
        behind > MAX_BEHIND || is_late && behind > backlog
    }

    async fn wait_for_output(&mut self) {
        tokio::select! {
            _ = self.output.changed() => {}
            _ = self.state.changed() => {}
        }
        self.late_at = Instant::now() + LATE;
    }

    async fn wait_for_screen(&mut self, sizes: u64) {
        // The sender lives in `shared`, which this attachment holds.
        let _ = self.drawn.wait_for(|drawn| drawn.sizes >= sizes).await;
    }
}

/// How far the screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// What of the output the screen has taken in.
    pub(crate) seen: Offset,
    /// The screen's ground offset.
    pub(crate) ground: Offset,
    /// How many size changes it has made.
    pub(crate) sizes: u64,
    /// Whether it is begun. One that has to be drawn again counts as drawn before, but has seen nothing.
    pub(crate) is_begun: bool,
}

impl Drawn {
    /// The oldest offset that it needs.
    pub(crate) fn needs(&self) -> Offset {
        match self.is_begun {
            true => self.ground,
            false => Offset::START,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Due {
    Output,
    /// A snapshot of a screen that has made at least so many size changes.
    Snapshot {
        sizes: u64,
    },
}

enum Step {
    Deliver(Update),
    Again,
    /// For an acknowledgement beyond the one that the step saw: a later one may have come since, and be the last.
    WaitForAck {
        version: u64,
    },
    WaitForScreen {
        sizes: u64,
    },
    /// For the disk.
    WaitForRecords {
        limit: usize,
    },
    /// For output, at most until then: what is held goes out.
    WaitForOutput {
        until: Option<Instant>,
    },
    /// Until then, or until the viewer says something.
    Pause {
        until: Instant,
    },
}

/// Of all attachments: their sessions go, and what was counted must not.
static SKIPPED: AtomicU64 = AtomicU64::new(0);
/// Bytes that who comes back may have missed and still gets as they are.
const MAX_MISSED: u64 = window::LARGEST as u64;
/// Bytes in one update: enough that a flood is few messages, few enough that other work gets its turn; with the headers
/// around them they fill two TLS records (RFC 8446 section 5.1) and begin no third.
const MAX_OUTPUT: usize = 32 * 1024 - 32;
/// A viewer that has not had all there was for so long is late. With what is on its way, it shows nothing that is older than
/// half a second, a round trip and one screen's transfer.
const LATE: Duration = Duration::from_millis(250);
/// The same for who begins with what it missed.
const FIRST_LATE: Duration = Duration::from_millis(500);
/// Between two snapshots that stand for a backlog: more pictures in a second than anybody follows.
const SKIP_PAUSE: Duration = Duration::from_millis(50);
/// Between two updates for nobody's eyes.
const HIDDEN_PAUSE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests;
