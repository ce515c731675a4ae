//! A client of tailscaled's LocalAPI: HTTP/1.1 over its Unix socket, one connection for each question.
//!
//! Source of paths, parameters and fields: the packages `client/local`, `ipn/ipnstate` and `client/tailscale/apitype` of
//! Tailscale. Every answer is bounded, in time and in bytes.

mod answers;

use std::{
    future::Future,
    io,
    net::IpAddr,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use axum::body::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use pairing::TailnetIdentity;
use serde_json::error::Category;
use tokio::{net::UnixStream, task::JoinSet, time::timeout};

pub(super) use self::answers::name;
pub(crate) use self::answers::{ListedNode, OwnNode, Phase};
use self::answers::{Others, Status, WhoIs};

/// Where a machine's tailscaled is asked.
#[derive(Clone, Debug)]
pub(crate) struct LocalApi {
    socket: PathBuf,
    /// How long it may take to say what it knows by itself.
    quick: Duration,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocalApiError {
    /// Nobody listens at the socket.
    #[error("tailscaled cannot be reached at its socket: {0}")]
    Unreachable(io::Error),
    /// It was reached, and said nothing in time.
    #[error("tailscaled does not answer")]
    TimedOut,
    /// It does not let this user ask that.
    #[error("tailscaled refuses to say: {0}")]
    Denied(String),
    /// It could not do it.
    #[error("tailscaled says {status}: {text}")]
    Failed {
        /// The status of its answer.
        status: StatusCode,
        /// Its words.
        text: String,
    },
    /// It broke off, or said what cannot be understood.
    #[error("tailscaled's answer cannot be understood: {0}")]
    Malformed(String),
}

impl LocalApi {
    /// Asks at a socket.
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket, quick: QUICK }
    }

    /// Where it asks.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// What this machine's node is, and whether it runs.
    pub(crate) async fn status(&self) -> Result<(Phase, Option<OwnNode>), LocalApiError> {
        let body = self.ask("status?peers=false", self.quick).await?;
        Ok(parse::<Status>(&body)?.understood())
    }

    /// The other nodes of the tailnet.
    pub(crate) async fn others(&self) -> Result<Vec<ListedNode>, LocalApiError> {
        let body = self.ask("status", self.quick).await?;
        Ok(parse::<Others>(&body)?.understood())
    }

    /// Who is behind an address; none where the tailnet has nobody there.
    pub(crate) async fn who_is(&self, address: IpAddr) -> Result<Option<TailnetIdentity>, LocalApiError> {
        // A colon of version 6 may stand in a query as it is (RFC 3986 section 3.4).
        match self.ask(&format!("whois?addr={address}"), self.quick).await {
            Ok(body) => Ok(parse::<WhoIs>(&body)?.understood()),
            Err(LocalApiError::Failed {
                status: StatusCode::NOT_FOUND,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The private key and the certificates for a name of this node, in PEM, the key first. It may have to be got from the
    /// authority before, which takes up to a minute.
    pub(crate) async fn certificate(&self, name: &str) -> Result<Bytes, LocalApiError> {
        self.ask(&format!("cert/{name}?type=pair"), SLOW).await
    }

    /// Tells of each change of the node or its tailnet from now on.
    pub(crate) async fn changes(&self) -> Result<Changes, LocalApiError> {
        let request = self.request(&format!("watch-ipn-bus?mask={BUS}"))?;
        let (mut sender, connection) = self.connect().await?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            // Its end is seen in the body.
            connection.await.ok();
        });
        let response = within(self.quick, async {
            sender.send_request(request).await.map_err(broken)
        })
        .await?;
        match response.status() {
            StatusCode::OK => Ok(Changes {
                body: response.into_body(),
                _task: task,
            }),
            _ => Err(within(self.quick, refusal(response))
                .await
                .unwrap_or_else(|error| error)),
        }
    }

    async fn ask(&self, question: &str, limit: Duration) -> Result<Bytes, LocalApiError> {
        let request = self.request(question)?;
        let answered = async {
            let (mut sender, connection) = self.connect().await?;
            let mut connection = pin!(connection);
            let mut exchange = pin!(async {
                let response = sender.send_request(request).await.map_err(broken)?;
                match response.status() {
                    StatusCode::OK => whole(response).await,
                    _ => Err(refusal(response).await?),
                }
            });
            tokio::select! {
                biased;
                answer = &mut exchange => answer,
                // What came before its end is read still.
                _ = &mut connection => exchange.await,
            }
        };
        within(limit, answered).await
    }

    fn request(&self, question: &str) -> Result<Request<Empty<Bytes>>, LocalApiError> {
        Request::get(format!("/localapi/v0/{question}"))
            .header(header::HOST, HOST)
            .body(Empty::new())
            .map_err(|error| LocalApiError::Malformed(error.to_string()))
    }

    async fn connect(&self) -> Result<Connection, LocalApiError> {
        let connected = async {
            let stream = UnixStream::connect(&self.socket).await;
            let stream = stream.map_err(LocalApiError::Unreachable)?;
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)
        };
        within(self.quick, connected).await
    }
}

type Connection = (
    http1::SendRequest<Empty<Bytes>>,
    http1::Connection<TokioIo<UnixStream>, Empty<Bytes>>,
);

/// The stream of what changes. What it says is not read: whoever hears of a change asks what holds now.
pub(crate) struct Changes {
    body: Incoming,
    /// Ends with this.
    _task: JoinSet<()>,
}

impl Changes {
    /// Completes at the next change.
    ///
    /// # Errors
    /// When the stream has ended: tailscaled has.
    pub(crate) async fn next(&mut self) -> Result<(), LocalApiError> {
        loop {
            let frame = self.body.frame().await;
            let frame =
                frame.ok_or_else(|| LocalApiError::Unreachable(io::ErrorKind::UnexpectedEof.into()))?;
            let frame = frame.map_err(broken)?;
            // One change is a line, however long.
            if frame.data_ref().is_some_and(|data| data.contains(&b'\n')) {
                return Ok(());
            }
        }
    }
}

async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, LocalApiError>>,
) -> Result<T, LocalApiError> {
    timeout(limit, answer)
        .await
        .unwrap_or(Err(LocalApiError::TimedOut))
}

async fn whole(response: Response<Incoming>) -> Result<Bytes, LocalApiError> {
    let body = Limited::new(response.into_body(), MOST).collect().await;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => LocalApiError::Malformed(format!("it is longer than {MOST} bytes")),
        false => {
            tracing::debug!(%error, "an answer of tailscaled's");
            LocalApiError::Malformed("it broke off".to_owned())
        }
    })?;
    Ok(body.to_bytes())
}

/// What an answer that is none says.
async fn refusal(response: Response<Incoming>) -> Result<LocalApiError, LocalApiError> {
    let status = response.status();
    let body = whole(response).await?;
    let text = String::from_utf8_lossy(&body);
    let text = text
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(SHOWN)
        .collect();
    Ok(match status {
        StatusCode::FORBIDDEN => LocalApiError::Denied(text),
        status => LocalApiError::Failed { status, text },
    })
}

fn parse<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, LocalApiError> {
    serde_json::from_slice(body).map_err(|error| {
        tracing::debug!(%error, "an answer of tailscaled's");
        let why = match error.classify() {
            Category::Data => "it lacks something, or says it otherwise than the versions that are known",
            Category::Syntax | Category::Eof | Category::Io => "it is no JSON",
        };
        LocalApiError::Malformed(why.to_owned())
    })
}

fn broken(error: hyper::Error) -> LocalApiError {
    tracing::debug!(%error, "a connection to tailscaled");
    let why = match error.is_parse() {
        true => "it is no HTTP",
        false => "it broke off",
    };
    LocalApiError::Malformed(why.to_owned())
}

/// The one name that it answers to.
const HOST: &str = "local-tailscaled.sock";

/// Of its bus: the state at first (2), without keys (16), and not more often than every few seconds (256).
const BUS: u64 = 2 | 16 | 256;

/// For what it knows by itself: well within the time of a TLS handshake, which waits for it.
const QUICK: Duration = Duration::from_secs(2);

/// For what it may have to ask an authority.
const SLOW: Duration = Duration::from_secs(90);

/// Bytes of an answer: a node's own capabilities are some KiB.
const MOST: usize = 1024 * 1024;

/// Characters of its words that are passed on.
const SHOWN: usize = 200;

#[cfg(test)]
mod tests;
