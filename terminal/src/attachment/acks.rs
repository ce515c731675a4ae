//! What a viewer has drawn, and whether anybody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::window::{LARGEST, Window};
use crate::offset::Offset;

/// Acknowledges for an [`Attachment`](super::Attachment).
#[derive(Debug, Clone)]
pub struct Acks(pub(super) Arc<Shared>);

impl Acks {
    /// Says that everything before `offset` is drawn; of a snapshot, its ground offset says so.
    pub fn acked(&self, offset: Offset) {
        self.0.ack(offset, Instant::now());
    }

    /// Says whether what is drawn shows on anybody's screen. Who does not look gets a few updates a second.
    pub fn visible(&self, is_visible: bool) {
        self.0.state().is_hidden = !is_visible;
        self.0.changed.notify_one();
    }
}

/// What the attachment and its handles share.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Wakes the attachment.
    pub(super) changed: Notify,
}

#[derive(Debug)]
struct State {
    acked: Offset,
    sent: Offset,
    /// The last snapshot, while it is not drawn: its ground offset and its bytes.
    snapshot: Option<(Offset, u64)>,
    window: Window,
    /// Grows with each acknowledgement that says something.
    version: u64,
    is_hidden: bool,
}

/// How a viewer stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Bytes on the way, a snapshot's included.
    pub(super) unacked: u64,
    /// Bytes that may be on the way.
    pub(super) window: usize,
    /// Bytes that it may be behind.
    pub(super) backlog: u64,
    pub(super) is_hidden: bool,
    /// To be waited for beyond.
    pub(super) version: u64,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                acked: Offset::START,
                sent: Offset::START,
                snapshot: None,
                window: Window::new(Instant::now()),
                version: 0,
                is_hidden: false,
            }),
            changed: Notify::new(),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        let state = self.state();
        Standing {
            unacked: state.unacked(),
            window: state.window.size(),
            backlog: state.window.backlog(),
            is_hidden: state.is_hidden,
            version: state.version,
        }
    }

    /// Everything before the offset counts as drawn, and nothing is on the way.
    pub(super) fn place(&self, offset: Offset) {
        let mut state = self.state();
        (state.acked, state.sent) = (offset, offset);
    }

    /// Output up to the offset is on the way.
    pub(super) fn sent(&self, end: Offset) {
        let mut state = self.state();
        let is_idle = state.unacked() == 0;
        state.window.sent(is_idle, Instant::now());
        state.sent = end;
    }

    /// A snapshot is on the way, and nothing before it matters.
    pub(super) fn sent_snapshot(&self, ground: Offset, bytes: usize) {
        let mut state = self.state();
        state.window.sent(true, Instant::now());
        // Who had drawn that far already may have nothing new to say of it.
        state.snapshot = (ground > state.acked).then_some((ground, bytes as u64));
        (state.acked, state.sent) = (ground, ground);
    }

    pub(super) fn ran_dry(&self) {
        self.state().window.ran_dry();
    }

    pub(super) async fn moved_beyond(&self, version: u64) {
        while self.state().version <= version {
            self.changed.notified().await;
        }
    }

    pub(super) fn ack(&self, offset: Offset, now: Instant) {
        let mut state = self.state();
        // Nobody has drawn what was not sent.
        let offset = offset.min(state.sent);
        let mut drawn = offset.since(state.acked);
        state.acked = state.acked.max(offset);
        if let Some((_, bytes)) = state.snapshot.filter(|(ground, _)| *ground <= offset) {
            drawn += bytes;
            state.snapshot = None;
        }
        if drawn > 0 {
            state.window.acked(drawn, now);
            state.version += 1;
            drop(state);
            self.changed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn unacked(&self) -> u64 {
        self.sent.since(self.acked) + self.snapshot.map_or(0, |(_, bytes)| bytes)
    }
}

/// Bytes on the way to who wants every byte: how old they are does not matter then.
pub(super) const LOSSLESS: usize = LARGEST;
