//! What a client sends.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use axum::extract::ws::{Message, WebSocket};
use futures_util::{StreamExt, stream::SplitStream};
use protocol::attach::ClientMessage;
use server::Connection;
use terminal::{Acks, Input, Offset, Size, Writer};
use tokio::{
    sync::{
        OwnedSemaphorePermit, Semaphore,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    time::{Instant, Sleep, sleep, timeout},
};

use super::{End, InputTally, LEFT, MALFORMED, Typist, paste};
use crate::sessions::Handle;

pub(super) struct Incoming<'a> {
    pub(super) stream: &'a mut SplitStream<WebSocket>,
    pub(super) acks: Acks,
    pub(super) handle: &'a Handle,
    pub(super) typist: Option<&'a Typist>,
    pub(super) may_type: watch::Receiver<bool>,
    pub(super) pinged: &'a watch::Sender<Option<u64>>,
    pub(super) tally: &'a InputTally,
    pub(super) connection: &'a Connection,
}

/// Input on its way to the program, and the room that it takes meanwhile.
struct Pending {
    input: Input,
    _room: OwnedSemaphorePermit,
}

impl Incoming<'_> {
    /// Takes messages until the client leaves. A program that takes no input keeps input waiting and nothing else: messages are
    /// read on, so that acknowledgements, sizes and the client's leaving are seen.
    pub(super) async fn run(self) -> End {
        let (queue, inputs) = unbounded_channel();
        let writer = self.typist.map(|typist| &typist.writer);
        let mut typing = pin!(type_in(writer, inputs));
        let end = tokio::select! {
            biased;
            end = self.read(queue) => end,
            () = &mut typing => LEFT,
        };
        if end == LEFT {
            // What was sent before is still for the program, if that takes it soon.
            timeout(LAST_INPUT, typing).await.ok();
        }
        end
    }

    async fn read(mut self, queue: UnboundedSender<Pending>) -> End {
        let room = Arc::new(Semaphore::new(MAX_PENDING));
        let mut lapse = pin!(sleep(LAPSE));
        loop {
            let bytes = match self.receive(lapse.as_mut()).await {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Text(_))) => return MALFORMED,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return LEFT,
            };
            let Ok(message) = ClientMessage::decode(&bytes) else {
                return MALFORMED;
            };
            match message {
                ClientMessage::Input { sequence, bytes } => {
                    if let Err(end) = self.take_in(sequence, bytes, &queue, &room).await {
                        return end;
                    }
                }
                other => self.take(&other),
            }
        }
    }

    /// The next message. A writer that says nothing for too long has left its claim to others until it speaks again.
    async fn receive(&mut self, mut lapse: Pin<&mut Sleep>) -> Option<Result<Message, axum::Error>> {
        let Some(typist) = self.typist else {
            return self.stream.next().await;
        };
        // Set anew when it has run out, not with each key, since setting a timer may wake another thread.
        let until = Instant::now() + LAPSE;
        loop {
            tokio::select! {
                biased;
                message = self.stream.next() => return message,
                () = lapse.as_mut() => {}
            }
            if until <= lapse.deadline() {
                break;
            }
            lapse.as_mut().reset(until);
        }
        typist.claimant.silent(true);
        let message = self.stream.next().await;
        typist.claimant.silent(false);
        lapse.reset(Instant::now() + LAPSE);
        message
    }

    fn take(&self, message: &ClientMessage) {
        let claimant = self.typist.map(|typist| &typist.claimant);
        match (message, claimant) {
            (ClientMessage::Ack { offset }, _) => self.acks.acked(Offset(*offset)),
            (ClientMessage::Ping { number }, _) => {
                self.pinged.send_replace(Some(*number));
                if let Some(client) = self.typist.and_then(|typist| typist.client) {
                    self.handle.remember_input(client);
                }
            }
            (
                ClientMessage::Visibility {
                    visible,
                    at_live_edge,
                },
                claimant,
            ) => {
                self.acks.visible(*visible);
                if let Some(claimant) = claimant {
                    claimant.sees(*visible && *at_live_edge);
                }
            }
            (ClientMessage::Size { columns, rows }, Some(claimant)) => {
                claimant.offer(Size::new(*columns, *rows));
            }
            (ClientMessage::Claim, Some(claimant)) => claimant.claim(),
            (ClientMessage::Yield, Some(claimant)) => claimant.yield_it(),
            // Who only looks changes no size, and types nothing.
            (
                ClientMessage::Size { .. }
                | ClientMessage::Claim
                | ClientMessage::Yield
                | ClientMessage::Input { .. },
                _,
            ) => {}
        }
    }

    /// Takes input in; it ends where its sender left while there was no room, which is looked for below the stream then.
    async fn take_in(
        &self,
        sequence: u64,
        bytes: Vec<u8>,
        queue: &UnboundedSender<Pending>,
        room: &Arc<Semaphore>,
    ) -> Result<(), End> {
        // Input of an attachment that only looks has nowhere to go: there is no writer that could take it.
        let Some(typist) = self.typist.filter(|_| *self.may_type.borrow()) else {
            return Ok(());
        };
        let bytes = self.unwrapped(typist, sequence, bytes).await?;
        let length = bytes.len();
        // What comes again was counted when it came first, and answers nothing now.
        if length > 0 && !typist.writer.has_taken(sequence) {
            self.tally.count(length);
        }
        // Before there is room: an interrupt makes some.
        let Some(input) = typist.writer.take_in(sequence, bytes).map_err(|_| MALFORMED)? else {
            return Ok(());
        };
        let wanted = u32::try_from((length + OVERHEAD).min(MAX_PENDING)).unwrap_or(u32::MAX);
        let got = tokio::select! {
            biased;
            got = room.clone().acquire_many_owned(wanted) => got,
            () = self.connection.left() => return Err(LEFT),
        };
        let room = got.map_err(|_| LEFT)?;
        queue.send(Pending { input, _room: room }).map_err(|_| LEFT)
    }

    /// An input as it is to be typed. A paste of which the program has a part goes on in the form of that part.
    async fn unwrapped(&self, typist: &Typist, sequence: u64, bytes: Vec<u8>) -> Result<Vec<u8>, End> {
        if !paste::is_paste(&bytes) {
            return Ok(bytes);
        }
        let is_wanted = match typist.writer.was_in_brackets(sequence) {
            Some(was_in_brackets) => was_in_brackets,
            None => tokio::select! {
                biased;
                is_wanted = self.handle.wants_bracketed_paste() => is_wanted,
                () = self.connection.left() => return Err(LEFT),
            },
        };
        Ok(paste::applied(bytes, is_wanted))
    }
}

/// Types what is queued, until nothing can come any more and all is typed.
async fn type_in(writer: Option<&Writer>, mut inputs: UnboundedReceiver<Pending>) {
    while let Some(pending) = inputs.recv().await {
        let Some(writer) = writer else { continue };
        if writer.queue(&pending.input).await.is_err() {
            tracing::debug!("input came after the program's end");
        }
    }
}

/// Bytes of input of one attachment, each with its overhead, that may wait for the program, beyond the terminal's own queue.
const MAX_PENDING: usize = 1024 * 1024;

/// Bytes that an input takes besides its own: an empty one waits as well.
const OVERHEAD: usize = 128;

/// Time for input that its sender left behind.
const LAST_INPUT: Duration = Duration::from_secs(1);

/// A writer that says nothing for so long, not even a ping, holds no claim.
const LAPSE: Duration = Duration::from_secs(30);
