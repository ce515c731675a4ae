//! Following a session: a cursor into its output, not a queue of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, watch};

use crate::journal::Read;
use crate::offset::Offset;
use crate::process::Exit;
use crate::screen::Snapshot;
use crate::session::{Records, Shared};
use crate::size::Size;

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
    acks: Arc<AckState>,
    output: watch::Receiver<()>,
    drawn: watch::Receiver<Drawn>,
    state: watch::Receiver<crate::session::SessionState>,
    exit_delivered: bool,
}

impl Attachment {
    pub(crate) fn new(shared: Arc<Shared>, mode: Mode, start: Start) -> Self {
        let output = shared.output.subscribe();
        let drawn = shared.drawn.subscribe();
        let state = shared.state.subscribe();
        let acks = Arc::new(AckState {
            acked: AtomicU64::new(0),
            changed: Notify::new(),
        });
        let mut attachment = Self {
            shared,
            mode,
            cursor: Offset::START,
            next_size: 0,
            due: Due::Output,
            acks,
            output,
            drawn,
            state,
            exit_delivered: false,
        };
        attachment.place(start);
        attachment
    }

    /// The next update, or `None` after [`Update::Exit`]. Waits for output, and while a window of 512 KiB is
    /// not acknowledged, for [`acked`](Self::acked). Cancel safe: an update is not lost when the future is
    /// dropped.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if self.exit_delivered {
                return None;
            }
            self.output.borrow_and_update();
            // Read before the journal: once it says so, the journal's end is the last.
            let exit = self.state.borrow_and_update().exit();
            let step = self.step();
            match step {
                Step::Deliver(update) => return Some(update),
                Step::Again => {}
                Step::WaitForAck { acked } => self.acks.moved_beyond(acked).await,
                Step::WaitForScreen { sizes } => {
                    self.shared.rebuilt().await;
                    self.wait_for_screen(sizes).await;
                }
                Step::WaitForRecords { limit } => {
                    let records = self.shared.records(self.cursor, self.next_size, limit).await;
                    if let Some(update) = self.take(records) {
                        return Some(update);
                    }
                }
                Step::WaitForOutput => {
                    if let Some(exit) = exit {
                        self.exit_delivered = true;
                        return Some(Update::Exit(exit));
                    }
                    tokio::select! {
                        _ = self.output.changed() => {}
                        _ = self.state.changed() => {}
                    }
                }
            }
        }
    }

    /// Says that everything before `offset` is drawn. Whoever follows says so again and again, at the latest
    /// when nothing more is left to draw.
    pub fn acked(&self, offset: Offset) {
        self.acks.ack(offset);
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
                if (journal.start()..=journal.end()).contains(&offset)
                    && journal.end().since(offset) <= WINDOW as u64 =>
            {
                self.cursor = offset;
                self.next_size = journal.first_size_from(offset);
            }
            _ => self.due = Due::Snapshot { sizes: 0 },
        }
        self.acks.acked.store(self.cursor.0, Ordering::Release);
    }

    /// One step without waiting.
    fn step(&mut self) -> Step {
        if let Due::Snapshot { sizes } = self.due {
            return self.snapshot(sizes);
        }
        let acked = self.acks.acked();
        let unacked = self.cursor.since(acked);
        if self.mode != Mode::Lossless && self.is_behind() {
            if unacked > ACK_SLACK {
                return Step::WaitForAck { acked };
            }
            self.due = Due::Snapshot { sizes: 0 };
            return Step::Again;
        }
        if unacked >= WINDOW as u64 {
            return Step::WaitForAck { acked };
        }
        self.read(MAX_OUTPUT.min(WINDOW - unacked as usize))
    }

    fn read(&mut self, limit: usize) -> Step {
        let mut bytes = Vec::new();
        let read = self
            .shared
            .journal()
            .read(self.cursor, self.next_size, limit, &mut bytes);
        match read {
            Read::Output => {
                let offset = self.cursor;
                self.cursor = offset.plus(bytes.len());
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
            Read::Nothing => Step::WaitForOutput,
            Read::Trimmed { .. } if self.mode == Mode::Lossless => Step::WaitForRecords { limit },
            Read::Trimmed { .. } => {
                self.due = Due::Snapshot { sizes: 0 };
                Step::Again
            }
        }
    }

    /// What a lossless attachment is told of records that the journal has no more.
    fn take(&mut self, records: Records) -> Option<Update> {
        match records {
            Records::Output(bytes) => {
                let offset = self.cursor;
                self.cursor = offset.plus(bytes.len());
                Some(Update::Output { offset, bytes })
            }
            Records::Size { number, size, offset } => {
                self.next_size = number + 1;
                Some(Update::Size { offset, size })
            }
            Records::Nothing => None,
            Records::Gone { to } => {
                let from = std::mem::replace(&mut self.cursor, to);
                self.acks.ack(to);
                Some(Update::Truncated { from, to })
            }
        }
    }

    fn snapshot(&mut self, sizes: u64) -> Step {
        if !self.shared.is_rebuilt() || self.drawn.borrow_and_update().sizes < sizes {
            return Step::WaitForScreen { sizes };
        }
        let (snapshot, sizes) = self.shared.snapshot();
        self.due = Due::Output;
        self.cursor = snapshot.ground;
        self.next_size = sizes;
        self.acks.ack(snapshot.ground);
        Step::Deliver(Update::Snapshot(snapshot))
    }

    /// Whether a snapshot would leave out more than it is worth sending.
    fn is_behind(&self) -> bool {
        self.drawn.borrow().ground.since(self.cursor) > MAX_BEHIND
    }

    async fn wait_for_screen(&mut self, sizes: u64) {
        // The sender lives in `shared`, which this attachment holds.
        let _ = self.drawn.wait_for(|drawn| drawn.sizes >= sizes).await;
    }
}

/// Acknowledges for an [`Attachment`].
#[derive(Debug, Clone)]
pub struct Acks(Arc<AckState>);

impl Acks {
    /// Says that everything before `offset` is drawn.
    pub fn acked(&self, offset: Offset) {
        self.0.ack(offset);
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
}

#[derive(Debug)]
struct AckState {
    acked: AtomicU64,
    changed: Notify,
}

impl AckState {
    fn acked(&self) -> Offset {
        Offset(self.acked.load(Ordering::Acquire))
    }

    fn ack(&self, offset: Offset) {
        if self.acked.fetch_max(offset.0, Ordering::AcqRel) < offset.0 {
            self.changed.notify_one();
        }
    }

    async fn moved_beyond(&self, before: Offset) {
        while self.acked() <= before {
            self.changed.notified().await;
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
        acked: Offset,
    },
    WaitForScreen {
        sizes: u64,
    },
    /// For the disk.
    WaitForRecords {
        limit: usize,
    },
    WaitForOutput,
}

/// Bytes that may be on the way to a viewer without an acknowledgement.
const WINDOW: usize = 512 * 1024;
/// Bytes in one update: enough that a flood is few messages, few enough that other work gets its turn.
const MAX_OUTPUT: usize = 32 * 1024;
/// Bytes; a viewer that is further behind the screen gets one snapshot instead of the backlog.
const MAX_BEHIND: u64 = 1024 * 1024;
/// Bytes; a viewer that has this little left to draw counts as done.
const ACK_SLACK: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Mode, Start, Step};
    use crate::{Command, Options, Session, Size};

    #[tokio::test]
    async fn an_acknowledgement_that_comes_before_the_wait_for_it_is_seen() {
        let command = Command {
            program: "sh".into(),
            args: vec!["-c".into(), "yes | head -c 700000".into()],
            cwd: "/".into(),
            env: Vec::new(),
            size: Size::default(),
            descriptor_limit: None,
        };
        let session = Session::spawn(command, Options::default()).await.unwrap();
        let mut state = session.state();
        state.wait_for(|state| state.exit().is_some()).await.unwrap();
        let mut attachment = session.attach(Mode::Lossless, Start::Screen);
        let acked = loop {
            match attachment.step() {
                Step::WaitForAck { acked } => break acked,
                Step::Deliver(_) => {}
                _ => panic!("the window ends before the output does"),
            }
        };
        // The client's last word, while the attachment is between its look and its wait.
        attachment.acked(attachment.offset());
        let waited = tokio::time::timeout(Duration::from_secs(60), attachment.acks.moved_beyond(acked));
        waited.await.unwrap();
    }
}
