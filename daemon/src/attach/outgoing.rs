//! What a client is sent.

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{SinkExt, stream::SplitSink};
use protocol::attach::{ClaimChange, Hello, ServerMessage};
use terminal::{Attachment, Offset, Size, Update};

use super::{End, LEFT};
use crate::sessions::{Claimant, Handle, Holder, wire_exit, wire_size};

pub(super) struct Outgoing<'a> {
    pub(super) sink: &'a mut SplitSink<WebSocket, Message>,
    pub(super) handle: &'a Handle,
    pub(super) attachment: Attachment,
    pub(super) claimant: Option<&'a Claimant>,
}

impl Outgoing<'_> {
    /// Sends what the session says until its program has ended or the client is gone.
    pub(super) async fn run(mut self, hello: Hello) -> End {
        let mut size = Size::new(hello.size.columns, hello.size.rows);
        let mut claim = self.handle.claim().watch();
        let mut sent = self.send(&ServerMessage::Hello(hello)).await;
        while sent {
            let message = tokio::select! {
                update = self.attachment.next() => match update {
                    Some(update) => match message_of(update, &mut size, &self.change(&claim.borrow())) {
                        Some(message) => message,
                        None => continue,
                    },
                    None => {
                        self.close().await;
                        break;
                    }
                },
                Ok(()) = claim.changed() => {
                    let change = self.change(&claim.borrow_and_update());
                    size_message(self.attachment.offset(), size, change)
                }
            };
            sent = self.send(&message).await;
        }
        LEFT
    }

    /// After the exit nothing more comes: the client has all there is.
    async fn close(&mut self) {
        let frame = CloseFrame {
            code: NORMAL,
            reason: "the program has ended".into(),
        };
        // Who is gone already misses nothing by it.
        self.sink.send(Message::Close(Some(frame))).await.ok();
    }

    async fn send(&mut self, message: &ServerMessage) -> bool {
        self.sink
            .send(Message::Binary(message.encode().into()))
            .await
            .is_ok()
    }

    fn change(&self, holder: &Holder) -> ClaimChange {
        let (holds, taken_from) = self
            .claimant
            .map_or((false, false), |claimant| claimant.stands(holder));
        ClaimChange {
            holder: holds,
            taken_from,
            by: holder.by.clone(),
        }
    }
}

fn message_of(update: Update, size: &mut Size, change: &ClaimChange) -> Option<ServerMessage> {
    Some(match update {
        Update::Snapshot(snapshot) => {
            *size = snapshot.size;
            ServerMessage::Snapshot {
                ground: snapshot.ground.0,
                size: wire_size(snapshot.size),
                bytes: snapshot.bytes,
            }
        }
        Update::Output { offset, bytes } => ServerMessage::Output {
            offset: offset.0,
            bytes,
        },
        Update::Size { offset, size: new } => {
            *size = new;
            size_message(offset, new, change.clone())
        }
        // The next output's offset says where the gap ends.
        Update::Truncated { .. } => return None,
        Update::Exit(exit) => ServerMessage::Exit(wire_exit(exit)),
    })
}

fn size_message(offset: Offset, size: Size, claim: ClaimChange) -> ServerMessage {
    ServerMessage::Size {
        offset: offset.0,
        size: wire_size(size),
        claim,
    }
}

/// RFC 6455 section 7.4.1: the purpose is fulfilled.
const NORMAL: u16 = 1000;
