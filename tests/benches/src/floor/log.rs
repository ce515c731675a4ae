//! What a terminal wrote, shared by all who follow it: the newest megabyte.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Notify, watch};

/// The log. The terminal is read slower where the slowest reader would lose bytes: nothing is lost.
pub(super) struct Log {
    state: Mutex<State>,
    /// Wakes the readers.
    grown: watch::Sender<()>,
    /// Wakes the writer.
    drained: Notify,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    start: u64,
    ended: bool,
    /// Where each reader stands.
    readers: HashMap<u64, u64>,
    next_reader: u64,
}

/// One who follows.
pub(super) struct Reader {
    log: Arc<Log>,
    number: u64,
    offset: u64,
    grown: watch::Receiver<()>,
}

impl Log {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            grown: watch::Sender::new(()),
            drained: Notify::new(),
        })
    }

    /// Appends; waits while the slowest reader would lose bytes by it.
    pub(super) async fn append(&self, bytes: &[u8]) {
        while !self.try_append(bytes) {
            self.drained.notified().await;
        }
        self.grown.send_replace(());
    }

    fn try_append(&self, bytes: &[u8]) -> bool {
        let mut state = self.state();
        let surplus = (state.bytes.len() + bytes.len()).saturating_sub(CAPACITY);
        let keep = state.readers.values().min().copied().unwrap_or(u64::MAX);
        if state.start + surplus as u64 > keep {
            return false;
        }
        state.bytes.drain(..surplus);
        state.start += surplus as u64;
        state.bytes.extend(bytes);
        true
    }

    /// Nothing comes any more.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.grown.send_replace(());
    }

    /// Follows from the oldest byte that is there.
    pub(super) fn follow(self: &Arc<Self>) -> Reader {
        let grown = self.grown.subscribe();
        let mut state = self.state();
        let number = state.next_reader;
        state.next_reader += 1;
        let offset = state.start;
        state.readers.insert(number, offset);
        drop(state);
        Reader {
            log: Arc::clone(self),
            number,
            offset,
            grown,
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// The next bytes and their offset; `None` at the end.
    pub(super) async fn next(&mut self, into: &mut Vec<u8>) -> Option<u64> {
        loop {
            self.grown.borrow_and_update();
            let ended = self.take(into);
            if !into.is_empty() {
                return Some(self.offset - into.len() as u64);
            }
            if ended || self.grown.changed().await.is_err() {
                return None;
            }
        }
    }

    fn take(&mut self, into: &mut Vec<u8>) -> bool {
        let mut state = self.log.state();
        let begin = usize::try_from(self.offset - state.start).unwrap_or(usize::MAX);
        let end = state.bytes.len().min(begin + MAX_MESSAGE);
        // Two copies of memory, not a walk from byte to byte.
        let (front, back) = state.bytes.as_slices();
        into.extend_from_slice(&front[begin.min(front.len())..end.min(front.len())]);
        into.extend_from_slice(&back[begin.saturating_sub(front.len())..end.saturating_sub(front.len())]);
        self.offset += into.len() as u64;
        state.readers.insert(self.number, self.offset);
        let ended = state.ended;
        drop(state);
        self.log.drained.notify_one();
        ended
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.log.state().readers.remove(&self.number);
        self.log.drained.notify_one();
    }
}

/// Bytes that are kept.
const CAPACITY: usize = 1024 * 1024;
/// Bytes of one message.
const MAX_MESSAGE: usize = 32 * 1024;
