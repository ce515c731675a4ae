//! The ways to a daemon, all that requests do not see of it: its Unix socket, or TLS to a remote one.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UnixStream,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{self, handshake::client::Request},
};

use crate::{
    device::Device,
    error::{Error, Unknown},
    place::Place,
};

/// A way to one daemon.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// The Unix socket, where the kernel says who comes.
    Socket(SocketWay),
    /// TLS with a pinned key, where the credentials of a paired device say so.
    Remote(Arc<Device>),
}

/// A byte stream of either way.
pub(crate) trait Stream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Stream for T {}

/// A WebSocket of either way.
pub(crate) type WebSocket = WebSocketStream<Box<dyn Stream>>;

impl Way {
    /// Where it leads, for errors.
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::Socket(way) => &way.place,
            Self::Remote(way) => way.place(),
        }
    }

    /// A request of the API, not yet sent.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        match self {
            Self::Socket(way) => way.http.request(method, format!("{HOST}{}{path}", protocol::API)),
            Self::Remote(way) => way.request(method, path),
        }
    }

    /// Sends a request, and gives back its answer once the head of that is there and says that it was done.
    ///
    /// # Errors
    /// Why there is no answer, or the daemon's refusal.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        match self {
            Self::Socket(way) => {
                let sent = request.send().await;
                done(sent.map_err(|error| self.broken(&error))?, &way.place).await
            }
            Self::Remote(way) => way.send(request).await,
        }
    }

    /// Opens a WebSocket of the API.
    ///
    /// # Errors
    /// What kept the connection from being made, or the daemon's refusal.
    pub(crate) async fn upgrade(&self, path: &str) -> Result<WebSocket, Error> {
        match self {
            Self::Socket(way) => {
                let stream = UnixStream::connect(&way.socket)
                    .await
                    .map_err(|error| Error::connecting(&way.place, &error))?;
                let request = Request::builder()
                    .uri(format!("ws://localhost{}{path}", protocol::API))
                    .header("host", "localhost");
                upgrade(Box::new(stream), request, &way.place).await
            }
            Self::Remote(way) => way.upgrade(path).await,
        }
    }

    /// What kept an answer from coming, or from coming whole.
    pub(crate) fn broken(&self, error: &reqwest::Error) -> Error {
        broken(self.place(), error)
    }
}

/// The way over a Unix socket.
#[derive(Clone, Debug)]
pub(crate) struct SocketWay {
    socket: PathBuf,
    place: Place,
    http: reqwest::Client,
}

impl SocketWay {
    /// The way to the daemon behind this socket; nothing is connected yet.
    pub(crate) fn to(socket: &Path) -> Result<Self, Error> {
        install_crypto();
        let http = reqwest::Client::builder()
            .unix_socket(socket)
            .no_proxy()
            .tls_certs_only([])
            .http1_only()
            // The daemon closes a connection that says nothing for a while: one that waited for a person's answer is never used
            // again, since what was sent on it might have been done or not.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| no_client(&error))?;
        Ok(Self {
            socket: socket.to_owned(),
            place: socket.into(),
            http,
        })
    }
}

/// Makes ring the provider of TLS in this process, as everything here does that needs one; a second installation in the same process changes nothing.
pub fn install_crypto() {
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// No HTTP client could be made.
pub(crate) fn no_client(error: &reqwest::Error) -> Error {
    Error::Client(format!("no client could be made: {error}"))
}

/// What kept an answer from coming, or from coming whole.
pub(crate) fn broken(place: &Place, error: &reqwest::Error) -> Error {
    if error.is_timeout() {
        Error::TimedOut(place.clone())
    } else {
        Error::connecting(place, error)
    }
}

/// The answer, if it says that it was done.
///
/// # Errors
/// The daemon's refusal, or what kept it from being read.
pub(crate) async fn done(response: Response, place: &Place) -> Result<Response, Error> {
    let status = response.status();
    // That nothing is new is said to who asks for what is new only.
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return Ok(response);
    }
    let body = response.bytes().await.map_err(|error| broken(place, &error))?;
    Err(Error::refused(status, &body))
}

/// The value of an answer.
///
/// # Errors
/// It is none of this kind.
pub(crate) fn understood<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::NotUnderstood(Unknown::Answer, error.to_string()))
}

/// Makes a stream a WebSocket by a request without its own headers.
///
/// # Errors
/// The daemon's refusal, or what kept it from coming.
pub(crate) async fn upgrade(
    stream: Box<dyn Stream>,
    request: tungstenite::http::request::Builder,
    place: &Place,
) -> Result<WebSocket, Error> {
    let request = request
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header(
            "sec-websocket-key",
            tungstenite::handshake::client::generate_key(),
        )
        .body(())
        .map_err(|error| Error::Client(format!("this cannot be asked for: {error}")))?;
    match client_async(request, stream).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(response)) => Err(Error::refused(
            response.status(),
            response.body().as_deref().unwrap_or_default(),
        )),
        Err(tungstenite::Error::Io(error)) => Err(Error::connecting(place, &error)),
        Err(other) => Err(Error::lost(format!("the daemon did not attach this: {other}"))),
    }
}

/// The host is ignored on the socket, and has to be there.
const HOST: &str = "http://localhost";
