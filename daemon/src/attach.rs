//! Following a session over a WebSocket (`docs/attach.md`).

mod client;
mod incoming;
mod input_tally;
mod outgoing;
mod paste;
mod rights;
mod waiting;

use axum::extract::ws::WebSocket;
use futures_util::StreamExt;
use pairing::{Principal, ResourceId, View, Write};
use protocol::attach::{Hello, Mode};
use serde::Deserialize;
use server::{
    Connection, Operation, Upgraded,
    audit::AuditRow,
    store::StoreError,
    websocket::{self, close},
};
use terminal::{Attachment, ClientKey, Offset, Start, Writer};
use tokio::sync::watch;

use self::{
    client::ClientId,
    incoming::Incoming,
    input_tally::InputTally,
    outgoing::{Applied, News, Outgoing, Sight},
};
use crate::{
    actor,
    app::App,
    routes::SESSION,
    sessions::{Claimant, Handle, NewClaimant, Presence, SessionError},
};

/// The query of an attach.
#[derive(Debug, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(protocol::schema::JsonSchema),
    schemars(crate = "protocol::schema::schemars")
)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachQuery {
    /// What the attachment may do; to look where nothing is said.
    #[serde(default)]
    mode: Mode,
    /// An offset, or `screen`, which is also what is meant where nothing is said.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "String", regex(pattern = "^(screen|[0-9]+)$"))
    )]
    from: From,
    /// The id that the client chose for itself, over all its connections; without it, its input is not known again.
    #[serde(default)]
    #[cfg_attr(
        feature = "openapi",
        schemars(with = "String", regex(pattern = "^[0-9a-f]{16,64}$"))
    )]
    client: Option<ClientId>,
}

#[cfg(feature = "openapi")]
impl protocol::schema::Described for AttachQuery {
    fn example() -> serde_json::Value {
        let query = serde_json::json!({ "mode": "view", "from": "screen", "client": "0123456789abcdef" });
        protocol::schema::shown::<Self>(query)
    }
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
        Ok(attached) => attached.follow(socket, &wish).await,
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
        let principal = self.permit.principal();
        let typist = if self.query.mode == Mode::Write {
            match self.typist(&handle, resource) {
                Ok(typist) => Some(typist),
                Err(end) => {
                    self.refused(resource, end).await;
                    return Err(end);
                }
            }
        } else {
            None
        };
        let row = self.row(resource, typist.is_some());
        self.append(row).await.map_err(|_| UNWRITTEN)?;
        let (mode, start, blank) = self.way(&handle);
        let attachment = handle.attach(self.permit, mode, start).map_err(end_of)?;
        let writes = typist.is_some().then(|| actor::in_words(principal, self.app));
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
            input_applied: typist.as_ref().and_then(|typist| typist.applied),
        };
        let tally = InputTally::new(
            self.app,
            handle.clone(),
            principal.clone(),
            self.connection.peer().clone(),
        );
        Ok(Attached {
            handle,
            attachment,
            sight: self.sight(blank),
            hello,
            typist,
            tally,
            presence,
        })
    }

    fn row(&self, resource: &ResourceId, writes: bool) -> AuditRow {
        let row = actor::row(
            self.permit.principal(),
            self.connection.peer(),
            "attached",
            resource,
        );
        row.detail(if writes { "write" } else { "view" })
    }

    async fn append(&self, row: AuditRow) -> Result<(), StoreError> {
        let (principal, peer) = (self.permit.principal(), self.connection.peer());
        self.app.access.append_audit(principal, peer, row).await
    }

    /// Who may only look and asked to type stands in the trail.
    async fn refused(&self, resource: &ResourceId, end: End) {
        if end == MAY_NOT_TYPE
            && self
                .append(self.row(resource, true).outcome("not_permitted"))
                .await
                .is_err()
        {
            tracing::warn!(session = %resource, "a refused attach could not be written to the audit trail");
        }
    }

    /// A page writes without wanting the claim, until its person says so: then it has to be known again, too.
    fn typist(&self, handle: &Handle, resource: &ResourceId) -> Result<Typist, End> {
        let authenticated = self.permit.authenticated();
        let write = authenticated
            .permit::<Write>(Some(resource.clone()))
            .map_err(|_| MAY_NOT_TYPE)?;
        let client = self.query.client.as_ref();
        let client = client.map(|client| client.key(self.permit.principal()));
        let new = NewClaimant {
            by: actor::in_words(self.permit.principal(), self.app),
            is_terminal: !self.is_browser,
            client,
        };
        let claimant = handle.claimant(&write, new).map_err(end_of)?;
        let (writer, applied) = match client {
            Some(client) => handle.writer_of(write, client),
            None => handle.writer(write).map(|writer| (writer, None)),
        }
        .map_err(end_of)?;
        Ok(Typist {
            writer,
            claimant,
            client,
            applied,
        })
    }

    /// In which way and from where to follow, and whether that begins with a blank screen. Who may see the output from an
    /// offset on alone gets every byte from there: a snapshot would show what was drawn before.
    fn way(&self, handle: &Handle) -> (terminal::Mode, Start, bool) {
        let Some(since) = handle.since(self.permit) else {
            return (mode_of(self.query.mode), self.start(), false);
        };
        let known = match self.start() {
            Start::Offset(offset) if offset >= since => Some(offset),
            Start::Offset(_) | Start::Screen => None,
        };
        let start = Start::Offset(known.unwrap_or(since));
        let blank = known.is_none() && self.query.mode != Mode::Lossless;
        (terminal::Mode::Lossless, start, blank)
    }

    fn sight(&self, blank: bool) -> Sight {
        match self.permit.principal() {
            Principal::Guest(_) => Sight::Guest { blank },
            _ => Sight::Whole,
        }
    }

    fn start(&self) -> Start {
        match self.query.from {
            From::Screen => Start::Screen,
            From::Offset(offset) => Start::Offset(Offset(offset)),
        }
    }
}

/// What only who may type has.
struct Typist {
    writer: Writer,
    claimant: Claimant,
    client: Option<ClientKey>,
    /// The last input that the program got before; `None` where that is not known.
    applied: Option<u64>,
}

struct Attached {
    handle: Handle,
    attachment: Attachment,
    sight: Sight,
    hello: Hello,
    typist: Option<Typist>,
    tally: InputTally,
    presence: Presence,
}

impl Attached {
    async fn follow(self, socket: WebSocket, wish: &Wish<'_>) {
        let connection = wish.connection;
        let Self {
            handle,
            attachment,
            sight,
            hello,
            typist,
            tally,
            presence,
        } = self;
        let (mut sink, mut stream) = socket.split();
        let (may_type, pinged) = (watch::Sender::new(true), watch::Sender::new(None));
        let end = {
            let incoming = Incoming {
                stream: &mut stream,
                acks: attachment.acks(),
                handle: &handle,
                typist: typist.as_ref(),
                may_type: may_type.subscribe(),
                pinged: &pinged,
                tally: &tally,
                connection,
                is_silent: false,
            };
            let outgoing = Outgoing {
                sink: &mut sink,
                attachment,
                sight,
                typist: typist.as_ref(),
                presence: &presence,
            };
            let news = News {
                applied: Applied::new(typist.as_ref().map(|typist| typist.writer.applied())),
                pinged: pinged.subscribe(),
                may_type: may_type.subscribe(),
                presence: presence.news(),
                claim: handle.claim().watch(),
            };
            tokio::select! {
                biased;
                () = connection.revoked() => REVOKED,
                () = connection.ending() => RESTARTING,
                end = incoming.run() => end,
                end = outgoing.run(hello, news) => end,
                end = watch_rows(&tally, typist.as_ref(), &presence, &may_type) => end,
                end = rights::watch(wish, typist.as_ref(), &presence, &may_type) => end,
            }
        };
        if let Some(typist) = &typist {
            // What the terminal did not take yet was meant for a screen that its sender no longer sees.
            if end != LEFT {
                typist.writer.discard();
            }
            if let Some(client) = typist.client {
                handle.remember_input(client);
            }
        }
        drop((typist, presence));
        if let Ok(mut socket) = sink.reunite(stream) {
            // To who left by a close frame, it is only its answer that goes out.
            websocket::close(&mut socket, end.code, end.reason).await;
        }
        tally.detached().await;
    }
}

/// Makes a writer a viewer once its rows of the audit trail cannot be written: then nobody could say who typed.
async fn watch_rows(
    tally: &InputTally,
    typist: Option<&Typist>,
    presence: &Presence,
    may_type: &watch::Sender<bool>,
) -> End {
    tally.keep_written().await;
    tracing::warn!("a writer became a viewer: its input cannot be written to the audit trail");
    rights::make_viewer(typist, presence, may_type);
    std::future::pending().await
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
        SessionError::OutOfReach => OUT_OF_REACH,
        SessionError::Stored(_) => NOT_AT_HAND,
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
/// As for a restart: who waits and asks again gets it.
const OUT_OF_REACH: End = End {
    code: close::RESTARTING,
    reason: "the daemon has not taken the session over yet",
};
/// The same.
const NOT_AT_HAND: End = End {
    code: close::RESTARTING,
    reason: "what is kept of the session cannot be had now",
};
const GONE: End = End {
    code: close::GONE,
    reason: "there is no such session",
};
const LOST: End = End {
    code: close::GONE,
    reason: protocol::attach::LOST,
};
/// Who attaches again where this ended misses nothing, once the disk gives it.
const UNREADABLE: End = End {
    code: close::RESTARTING,
    reason: protocol::attach::UNREADABLE,
};
const MAY_NOT_TYPE: End = End {
    code: close::NOT_PERMITTED,
    reason: "this principal may look, not type",
};
const UNWRITTEN: End = End {
    code: close::NOT_PERMITTED,
    reason: protocol::attach::UNWRITTEN,
};
const CHANGED: End = End {
    code: GOING_AWAY,
    reason: "what this device may do has changed",
};
const MAY_NOT_LOOK: End = End {
    code: close::NOT_PERMITTED,
    reason: "this principal may not look any more",
};
const MALFORMED: End = End {
    code: 1002,
    reason: "a message is not of the attach protocol",
};

/// RFC 6455 section 7.4.1: to be attached anew.
const GOING_AWAY: u16 = 1001;

/// What the description of the API says of it.
pub(crate) const ATTACH: Operation = Operation::new("attach", "Follows a session over a WebSocket, and types into it.")
    .explained(
        "The messages are those of `docs/attach.md`. A page, which cannot send `Authorization` here, sends its access token as \
         the first frame, a text frame. What fails after the switch is told by a close code.",
    )
    .about(SESSION)
    .asks::<AttachQuery>();

#[cfg(test)]
mod tests {
    use server::websocket::close;

    use super::{From, SessionError, end_of};

    #[test]
    fn a_session_that_cannot_be_had_now_is_not_gone() {
        let error = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        assert_eq!(end_of(SessionError::Stored(error)).code, close::RESTARTING);
        assert_eq!(end_of(SessionError::NotFound).code, close::GONE);
    }

    #[test]
    fn an_attach_begins_at_an_offset_or_with_the_screen() {
        assert_eq!(From::try_from("screen".to_owned()), Ok(From::Screen));
        assert_eq!(From::try_from("17".to_owned()), Ok(From::Offset(17)));
        assert!(From::try_from("-1".to_owned()).is_err());
    }
}
