//! What a client is sent.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::{SinkExt, stream::SplitSink};
use protocol::attach::{self, ClaimChange, Hello, Mode, ServerMessage};
use terminal::{Attachment, Offset, Size, Update};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};

use super::{End, LEFT, LOST, Typist, UNREADABLE};
use crate::sessions::{Holder, Presence, wire_exit, wire_size};

pub(super) struct Outgoing<'a> {
    pub(super) sink: &'a mut SplitSink<WebSocket, Message>,
    pub(super) attachment: Attachment,
    pub(super) sight: Sight,
    pub(super) typist: Option<&'a Typist>,
    pub(super) presence: &'a Presence,
}

/// How much a client is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// All of it.
    Whole,
    /// The output alone: of who else is there, only how many.
    Guest {
        /// Whether it begins with a blank screen, and goes on with one where output is lost: what is drawn of before is not
        /// for it.
        blank: bool,
    },
}

/// What a client is told besides the output; of each only the newest.
pub(super) struct News {
    pub(super) applied: Applied,
    /// The last ping.
    pub(super) pinged: watch::Receiver<Option<u64>>,
    pub(super) may_type: watch::Receiver<bool>,
    pub(super) presence: watch::Receiver<()>,
    pub(super) claim: watch::Receiver<Holder>,
}

enum Step {
    Item(Item),
    Update(Option<Update>),
}

enum Item {
    Applied(u64),
    Pong(u64),
    OnlyLooks,
    Presence,
    Claim,
}

impl News {
    /// Hello has the numbers of who is there; the names, and who holds the size, are still to be told.
    fn begin(&mut self) {
        self.presence.mark_changed();
        if self.claim.borrow_and_update().by.is_some() {
            self.claim.mark_changed();
        }
    }

    /// The next thing to tell. Cancel safe.
    async fn next(&mut self) -> Item {
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.may_type.changed() => return Item::OnlyLooks,
                Ok(()) = self.pinged.changed() => {
                    if let Some(number) = *self.pinged.borrow_and_update() {
                        return Item::Pong(number);
                    }
                }
                sequence = self.applied.overdue() => return Item::Applied(sequence),
                Ok(()) = self.claim.changed() => return Item::Claim,
                Ok(()) = self.presence.changed() => return Item::Presence,
                else => std::future::pending().await,
            }
        }
    }
}

/// What the terminal took of a client's input, told with its echo, which mostly comes at once: one message and one wake-up
/// of the client less.
pub(super) struct Applied {
    /// The number of the last input; none of who does not type.
    newest: Option<watch::Receiver<u64>>,
    /// When it is told at the latest, if it is to be.
    due: Option<Instant>,
}

impl Applied {
    pub(super) fn new(newest: Option<watch::Receiver<u64>>) -> Self {
        Self { newest, due: None }
    }

    /// The newest, once it has waited for its echo long enough. Cancel safe.
    async fn overdue(&mut self) -> u64 {
        let Some(newest) = &mut self.newest else {
            return std::future::pending().await;
        };
        if self.due.is_none() && newest.changed().await.is_err() {
            return std::future::pending().await;
        }
        let due = *self.due.get_or_insert_with(|| Instant::now() + ECHO);
        sleep_until(due).await;
        self.due = None;
        *newest.borrow_and_update()
    }

    /// The newest, if it is not told yet.
    fn take(&mut self) -> Option<u64> {
        let newest = self.newest.as_mut()?;
        // One that could not be looked at says nothing new any more.
        let is_new = self.due.take().is_some() | newest.has_changed().unwrap_or(false);
        is_new.then(|| *newest.borrow_and_update())
    }
}

impl Outgoing<'_> {
    /// Sends what the session says until its program has ended or the client is gone.
    pub(super) async fn run(mut self, hello: Hello, mut news: News) -> End {
        let mut size = Size::new(hello.size.columns, hello.size.rows);
        news.begin();
        let mut sent = self.send(&ServerMessage::Hello(hello.clone())).await;
        if sent && self.sight == (Sight::Guest { blank: true }) {
            sent = self.send(&blank(self.attachment.offset(), size)).await;
        }
        let (mut is_begun, mut has_exited) = (false, false);
        while sent {
            // The first screen comes before everything else, if there is one.
            let step = if is_begun {
                tokio::select! {
                    biased;
                    item = news.next() => Step::Item(item),
                    update = self.attachment.next() => Step::Update(update),
                }
            } else {
                tokio::select! {
                    biased;
                    update = self.attachment.next() => Step::Update(update),
                    item = news.next() => Step::Item(item),
                }
            };
            is_begun = true;
            let update = match step {
                Step::Item(item) => {
                    let message = self.told(&item, &hello, &mut news, size);
                    sent = self.send(&message).await;
                    continue;
                }
                Step::Update(Some(Update::Unreadable)) => return UNREADABLE,
                Step::Update(Some(update)) => update,
                // Nobody knows how its program ended.
                Step::Update(None) if !has_exited => return LOST,
                Step::Update(None) => {
                    self.close().await;
                    // A stream that is closed while something of its other end is unread is reset, and what was sent last is
                    // lost where it has to be sent again. The other end answers, which ends this.
                    sleep(FAREWELL).await;
                    break;
                }
            };
            has_exited |= matches!(update, Update::Exit(_));
            let applied = news.applied.take();
            let applied = applied.map(|sequence| ServerMessage::InputApplied { sequence });
            // A person waits for the echo; that the input was taken says it as well. After an exit nobody reads on.
            let (first, last) = match (self.message(update, &news, &mut size), applied) {
                (Some(exit @ ServerMessage::Exit(_)), applied) => (applied, Some(exit)),
                (shown, applied) => (shown, applied),
            };
            sent = match (first, last) {
                (Some(first), Some(last)) => self.feed(&first).await && self.send(&last).await,
                (Some(only), None) | (None, Some(only)) => self.send(&only).await,
                (None, None) => continue,
            };
        }
        LEFT
    }

    fn told(&self, item: &Item, hello: &Hello, news: &mut News, size: Size) -> ServerMessage {
        match item {
            Item::Applied(sequence) => ServerMessage::InputApplied { sequence: *sequence },
            Item::Pong(number) => ServerMessage::Pong { number: *number },
            Item::OnlyLooks => ServerMessage::Hello(Hello {
                mode: Mode::View,
                size: wire_size(size),
                viewers: self.presence.counts().viewers,
                writers: self.presence.counts().writers,
                ..hello.clone()
            }),
            Item::Presence => ServerMessage::Presence(self.who()),
            Item::Claim => {
                let change = self.change(&news.claim.borrow_and_update());
                size_message(self.attachment.offset(), size, change)
            }
        }
    }

    fn message(&self, update: Update, news: &News, size: &mut Size) -> Option<ServerMessage> {
        if let Update::Size { offset, size: new } = update {
            *size = new;
            return Some(size_message(offset, new, self.change(&news.claim.borrow())));
        }
        self.message_of(update, size)
    }

    fn message_of(&self, update: Update, size: &mut Size) -> Option<ServerMessage> {
        match (update, self.sight) {
            // What is gone was drawn by somebody else's leave; what follows is drawn anew.
            (Update::Truncated { to, .. }, Sight::Guest { .. }) => Some(blank(to, *size)),
            (update, _) => message_of(update, size),
        }
    }

    fn who(&self) -> attach::Presence {
        let told = self.presence.told();
        match self.sight {
            Sight::Whole => told,
            Sight::Guest { .. } => attach::Presence {
                typing: Vec::new(),
                ..told
            },
        }
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

    /// Has a message go out with the next one.
    async fn feed(&mut self, message: &ServerMessage) -> bool {
        self.sink
            .feed(Message::Binary(message.encode().into()))
            .await
            .is_ok()
    }

    async fn send(&mut self, message: &ServerMessage) -> bool {
        self.sink
            .send(Message::Binary(message.encode().into()))
            .await
            .is_ok()
    }

    /// What the client is told of the claim: that it was taken from it, once.
    fn change(&self, holder: &Holder) -> ClaimChange {
        let (holds, was_taken) = self
            .typist
            .map_or((false, false), |typist| typist.claimant.tell(holder));
        ClaimChange {
            holder: holds,
            taken_from: was_taken,
            by: holder.by.clone().filter(|_| self.sight == Sight::Whole),
        }
    }
}

/// An empty screen, after which the output goes on from the offset.
fn blank(offset: Offset, size: Size) -> ServerMessage {
    ServerMessage::Snapshot {
        ground: offset.0,
        size: wire_size(size),
        bytes: Vec::new(),
    }
}

fn message_of(update: Update, size: &mut Size) -> Option<ServerMessage> {
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
        // Where the gap ends, also where nothing comes behind it.
        Update::Truncated { to, .. } => ServerMessage::Output {
            offset: to.0,
            bytes: Vec::new(),
        },
        Update::Size { .. } | Update::Unreadable => return None,
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

/// How long what was applied waits for the echo, which mostly comes at once: one message, one wake-up of the client less.
const ECHO: Duration = Duration::from_millis(5);
/// How long who was told the end may take to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// RFC 6455 section 7.4.1: the purpose is fulfilled.
const NORMAL: u16 = 1000;
