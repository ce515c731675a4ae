//! Input that an attachment's program has not taken yet.

use std::sync::{Arc, LazyLock};

use terminal::{Input, Writer};
use tokio::sync::{
    OwnedSemaphorePermit, Semaphore,
    mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

/// Where an attachment's input waits. It has room of its own, and takes of one that all attachments share; what finds none
/// waits in front, and nothing comes behind it before it has room.
pub(super) struct Queue {
    inputs: UnboundedSender<Pending>,
    own: Arc<Semaphore>,
    shared: Arc<Semaphore>,
    first: Option<Input>,
}

/// Input on its way to the program, and the room that it takes meanwhile.
pub(super) struct Pending {
    input: Input,
    _room: Option<OwnedSemaphorePermit>,
}

/// A queue, and what comes out of it.
pub(super) fn queue() -> (Queue, UnboundedReceiver<Pending>) {
    static SHARED: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(SHARED_ROOM)));
    queue_with(OWN_ROOM, Arc::clone(&SHARED))
}

fn queue_with(own: usize, shared: Arc<Semaphore>) -> (Queue, UnboundedReceiver<Pending>) {
    let (inputs, pending) = unbounded_channel();
    let queue = Queue {
        inputs,
        own: Arc::new(Semaphore::new(own)),
        shared,
        first: None,
    };
    (queue, pending)
}

/// Types what is queued, until nothing can come any more and all is typed.
pub(super) async fn type_in(writer: Option<&Writer>, mut inputs: UnboundedReceiver<Pending>) {
    while let Some(pending) = inputs.recv().await {
        let Some(writer) = writer else { continue };
        if writer.queue(&pending.input).await.is_err() {
            tracing::debug!("input came after the program's end");
        }
    }
}

impl Queue {
    /// Takes input in; waits only while some before it has no room. Dropping the future may lose the input.
    pub(super) async fn push(&mut self, input: Input) {
        if self.first.is_some() {
            self.room().await;
        }
        let wanted = room_of(&input);
        let own = Arc::clone(&self.own).try_acquire_many_owned(wanted);
        match own.or_else(|_| Arc::clone(&self.shared).try_acquire_many_owned(wanted)) {
            Ok(room) => self.send(input, Some(room)),
            Err(_) => self.first = Some(input),
        }
    }

    /// Waits until what has no room has some; for ever where nothing waits for any. Cancel safe.
    pub(super) async fn room(&mut self) {
        let Some(input) = &self.first else {
            return std::future::pending().await;
        };
        let room = Arc::clone(&self.own).acquire_many_owned(room_of(input)).await;
        if let Some(input) = self.first.take() {
            self.send(input, room.ok());
        }
    }

    /// Forgets what waits for room if its writer has discarded it.
    pub(super) fn drop_discarded(&mut self, writer: &Writer) {
        self.first.take_if(|input| writer.has_discarded(input));
    }

    /// Has what waits for room go on without: nothing more comes.
    pub(super) fn push_rest(&mut self) {
        if let Some(input) = self.first.take() {
            self.send(input, None);
        }
    }

    fn send(&self, input: Input, room: Option<OwnedSemaphorePermit>) {
        // Who types ends only after who reads.
        self.inputs.send(Pending { input, _room: room }).ok();
    }
}

fn room_of(input: &Input) -> u32 {
    let wanted = (input.bytes.len() + OVERHEAD).min(OWN_ROOM);
    u32::try_from(wanted).unwrap_or(u32::MAX)
}

/// Bytes of input of one attachment, each with its overhead, that may wait for the program, beyond the terminal's own queue.
const OWN_ROOM: usize = 1024 * 1024;

/// Bytes that may wait besides, of all attachments together: more than anybody pastes, so that what is said behind a paste is
/// read.
const SHARED_ROOM: usize = 32 * 1024 * 1024;

/// Bytes that an input takes besides its own: an empty one waits as well.
const OVERHEAD: usize = 128;
