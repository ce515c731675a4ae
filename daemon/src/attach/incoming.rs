//! What a client sends.

use axum::extract::ws::{Message, WebSocket};
use futures_util::{StreamExt, stream::SplitStream};
use protocol::attach::ClientMessage;
use terminal::{Acks, Offset, Size, Writer};

use super::{End, InputTally, LEFT, MALFORMED};
use crate::sessions::Claimant;

pub(super) struct Incoming<'a> {
    pub(super) stream: &'a mut SplitStream<WebSocket>,
    pub(super) acks: Acks,
    pub(super) writer: Option<&'a Writer>,
    pub(super) claimant: Option<&'a Claimant>,
    pub(super) tally: &'a InputTally,
}

impl Incoming<'_> {
    /// Takes messages until the client leaves.
    pub(super) async fn run(self) -> End {
        loop {
            let bytes = match self.stream.next().await {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Text(_))) => return MALFORMED,
                Some(Ok(Message::Close(_)) | Err(_)) | None => return LEFT,
            };
            match ClientMessage::decode(&bytes) {
                Ok(message) => self.take(message).await,
                Err(_) => return MALFORMED,
            }
        }
    }

    async fn take(&self, message: ClientMessage) {
        match message {
            ClientMessage::Input { bytes, .. } => self.input(&bytes).await,
            ClientMessage::Size { columns, rows } => {
                if let Some(claimant) = self.claimant {
                    claimant.offer(Size::new(columns, rows));
                }
            }
            ClientMessage::Ack { offset } => self.acks.acked(Offset(offset)),
        }
    }

    /// Input of an attachment that only looks has nowhere to go: there is no writer that could take it.
    async fn input(&self, bytes: &[u8]) {
        let Some(writer) = self.writer else { return };
        self.tally.count(bytes.len());
        if writer.write(bytes).await.is_err() {
            tracing::debug!("input came after the program's end");
        }
    }
}
