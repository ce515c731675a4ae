//! Typing: a bounded queue into the PTY, each chunk behind its writer's gate.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::{Shared, lock};
use crate::gate::Gate;

/// Somebody who types into a session. Writers' inputs are delivered in the order in which they were queued.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
    state: Arc<State>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, gate: Arc<dyn Gate>) -> Self {
        Self {
            shared,
            state: Arc::new(State {
                gate,
                generation: AtomicU64::new(0),
            }),
        }
    }

    /// Queues input; waits while the queue (256 KiB for all writers) is full. When this returns the input is
    /// not yet with the program, and may still be refused by the gate. Dropping the future may leave a first
    /// part queued.
    ///
    /// # Errors
    /// When the program has ended.
    pub async fn write(&self, input: &[u8]) -> Result<(), InputError> {
        let generation = self.state.generation.load(Ordering::Acquire);
        for part in input.chunks(MAX_CHUNK) {
            let chunk = Chunk {
                writer: Arc::clone(&self.state),
                generation,
                bytes: part.into(),
            };
            self.shared
                .input
                .send(chunk)
                .await
                .map_err(|_closed| InputError::Exited)?;
        }
        Ok(())
    }

    /// Drops what this writer queued and the terminal did not take yet.
    pub fn discard(&self) {
        self.state.generation.fetch_add(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("session", &self.shared)
            .finish_non_exhaustive()
    }
}

/// Why input was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The program has ended.
    #[error("the session's program has ended")]
    Exited,
}

/// A piece of input on its way to the PTY.
pub(super) struct Chunk {
    writer: Arc<State>,
    generation: u64,
    bytes: Box<[u8]>,
}

impl Chunk {
    fn is_discarded(&self) -> bool {
        self.writer.generation.load(Ordering::Acquire) != self.generation
    }
}

/// What a writer's handles and its queued chunks share.
struct State {
    gate: Arc<dyn Gate>,
    /// Chunks of an earlier generation are dropped.
    generation: AtomicU64,
}

/// Writes answers and input to the PTY until it is aborted.
pub(super) async fn write(
    shared: Arc<Shared>,
    master: Arc<AsyncFd<OwnedFd>>,
    mut queue: mpsc::Receiver<Chunk>,
) {
    loop {
        let replies = std::mem::take(&mut *lock(&shared.replies));
        if !replies.is_empty() {
            write_all(&master, &replies, |write| {
                write();
                true
            })
            .await;
            continue;
        }
        tokio::select! {
            biased;
            () = shared.replied.notified() => {}
            chunk = queue.recv() => {
                // The sender lives in `shared`.
                let Some(chunk) = chunk else { return };
                write_all(&master, &chunk.bytes, |write| !chunk.is_discarded() && chunk.writer.gate.pass(write)).await;
            }
        }
    }
}

/// Writes all of `bytes`, each `write(2)` through `pass`; gives up when it refuses or the terminal does.
async fn write_all(master: &AsyncFd<OwnedFd>, bytes: &[u8], mut pass: impl FnMut(&mut dyn FnMut()) -> bool) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let Ok(mut ready) = master.writable().await else {
            return;
        };
        // Asked before the attempt, which clears it where nothing can be written.
        let is_closed = ready.ready().is_write_closed();
        let outcome = ready.try_io(|master| {
            let mut result = Ok(0);
            let passed = pass(&mut || result = rustix::io::write(master.get_ref(), rest));
            result
                .map(|written| passed.then_some(written))
                .map_err(io::Error::from)
        });
        match outcome {
            Ok(Ok(Some(written))) => rest = &rest[written..],
            Ok(Ok(None)) => return,
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "the terminal takes no input");
                return;
            }
            // Full, and no process had it open at some time: readiness is said for ever, also while one has it open again.
            Err(_would_block) if is_closed => tokio::time::sleep(RETRY).await,
            Err(_would_block) => {}
        }
    }
}

/// Input bytes in one write: what a terminal takes at once.
const MAX_CHUNK: usize = 4 * 1024;
/// Between two tries at a full terminal whose readiness says nothing any more.
const RETRY: Duration = Duration::from_millis(50);
/// Chunks that wait at most, for all writers together.
pub(super) const QUEUE: usize = 64;
