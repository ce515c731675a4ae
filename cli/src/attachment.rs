//! The client's end of the attach protocol.

mod link;
mod unconfirmed;

use std::time::Duration;

use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use protocol::attach::{
    CLOSE_GONE, CLOSE_NOT_PERMITTED, CLOSE_RESTARTING, CLOSE_REVOKED, CLOSE_TOO_MANY, ClientMessage, LOST,
    Mode, ServerMessage, UNREADABLE, UNWRITTEN,
};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

pub(crate) use self::link::{Event, Link};
use crate::{client::Client, failure::Failure, way::WebSocket};

/// Where an attachment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// With the screen as it is.
    Screen,
    /// With the output from its first byte.
    Output,
    /// With the output from this offset: the same terminal was there before.
    Offset(u64),
}

/// What comes from the session.
#[derive(Debug)]
pub(crate) struct Incoming(SplitStream<WebSocket>);

/// What goes to the session.
#[derive(Debug)]
pub(crate) struct Outgoing(SplitSink<WebSocket, Message>);

/// Attaches to the session with this id, once: who follows it over several connections goes by a [`Link`].
///
/// # Errors
/// What kept the connection from being made, or the daemon's refusal.
pub(crate) async fn attach(
    client: &Client,
    session: &str,
    mode: Mode,
    begin: Begin,
) -> Result<(Outgoing, Incoming), Failure> {
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
) -> Result<(Outgoing, Incoming), Failure> {
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
    pub(crate) async fn next(&mut self) -> Result<ServerMessage, Failure> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Binary(bytes))) => {
                    return ServerMessage::decode(&bytes).map_err(|error| {
                        let hint = "daemon and command are of different versions: restart the daemon";
                        Failure::failed(
                            "unknown_message",
                            format!("the daemon's message is not understood: {error}"),
                            hint,
                        )
                    });
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
    pub(crate) async fn send(&mut self, message: &ClientMessage) -> Result<(), Failure> {
        self.0
            .send(Message::Binary(message.encode().into()))
            .await
            .map_err(|_| closed(None))
    }

    /// Says that nothing more is wanted.
    pub(crate) async fn close(&mut self) {
        // Who is gone already needs no goodbye, and who is stuck gets none.
        tokio::time::timeout(GOODBYE, self.0.close()).await.ok();
    }
}

/// What the end of an attachment means.
fn closed(frame: Option<&CloseFrame>) -> Failure {
    match frame.map(|frame| u16::from(frame.code)) {
        Some(CLOSE_REVOKED) => Failure::rejected_token(),
        Some(CLOSE_NOT_PERMITTED) if frame.is_some_and(|frame| frame.reason.as_str() == UNWRITTEN) => {
            Failure::failed(
                "store_failed",
                "the daemon cannot write its audit trail, so it lets nobody into a session",
                "its disk is full or read-only: make room there; `transom screen` and `transom logs` show the session meanwhile",
            )
        }
        Some(CLOSE_NOT_PERMITTED) => Failure::answered(protocol::Problem::new(
            403,
            "not_permitted",
            "this attachment is not permitted any more",
            "ask the owner of the daemon what you may do",
        )),
        Some(CLOSE_GONE) if frame.is_some_and(|frame| frame.reason.as_str() == LOST) => Failure::failed(
            "session_lost",
            "the session is lost: nobody knows how its program ended",
            "`transom logs` and `transom screen` show what is kept of it",
        ),
        Some(CLOSE_GONE) => Failure::failed(
            "session_gone",
            "the session does not exist any more",
            "`transom ls` lists what does",
        ),
        // It was tried long enough.
        Some(CLOSE_RESTARTING) if frame.is_some_and(|frame| frame.reason.as_str() == UNREADABLE) => {
            Failure::failed(
                "unreadable",
                "the daemon cannot read the session's output from its disk",
                "see the daemon's log; what is kept stays, and comes once the disk gives it",
            )
        }
        // It would say the same each time: whoever attaches again attaches for ever.
        Some(NORMAL) => Failure::failed(
            "session_ended",
            "the daemon ended this attachment: nothing more comes",
            "`transom ls` shows how the session stands",
        ),
        Some(CLOSE_TOO_MANY) => Failure::failed(
            "too_many_connections",
            "the daemon takes no more connections",
            "detach elsewhere, then try again",
        ),
        Some(_) => Failure::lost("the daemon ended while this was attached to it"),
        None => Failure::lost("the connection to the daemon broke off"),
    }
}

/// RFC 6455 section 7.4.1: the purpose is fulfilled.
const NORMAL: u16 = 1000;
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(200);
