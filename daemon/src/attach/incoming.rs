//! What a client sends.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::extract::ws::{Message, WebSocket};
use futures_util::{StreamExt, stream::SplitStream};
use protocol::attach::ClientMessage;
use server::Connection;
use terminal::{Acks, Offset, Size, Writer};
use tokio::{
    sync::{
        OwnedSemaphorePermit, Semaphore,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    time::timeout,
};

use super::{End, InputTally, LEFT, MALFORMED};
use crate::sessions::Claimant;

pub(super) struct Incoming<'a> {
    pub(super) stream: &'a mut SplitStream<WebSocket>,
    pub(super) acks: Acks,
    pub(super) writer: Option<&'a Writer>,
    pub(super) claimant: Option<&'a Claimant>,
    pub(super) tally: &'a InputTally,
    pub(super) connection: &'a Connection,
}

/// Input on its way to the program, and the room that it takes meanwhile.
struct Pending {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl Incoming<'_> {
    /// Takes messages until the client leaves. A program that takes no input keeps input waiting and nothing else: messages are
    /// read on, so that acknowledgements, sizes and the client's leaving are seen.
    pub(super) async fn run(self) -> End {
        let (queue, inputs) = unbounded_channel();
        let mut typing = pin!(type_in(self.writer, inputs));
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

    async fn read(self, queue: UnboundedSender<Pending>) -> End {
        let room = Arc::new(Semaphore::new(MAX_PENDING));
        loop {
            let bytes = match self.stream.next().await {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Text(_))) => return MALFORMED,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return LEFT,
            };
            match ClientMessage::decode(&bytes) {
                Ok(ClientMessage::Input { bytes, .. }) => {
                    // Input of an attachment that only looks has nowhere to go: there is no writer that could take it.
                    if self.writer.is_some() && !self.queue(bytes, &queue, &room).await {
                        return LEFT;
                    }
                }
                Ok(ClientMessage::Size { columns, rows }) => {
                    if let Some(claimant) = self.claimant {
                        claimant.offer(Size::new(columns, rows));
                    }
                }
                Ok(ClientMessage::Ack { offset }) => self.acks.acked(Offset(offset)),
                Ok(
                    ClientMessage::Claim
                    | ClientMessage::Yield
                    | ClientMessage::Ping { .. }
                    | ClientMessage::Visibility { .. },
                ) => {}
                Err(_) => return MALFORMED,
            }
        }
    }

    /// Queues input; false where its sender left while there was no room, which is looked for below the stream then.
    async fn queue(&self, bytes: Vec<u8>, queue: &UnboundedSender<Pending>, room: &Arc<Semaphore>) -> bool {
        self.tally.count(bytes.len());
        let wanted = u32::try_from(bytes.len().min(MAX_PENDING)).unwrap_or(u32::MAX);
        let got = tokio::select! {
            biased;
            got = room.clone().acquire_many_owned(wanted) => got,
            () = self.connection.left() => return false,
        };
        let Ok(room) = got else { return false };
        queue.send(Pending { bytes, _room: room }).is_ok()
    }
}

/// Types what is queued, until nothing can come any more and all is typed.
async fn type_in(writer: Option<&Writer>, mut inputs: UnboundedReceiver<Pending>) {
    while let Some(pending) = inputs.recv().await {
        let Some(writer) = writer else { continue };
        if writer.write(&pending.bytes).await.is_err() {
            tracing::debug!("input came after the program's end");
        }
    }
}

/// Bytes of input of one attachment that may wait for the program, beyond the terminal's own queue.
const MAX_PENDING: usize = 1024 * 1024;

/// Time for input that its sender left behind.
const LAST_INPUT: Duration = Duration::from_secs(1);
