//! Following a session over a WebSocket (sessions.md 4).

mod incoming;
mod input_tally;
mod outgoing;

use axum::extract::ws::WebSocket;
use futures_util::StreamExt;
use pairing::{ResourceId, View, Write};
use protocol::attach::{Hello, Mode};
use serde::Deserialize;
use server::{
    Connection, Upgraded,
    websocket::{self, close},
};
use terminal::{Attachment, Offset, Start, Writer};

use self::{incoming::Incoming, input_tally::InputTally, outgoing::Outgoing};
use crate::{
    actor,
    app::App,
    sessions::{Claimant, Handle, Presence, SessionError},
};

/// The query of an attach.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachQuery {
    /// What the attachment may do; to look where nothing is said.
    #[serde(default)]
    mode: Mode,
    /// An offset, or `screen`, which is also what is meant where nothing is said.
    #[serde(default)]
    from: From,
}

/// Where to begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum From {
    #[default]
    Screen,
    Offset(u64),
}

impl TryFrom<String> for From {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "screen" => Ok(Self::Screen),
            number => number
                .parse()
                .map(Self::Offset)
                .map_err(|_| "`from` takes an offset or `screen`"),
        }
    }
}

/// Why an attachment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    code: u16,
    reason: &'static str,
}

/// Attaches, follows to the end, and says why it ended.
pub(crate) async fn attach(upgraded: Upgraded<View, AttachQuery, App>) {
    let Upgraded {
        app,
        permit,
        query,
        mut socket,
        connection,
        is_browser,
    } = upgraded;
    let wish = Wish {
        app: &app,
        permit: &permit,
        query: &query,
        connection: &connection,
        is_browser,
    };
    match wish.begin().await {
        Ok(attached) => attached.follow(socket, &connection).await,
        Err(end) => websocket::close(&mut socket, end.code, end.reason).await,
    }
}

struct Wish<'a> {
    app: &'a App,
    permit: &'a pairing::Permit<View>,
    query: &'a AttachQuery,
    connection: &'a Connection,
    is_browser: bool,
}

impl Wish<'_> {
    /// The audit row is committed before anything of the session is shown.
    async fn begin(&self) -> Result<Attached, End> {
        let resource = self.permit.resource().ok_or(GONE)?;
        let handle = self.app.sessions.find(resource.as_str()).map_err(end_of)?;
        let writes = self.query.mode == Mode::Write;
        let writer = if writes {
            Some(self.writer(&handle, resource)?)
        } else {
            None
        };
        let principal = self.permit.principal();
        let row = actor::row(principal, self.connection.peer(), "attached", resource);
        let mode = if writes { "write" } else { "view" };
        handle.audit(row.detail(mode)).await.map_err(end_of)?;
        let attachment = handle
            .attach(self.permit, mode_of(self.query.mode), self.start())
            .map_err(end_of)?;
        let presence = handle.enter(self.permit, writes).map_err(end_of)?;
        let session = handle.show(self.permit).map_err(end_of)?;
        let config = self.app.access.config();
        let hello = Hello {
            session: session.id,
            name: session.name,
            size: session.size,
            mode: self.query.mode,
            offset: session.end,
            instance: self.app.access.instance().to_owned(),
            life: config.life.clone(),
            viewers: presence.counts().viewers,
            writers: presence.counts().writers,
            input_applied: None,
        };
        let tally = InputTally::new(handle.clone(), principal.clone(), self.connection.peer().clone());
        Ok(Attached {
            handle,
            attachment,
            hello,
            writer,
            tally,
            presence,
        })
    }

    /// A browser writes without taking part in the claim: its size is the person's choice, and comes with a later message.
    fn writer(&self, handle: &Handle, resource: &ResourceId) -> Result<(Writer, Option<Claimant>), End> {
        let write = self
            .permit
            .authenticated()
            .permit::<Write>(Some(resource.clone()))
            .map_err(|_| MAY_NOT_TYPE)?;
        let claimant = if self.is_browser {
            None
        } else {
            Some(handle.claimant(&write).map_err(end_of)?)
        };
        Ok((handle.writer(write).map_err(end_of)?, claimant))
    }

    fn start(&self) -> Start {
        match self.query.from {
            From::Screen => Start::Screen,
            From::Offset(offset) => Start::Offset(Offset(offset)),
        }
    }
}

struct Attached {
    handle: Handle,
    attachment: Attachment,
    hello: Hello,
    writer: Option<(Writer, Option<Claimant>)>,
    tally: InputTally,
    presence: Presence,
}

impl Attached {
    async fn follow(self, socket: WebSocket, connection: &Connection) {
        let Self {
            handle,
            attachment,
            hello,
            writer,
            tally,
            presence,
        } = self;
        let (mut sink, mut stream) = socket.split();
        let (writer, claimant) = writer.unzip();
        let claimant = claimant.flatten();
        let end = {
            let incoming = Incoming {
                stream: &mut stream,
                acks: attachment.acks(),
                writer: writer.as_ref(),
                claimant: claimant.as_ref(),
                tally: &tally,
                connection,
            };
            let outgoing = Outgoing {
                sink: &mut sink,
                handle: &handle,
                attachment,
                claimant: claimant.as_ref(),
            };
            tokio::select! {
                biased;
                () = connection.revoked() => REVOKED,
                () = connection.ending() => RESTARTING,
                end = incoming.run() => end,
                end = outgoing.run(hello) => end,
                () = tally.keep_written() => UNWRITTEN,
            }
        };
        if let Some(writer) = &writer {
            // What the terminal did not take yet was meant for a screen that its sender no longer sees.
            if end != LEFT {
                writer.discard();
            }
        }
        drop((claimant, presence));
        if let Ok(mut socket) = sink.reunite(stream) {
            // To who left by a close frame, it is only its answer that goes out.
            websocket::close(&mut socket, end.code, end.reason).await;
        }
        tally.detached().await;
    }
}

fn mode_of(mode: Mode) -> terminal::Mode {
    match mode {
        Mode::View => terminal::Mode::View,
        Mode::Write => terminal::Mode::Write,
        Mode::Lossless => terminal::Mode::Lossless,
    }
}

fn end_of(error: SessionError) -> End {
    match error {
        SessionError::StoreFailed => UNWRITTEN,
        _ => GONE,
    }
}

const LEFT: End = End {
    code: 1000,
    reason: "left",
};
const REVOKED: End = End {
    code: close::UNAUTHENTICATED,
    reason: "revoked",
};
const RESTARTING: End = End {
    code: close::RESTARTING,
    reason: "the daemon ends",
};
const GONE: End = End {
    code: close::GONE,
    reason: "there is no such session",
};
const MAY_NOT_TYPE: End = End {
    code: close::NOT_PERMITTED,
    reason: "this principal may look, not type",
};
const UNWRITTEN: End = End {
    code: close::NOT_PERMITTED,
    reason: "the audit trail cannot be written",
};
const MALFORMED: End = End {
    code: 1002,
    reason: "a message is not of the attach protocol",
};

#[cfg(test)]
mod tests {
    use super::From;

    #[test]
    fn an_attach_begins_at_an_offset_or_with_the_screen() {
        assert_eq!(From::try_from("screen".to_owned()), Ok(From::Screen));
        assert_eq!(From::try_from("17".to_owned()), Ok(From::Offset(17)));
        assert!(From::try_from("-1".to_owned()).is_err());
    }
}
