//! The client's end of the attach protocol.

mod link;
mod unconfirmed;

use std::{fmt, time::Duration};

use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use protocol::attach::{
    CLOSE_GONE, CLOSE_NOT_PERMITTED, CLOSE_RESTARTING, CLOSE_REVOKED, CLOSE_TOO_MANY, ClientMessage, LOST,
    Mode, ServerMessage, UNREADABLE, UNWRITTEN,
};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

pub use self::link::{Attachment, Event};
use crate::{
    error::{Error, Unknown},
    requests::Client,
    way::WebSocket,
};

/// Where an attachment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the screen as it is.
    Screen,
    /// With the output from its first byte.
    Output,
    /// With the output from this offset: the same terminal was there before.
    Offset(u64),
}

/// What comes from the session.
#[derive(Debug)]
pub struct Incoming(SplitStream<WebSocket>);

/// What goes to the session.
#[derive(Debug)]
pub struct Outgoing(SplitSink<WebSocket, Message>);

/// Attaches to the session with this id, once: who follows it over several connections goes by an [`Attachment`].
///
/// # Errors
/// What kept the connection from being made, or the daemon's refusal.
pub async fn attach(
    client: &Client,
    session: &str,
    mode: Mode,
    begin: Begin,
) -> Result<(Outgoing, Incoming), Error> {
    attach_as(client, session, mode, begin, None).await
}

/// The same, as the client that chose the other id.
///
/// # Errors
/// What kept the connection from being made, or the daemon's refusal.
async fn attach_as(
    client: &Client,
    session: &str,
    mode: Mode,
    begin: Begin,
    id: Option<&str>,
) -> Result<(Outgoing, Incoming), Error> {
    let mode = match mode {
        Mode::View => "view",
        Mode::Write => "write",
        Mode::Lossless => "lossless",
    };
    let from = match begin {
        Begin::Screen => "screen".to_owned(),
        Begin::Output => "0".to_owned(),
        Begin::Offset(offset) => offset.to_string(),
    };
    let id = id.map(|id| format!("&client={id}")).unwrap_or_default();
    let path = format!("/sessions/{session}/attach?mode={mode}&from={from}{id}");
    let (outgoing, incoming) = client.upgrade(&path).await?.split();
    Ok((Outgoing(outgoing), Incoming(incoming)))
}

impl Incoming {
    /// The next message.
    ///
    /// # Errors
    /// Why there is none any more.
    pub async fn next(&mut self) -> Result<ServerMessage, Error> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Binary(bytes))) => {
                    return ServerMessage::decode(&bytes)
                        .map_err(|error| Error::NotUnderstood(Unknown::Message, error.to_string()));
                }
                Some(Ok(Message::Close(frame))) => return Err(closed(frame.as_ref())),
                // Text has no meaning here; pings are answered below this layer.
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(closed(None)),
            }
        }
    }
}

impl Outgoing {
    /// Sends a message.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn send(&mut self, message: &ClientMessage) -> Result<(), Error> {
        self.0
            .send(Message::Binary(message.encode().into()))
            .await
            .map_err(|_| closed(None))
    }

    /// Says that nothing more is wanted.
    pub async fn close(&mut self) {
        // Who is gone already needs no goodbye, and who is stuck gets none.
        tokio::time::timeout(GOODBYE, self.0.close()).await.ok();
    }
}

/// Why a daemon ended an attachment for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Its audit trail cannot be written.
    NotWritten,
    /// Who was attached may not be any more.
    NotPermitted,
    /// Nobody knows how the session's program ended.
    SessionLost,
    /// The session is there no more.
    SessionGone,
    /// The session's output cannot be read from the disk.
    Unreadable,
    /// Nothing more comes.
    Finished,
    /// It takes no more connections; another try may be taken.
    TooManyConnections,
}

impl Ending {
    /// The stable name of it, `snake_case`.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotWritten => "store_failed",
            Self::NotPermitted => "not_permitted",
            Self::SessionLost => "session_lost",
            Self::SessionGone => "session_gone",
            Self::Unreadable => "unreadable",
            Self::Finished => "session_ended",
            Self::TooManyConnections => "too_many_connections",
        }
    }

    /// What to do now.
    pub fn hint(self) -> &'static str {
        match self {
            Self::NotWritten => {
                "its disk is full or read-only: make room there; `transom screen` and `transom logs` show the session meanwhile"
            }
            Self::NotPermitted => "ask the owner of the daemon what you may do",
            Self::SessionLost => "`transom logs` and `transom screen` show what is kept of it",
            Self::SessionGone => "`transom ls` lists what does",
            Self::Unreadable => "see the daemon's log; what is kept stays, and comes once the disk gives it",
            Self::Finished => "`transom ls` shows how the session stands",
            Self::TooManyConnections => "detach elsewhere, then try again",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotWritten => "the daemon cannot write its audit trail, so it lets nobody into a session",
            Self::NotPermitted => "this attachment is not permitted any more",
            Self::SessionLost => "the session is lost: nobody knows how its program ended",
            Self::SessionGone => "the session does not exist any more",
            Self::Unreadable => "the daemon cannot read the session's output from its disk",
            Self::Finished => "the daemon ended this attachment: nothing more comes",
            Self::TooManyConnections => "the daemon takes no more connections",
        })
    }
}

/// What the end of an attachment means.
fn closed(frame: Option<&CloseFrame>) -> Error {
    let Some(frame) = frame else {
        return Error::lost("the connection to the daemon broke off");
    };
    let reason = frame.reason.as_str();
    Error::Ended(match u16::from(frame.code) {
        CLOSE_REVOKED => return Error::RejectedToken,
        CLOSE_NOT_PERMITTED if reason == UNWRITTEN => Ending::NotWritten,
        CLOSE_NOT_PERMITTED => Ending::NotPermitted,
        CLOSE_GONE if reason == LOST => Ending::SessionLost,
        CLOSE_GONE => Ending::SessionGone,
        // It was tried long enough.
        CLOSE_RESTARTING if reason == UNREADABLE => Ending::Unreadable,
        // It would say the same each time: whoever attaches again attaches for ever.
        NORMAL => Ending::Finished,
        CLOSE_TOO_MANY => Ending::TooManyConnections,
        _ => return Error::lost("the daemon ended while this was attached to it"),
    })
}

/// RFC 6455 section 7.4.1: the purpose is fulfilled.
const NORMAL: u16 = 1000;
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(200);
