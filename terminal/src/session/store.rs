//! What a session keeps on disk, and reading its output wherever it is.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Session, Shared, lock, stored};
use crate::checkpoint::Checkpoint;
use crate::journal::Read;
use crate::offset::Offset;
use crate::size::Size;
use crate::tail::worker::{self, Work};
use crate::tail::{Place, Stored, Tail};

/// A stretch of a session's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What was written from `offset` on, without gaps.
    pub bytes: Vec<u8>,
    /// Where the first of these bytes stands.
    pub offset: Offset,
    /// Where to read on.
    pub next_offset: Offset,
    /// The offset of the next byte that the program will write.
    pub end: Offset,
    /// Whether bytes between the offset that was asked for and `offset` are gone.
    pub truncated: bool,
}

impl Session {
    /// At most `limit` bytes of output from `from` on, from the journal or from the disk; none at the end.
    ///
    /// # Errors
    /// When the disk may have it and does not give it now.
    pub async fn output(&self, from: Offset, limit: usize) -> io::Result<Output> {
        let from = from.min(self.end());
        let mut output = Output {
            bytes: Vec::new(),
            offset: from,
            next_offset: from,
            end: from,
            truncated: false,
        };
        let mut next_size = 0;
        while output.bytes.len() < limit {
            let rest = limit - output.bytes.len();
            match self.shared.records(output.next_offset, next_size, rest).await {
                Records::Output(bytes) if output.bytes.is_empty() => output.bytes = bytes,
                Records::Output(bytes) => output.bytes.extend(bytes),
                Records::Size { number, .. } => next_size = number + 1,
                Records::Gone { to } if output.bytes.is_empty() => {
                    output.offset = to;
                    output.truncated = true;
                }
                Records::Failed { error, .. } if output.bytes.is_empty() => return Err(error),
                // Said by who reads on.
                Records::Gone { .. } | Records::Failed { .. } | Records::Nothing => break,
            }
            output.next_offset = output.offset.plus(output.bytes.len());
        }
        output.end = self.end();
        Ok(output)
    }

    /// Returns when everything that an ended session keeps is on disk, or the disk did not take it; for ever not before
    /// its end. A disk that was full is tried again; what it has not taken stays in memory. Cancel safe.
    pub async fn settled(&self) {
        // The sender lives in `shared`.
        let _ = self.shared.settled.subscribe().wait_for(|settled| *settled).await;
    }

    /// Has nothing more written to the disk, but for what is being written now.
    pub fn abandon(&self) {
        if let Some(store) = &self.shared.store {
            store.is_abandoned.store(true, Ordering::Release);
        }
    }
}

/// What stands next in a session's records.
#[derive(Debug)]
pub(crate) enum Records {
    /// At least one byte of output.
    Output(Vec<u8>),
    /// The `number`th size change.
    Size { number: u64, size: Size, offset: Offset },
    /// Everything was read.
    Nothing,
    /// What was asked for is gone; the records go on at `to`.
    Gone { to: Offset },
    /// What was asked for may be on the disk, which does not give it now; from `to` on, all is in the journal.
    Failed { to: Offset, error: io::Error },
}

/// What a session keeps on disk.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) directory: PathBuf,
    pub(super) tail: Tail,
    /// Bytes of records that are written at once: [`ENOUGH`], or less where the journal has little room. It waits for no disk.
    enough: usize,
    /// Bytes that the disk's thread was not told about.
    untold: AtomicUsize,
    /// The newest screens with scrollback and without, not written yet.
    checkpoints: Mutex<[Option<Checkpoint>; 2]>,
    /// Nothing comes after what waits now.
    is_complete: AtomicBool,
    /// The disk took not all of what it was last given.
    is_failing: AtomicBool,
    /// Nothing of it is wanted any more.
    is_abandoned: AtomicBool,
    /// Writing to it panicked, and nothing more is written.
    has_failed: AtomicBool,
}

impl Store {
    /// For at most `limit` bytes of what a journal of this capacity has.
    pub(super) fn new(directory: PathBuf, limit: u64, capacity: usize) -> Self {
        Self {
            enough: ENOUGH.min(capacity / 4),
            tail: Tail::new(directory.clone(), limit),
            directory,
            untold: AtomicUsize::new(0),
            checkpoints: Mutex::default(),
            is_complete: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }
}

impl Shared {
    /// What stands at `from`: the first size change there from number `next_size` on, else at most `limit` bytes of
    /// output up to the next size change. Waits for the disk only where the journal has it no more. Cancel safe.
    pub(crate) async fn records(self: &Arc<Self>, from: Offset, next_size: u64, limit: usize) -> Records {
        let mut bytes = Vec::new();
        let read = self.journal().read(from, next_size, limit, &mut bytes);
        let start = match read {
            Read::Output => return Records::Output(bytes),
            Read::Size { number, size, offset } => return Records::Size { number, size, offset },
            Read::Nothing => return Records::Nothing,
            Read::Trimmed { start } => start,
        };
        let place = Place {
            offset: from,
            next_size,
        };
        let shared = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || shared.stored(place, limit));
        match reading.await.map_err(io::Error::from).flatten() {
            Ok((Stored::Output, bytes)) => Records::Output(bytes),
            Ok((Stored::Size { number, size, offset }, _)) => Records::Size { number, size, offset },
            Ok((Stored::Gap { to }, _)) if to <= start => Records::Gone { to },
            Ok((Stored::Gap { .. } | Stored::End, _)) => Records::Gone { to: start },
            Err(error) => {
                tracing::warn!(%error, "output could not be read from the disk");
                Records::Failed { to: start, error }
            }
        }
    }

    fn stored(&self, place: Place, limit: usize) -> io::Result<(Stored, Vec<u8>)> {
        let Some(store) = &self.store else {
            return Ok((Stored::End, Vec::new()));
        };
        let mut bytes = Vec::new();
        store
            .tail
            .read(place, limit, &mut bytes)
            .map(|found| (found, bytes))
    }

    /// Says that so many bytes of records were appended. Costs an addition, mostly.
    pub(super) fn appended(self: &Arc<Self>, bytes: usize) {
        let Some(store) = &self.store else { return };
        let before = store.untold.fetch_add(bytes, Ordering::Relaxed);
        let is_much = before + bytes >= store.enough;
        if before == 0 || is_much && before < store.enough {
            let due = Instant::now() + if is_much { Duration::ZERO } else { PATIENCE };
            worker::schedule(Arc::clone(self) as Arc<dyn Work>, due);
        }
    }

    /// Has a screen written in the place of the former one.
    pub(super) fn keep(self: &Arc<Self>, checkpoint: Checkpoint) {
        if let Some(store) = &self.store {
            let mut waiting = lock(&store.checkpoints);
            if checkpoint.is_whole {
                *waiting = [Some(checkpoint), None];
            } else {
                waiting[1] = Some(checkpoint);
            }
            drop(waiting);
            worker::schedule(Arc::clone(self) as Arc<dyn Work>, Instant::now());
        }
    }

    /// Has everything written that waits, as nothing more comes.
    pub(super) fn settle(self: &Arc<Self>) {
        match &self.store {
            Some(store) => {
                store.is_complete.store(true, Ordering::Release);
                worker::schedule(Arc::clone(self) as Arc<dyn Work>, Instant::now());
            }
            None => {
                self.settled.send_replace(true);
            }
        }
    }
}

impl Work for Shared {
    fn work(&self, buffer: &mut Vec<u8>) -> Option<Instant> {
        let store = self.store.as_ref()?;
        if store.is_abandoned.load(Ordering::Acquire) {
            return None;
        }
        let is_complete = store.is_complete.load(Ordering::Acquire);
        store.untold.store(0, Ordering::Relaxed);
        if store.has_failed.load(Ordering::Relaxed) {
            if is_complete {
                self.settled.send_replace(true);
            }
            return None;
        }
        for turn in 0.. {
            match store.tail.write(&self.journal, is_complete, buffer) {
                Ok(true) if turn == MAX_TURN => {
                    store.write_checkpoint();
                    return Some(Instant::now());
                }
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    store.failed(&error);
                    break;
                }
            }
        }
        store.write_checkpoint();
        let again = store.tries_again();
        if is_complete {
            if again.is_none() && !store.tail.is_behind(&self.journal) {
                store.tail.close();
                stored::release(&self.journal);
            }
            self.settled.send_replace(true);
        }
        again
    }

    fn failed(&self) {
        let Some(store) = &self.store else { return };
        tracing::error!("writing a session's output to the disk failed, and is given up");
        store.has_failed.store(true, Ordering::Relaxed);
        if store.is_complete.load(Ordering::Acquire) {
            self.settled.send_replace(true);
        }
    }
}

impl Store {
    fn write_checkpoint(&self) {
        let taken = std::mem::take(&mut *lock(&self.checkpoints));
        for checkpoint in taken.into_iter().flatten() {
            let Err(error) = checkpoint.write(&self.directory) else {
                continue;
            };
            self.failed(&error);
            let mut waiting = lock(&self.checkpoints);
            // Unless newer ones came meanwhile.
            match (checkpoint.is_whole, &*waiting) {
                (_, [Some(_), _]) | (false, [None, Some(_)]) => {}
                (true, [None, _]) => waiting[0] = Some(checkpoint),
                (false, [None, None]) => waiting[1] = Some(checkpoint),
            }
        }
    }

    /// Says that the disk took something not; once, as it is tried again and again.
    fn failed(&self, error: &io::Error) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let directory = self.directory.display();
            tracing::warn!(%directory, %error, "a session could not be written to the disk; it is tried again");
        }
    }

    /// When to try again what the disk did not take; none if it took all.
    fn tries_again(&self) -> Option<Instant> {
        let is_kept = lock(&self.checkpoints).iter().all(Option::is_none);
        if !self.tail.has_failed() && is_kept {
            self.is_failing.store(false, Ordering::Relaxed);
            return None;
        }
        Some(Instant::now() + RETRY)
    }
}

/// Bytes of records that are written at once instead of after a while, where the journal has room for many more.
pub(super) const ENOUGH: usize = 128 * 1024;
/// How long few bytes wait for more.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two tries of a disk that took something not.
const RETRY: Duration = Duration::from_secs(2);
/// Writes for one session before another gets its turn.
const MAX_TURN: u32 = 16;
