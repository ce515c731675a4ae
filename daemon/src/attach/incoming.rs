//! What a client sends.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use axum::extract::ws::{Message, WebSocket};
use futures_util::{StreamExt, stream::SplitStream};
use protocol::attach::ClientMessage;
use server::Connection;
use terminal::{Acks, Offset, Size};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep, timeout},
};

use super::{
    End, InputTally, LEFT, MALFORMED, Typist, paste,
    waiting::{Queue, queue, type_in},
};
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
    /// Whether it has said nothing for too long.
    pub(super) is_silent: bool,
}

impl Incoming<'_> {
    /// Takes messages until the client leaves. A program that takes no input keeps input waiting and nothing else: messages are
    /// read on, so that acknowledgements, sizes, interrupts and the client's leaving are seen, up to the second input for which
    /// there is no room.
    pub(super) async fn run(self) -> End {
        let (queue, inputs) = queue();
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

    async fn read(mut self, mut queue: Queue) -> End {
        let mut lapse = pin!(sleep(LAPSE));
        loop {
            let received = tokio::select! {
                biased;
                () = queue.room() => continue,
                received = self.receive(lapse.as_mut()) => received,
            };
            let bytes = match received {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Text(_))) => return MALFORMED,
                Some(Ok(Message::Close(_)) | Err(_)) | None => {
                    queue.push_rest();
                    return LEFT;
                }
            };
            let Ok(message) = ClientMessage::decode(&bytes) else {
                return MALFORMED;
            };
            match message {
                ClientMessage::Input { sequence, bytes } => {
                    if let Err(end) = self.take_in(sequence, bytes, &mut queue).await {
                        return end;
                    }
                }
                other => self.take(&other),
            }
        }
    }

    /// The next message. A writer that says nothing for too long has left its claim to others until it speaks again. Cancel
    /// safe.
    async fn receive(&mut self, mut lapse: Pin<&mut Sleep>) -> Option<Result<Message, axum::Error>> {
        let Some(typist) = self.typist else {
            return self.stream.next().await;
        };
        // Set anew when it has run out, not with each key, since setting a timer may wake another thread.
        let until = Instant::now() + LAPSE;
        while !self.is_silent {
            tokio::select! {
                biased;
                message = self.stream.next() => return message,
                () = lapse.as_mut() => {}
            }
            if until <= lapse.deadline() {
                self.is_silent = true;
                typist.claimant.silent(true);
            } else {
                lapse.as_mut().reset(until);
            }
        }
        let message = self.stream.next().await;
        self.is_silent = false;
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

    /// Takes input in; it ends where its sender left while there was no room for what came before, which is looked for below the
    /// stream then.
    async fn take_in(&self, sequence: u64, bytes: Vec<u8>, queue: &mut Queue) -> Result<(), End> {
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
        let input = typist.writer.take_in(sequence, bytes).map_err(|_| MALFORMED)?;
        queue.drop_discarded(&typist.writer);
        let Some(input) = input else { return Ok(()) };
        tokio::select! {
            biased;
            () = queue.push(input) => Ok(()),
            () = self.connection.left() => Err(LEFT),
        }
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

/// Time for input that its sender left behind.
const LAST_INPUT: Duration = Duration::from_secs(1);

/// A writer that says nothing for so long, not even a ping, holds no claim.
const LAPSE: Duration = Duration::from_secs(30);
