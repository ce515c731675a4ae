//! Typing: a bounded queue into the PTY, each chunk behind its writer's gate.
//!
//! **In one piece.** A chunk is all that one message types: nobody else's input and no answer of the screen gets between its
//! bytes, which may be a paste in brackets. Only an interrupt goes ahead of what is left of it.
//!
//! **Exactly once.** A client numbers what it types, from 1, over all its connections. The session remembers how much
//! of each client's input the terminal took, to the byte, and drops what comes again. It is remembered *before* the
//! `write(2)`, in doubt, and corrected after it: a process killed in between loses at most what that one write would have
//! taken, and never types anything twice; the client is told that it is not known what was taken.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::termios::{LocalModes, SpecialCodeIndex, tcgetattr};
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use self::progress::{Place, Progress};
use super::{Session, Shared, lock};
use crate::gate::Gate;

mod deliver;
mod progress;

pub(super) use self::deliver::write;

/// Somebody who types into a session. Writers' inputs are delivered in the order in which they were queued.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
    state: Arc<State>,
}

/// Numbered input, as it came.
#[derive(Debug, Clone)]
pub struct Input {
    /// The client's number for it, from 1.
    pub sequence: u64,
    /// What is typed.
    pub bytes: Vec<u8>,
    /// The first of the bytes that is to be queued.
    from: usize,
    generation: u64,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, gate: Arc<dyn Gate>, client: Option<ClientKey>) -> Self {
        Self {
            shared,
            state: Arc::new(State {
                gate,
                client,
                generation: AtomicU64::new(0),
                applied: watch::Sender::new(0),
            }),
        }
    }

    /// Queues input; waits while the queue is full, which has 256 KiB for all writers, and takes what is longer alone. When
    /// this returns the input is not yet with the program, and may still be refused by the gate. Dropping the future queues
    /// nothing.
    ///
    /// # Errors
    /// When the program has ended.
    pub async fn write(&self, input: &[u8]) -> Result<(), InputError> {
        let generation = self.state.generation.load(Ordering::Acquire);
        self.send(self.chunk(input, generation, None)).await
    }

    /// Takes numbered input in. What it leaves to be queued by [`queue`](Self::queue), in order, comes back; where the
    /// terminal makes a signal of one of its bytes (VINTR with ISIG, termios(3)), all that this writer typed before
    /// and the terminal did not take is dropped, and that byte goes ahead of everything else; where it would wait behind
    /// what nobody reads, the signal is sent without it.
    ///
    /// # Errors
    /// When the number or the length cannot be.
    pub fn take_in(&self, sequence: u64, bytes: Vec<u8>) -> Result<Option<Input>, InputError> {
        if !(1..=progress::MAX_SEQUENCE).contains(&sequence) || bytes.len() > progress::MAX_LENGTH {
            return Err(InputError::Malformed);
        }
        let mut from = 0;
        if let Some(interrupt) = self.interrupt_in(&bytes) {
            self.discard();
            from = interrupt.end;
            let place = Place {
                sequence,
                from: interrupt.start,
                length: bytes.len(),
                in_brackets: bytes.starts_with(PASTE),
            };
            let generation = self.state.generation.load(Ordering::Acquire);
            let mut chunk = self.chunk(&bytes[interrupt], generation, Some(place));
            chunk.is_interrupt = true;
            deliver::interrupt(&self.shared, chunk);
            if from == bytes.len() {
                return Ok(None);
            }
        }
        let generation = self.state.generation.load(Ordering::Acquire);
        Ok(Some(Input {
            sequence,
            bytes,
            from,
            generation,
        }))
    }

    /// Queues what [`take_in`](Self::take_in) gave, as [`write`](Self::write) does; drops it where it was discarded since.
    ///
    /// # Errors
    /// When the program has ended.
    pub async fn queue(&self, input: &Input) -> Result<(), InputError> {
        if self.has_discarded(input) {
            return Ok(());
        }
        let bytes = &input.bytes;
        let place = Place {
            sequence: input.sequence,
            from: input.from,
            length: bytes.len(),
            in_brackets: bytes.starts_with(PASTE),
        };
        self.send(self.chunk(&bytes[input.from..], input.generation, Some(place)))
            .await
    }

    /// Whether the terminal took this input of the same client before, whole: typing it again has no effect.
    #[must_use]
    pub fn has_taken(&self, sequence: u64) -> bool {
        let known = self.state.client.and_then(|client| self.shared.applied(client));
        known.is_some_and(|progress| progress.messages() >= sequence)
    }

    /// Drops what this writer queued and the terminal did not take yet.
    pub fn discard(&self) {
        self.state.generation.fetch_add(1, Ordering::AcqRel);
        self.shared.replied.notify_one();
    }

    /// Whether what was taken in is discarded since: queueing it has no effect.
    #[must_use]
    pub fn has_discarded(&self, input: &Input) -> bool {
        self.state.generation.load(Ordering::Acquire) != input.generation
    }

    /// The number of the last input that the terminal took whole, now and as it grows.
    #[must_use]
    pub fn applied(&self) -> watch::Receiver<u64> {
        self.state.applied.subscribe()
    }

    /// Whether the part of this numbered input that the terminal has already was typed as a paste in brackets; none where
    /// it has none of it, or all. The rest has to come in the same form.
    #[must_use]
    pub fn was_in_brackets(&self, sequence: u64) -> Option<bool> {
        let client = self.state.client?;
        let _still = lock(&self.shared.typing);
        self.shared.applied(client)?.form_of(sequence)
    }

    /// Where the first bytes are of which the terminal would make SIGINT.
    fn interrupt_in(&self, bytes: &[u8]) -> Option<Range<usize>> {
        let control = lock(&self.shared.control);
        let modes = tcgetattr(control.as_ref()?.get_ref()).ok()?;
        let interrupt = modes.special_codes[SpecialCodeIndex::VINTR];
        // _POSIX_VDISABLE: no byte does.
        let local = modes.local_modes;
        if interrupt == 0 || !local.contains(LocalModes::ISIG) || local.contains(LocalModes::EXTPROC) {
            return None;
        }
        let start = bytes.iter().position(|byte| *byte == interrupt)?;
        let rest = bytes[start..].iter().take(MAX_INTERRUPT);
        Some(start..start + rest.take_while(|byte| **byte == interrupt).count())
    }

    fn chunk(&self, bytes: &[u8], generation: u64, place: Option<Place>) -> Chunk {
        Chunk {
            writer: Arc::clone(&self.state),
            generation,
            bytes: bytes.into(),
            taken: 0,
            place,
            is_interrupt: false,
            _room: None,
        }
    }

    async fn send(&self, chunk: Chunk) -> Result<(), InputError> {
        let wanted = u32::try_from(chunk.bytes.len()).unwrap_or(ROOM).min(ROOM);
        let room = Arc::clone(&self.shared.input_room).acquire_many_owned(wanted);
        let chunk = Chunk {
            _room: room.await.ok(),
            ..chunk
        };
        let sent = self.shared.input.send(chunk).await;
        sent.map_err(|_closed| InputError::Exited)
    }
}

impl Session {
    /// The same as [`writer`](Self::writer), for a client whose numbered input is typed exactly once, over all its
    /// connections.
    #[must_use]
    pub fn writer_of(&self, gate: Arc<dyn Gate>, client: ClientKey) -> Writer {
        Writer::new(Arc::clone(&self.shared), gate, Some(client))
    }

    /// The number of the last input of this client that the terminal took whole, 0 if it took none; `None` where
    /// that is not known: the client is new, or was forgotten, or the process that typed for it ended while it did. It is known
    /// once it types again; of a new one at once.
    #[must_use]
    pub fn input_applied(&self, client: ClientKey) -> Option<u64> {
        // What stands there while a write runs may be taken back.
        let _still = lock(&self.shared.typing);
        let journal = self.shared.journal();
        let known = journal.applied(client);
        journal.touch_applied(client, journal.time_ms());
        let certain = known.filter(|(_, is_certain)| *is_certain);
        certain.map(|(progress, _)| Progress(progress).messages())
    }

    /// Keeps what is known of a client's input, for 10 min at least.
    pub fn remember_input(&self, client: ClientKey) {
        let journal = self.shared.journal();
        journal.touch_applied(client, journal.time_ms());
    }
}

impl Shared {
    /// How much of a client's input the terminal took.
    fn applied(&self, client: ClientKey) -> Option<Progress> {
        let (progress, _) = self.journal().applied(client)?;
        Some(Progress(progress))
    }

    /// Notes how much of it the terminal took if what is written now is taken.
    fn set_applying(&self, client: ClientKey, progress: Progress) {
        let journal = self.journal();
        journal.set_applying(client, progress.0, journal.time_ms());
    }

    fn set_applied(&self, client: ClientKey, progress: Progress) {
        let journal = self.journal();
        journal.set_applied(client, progress.0, journal.time_ms());
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("session", &self.shared)
            .finish_non_exhaustive()
    }
}

/// Who numbers input: a hash over the principal and the id that its client chose.
pub type ClientKey = [u8; 16];

/// Why input was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The program has ended.
    #[error("the session's program has ended")]
    Exited,
    /// Its number is 0 or absurd, or it is longer than any message.
    #[error("the input's number or length cannot be")]
    Malformed,
}

/// Input on its way to the PTY: of one message, all that is to be typed.
pub(super) struct Chunk {
    writer: Arc<State>,
    generation: u64,
    bytes: Box<[u8]>,
    /// How many of the bytes need not be written any more.
    taken: usize,
    /// Where it stands in numbered input.
    place: Option<Place>,
    /// Whether the terminal makes a signal of its bytes.
    is_interrupt: bool,
    /// What it takes of the queue's room until it is written; none of an interrupt, which waits for nobody.
    _room: Option<OwnedSemaphorePermit>,
}

impl Chunk {
    fn is_discarded(&self) -> bool {
        self.writer.generation.load(Ordering::Acquire) != self.generation
    }
}

/// What a writer's handles and its queued chunks share.
struct State {
    gate: Arc<dyn Gate>,
    client: Option<ClientKey>,
    /// Chunks of an earlier generation are dropped.
    generation: AtomicU64,
    applied: watch::Sender<u64>,
}

/// Input bytes in one write: what a terminal takes at once.
const MAX_WRITE: usize = 4 * 1024;
/// How a paste in brackets begins (DECSET 2004).
const PASTE: &[u8] = b"\x1b[200~";
/// Interrupts in a row that go ahead together.
const MAX_INTERRUPT: usize = 16;
/// Between two tries at a full terminal whose readiness says nothing any more.
const RETRY: Duration = Duration::from_millis(50);
/// Chunks that wait at most, for all writers together.
pub(super) const QUEUE: usize = 64;
/// Their bytes.
pub(super) const ROOM: u32 = 256 * 1024;
