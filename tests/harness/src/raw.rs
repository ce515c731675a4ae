//! Requests that no well-behaved client sends: each header as the test wrote it, and nothing added.

use std::{fmt::Write, net::SocketAddr, path::Path, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use rustix::{process::Uid, thread::set_thread_res_uid};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;

use crate::{Answer, transcript, within};

/// An HTTP/1.1 request, byte for byte.
#[derive(Clone, Debug)]
pub struct RawRequest {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl RawRequest {
    /// A request of this method and target, without any header.
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// A read of this target, without any header.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// The wish to turn this target into a WebSocket, as a browser words it.
    pub fn upgrade(target: &str) -> Self {
        Self::get(target)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// With one more header; the same name twice is two headers.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a token.
    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// With a body of JSON.
    pub fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = body.to_string();
        let length = self.body.len().to_string();
        self.header("Content-Type", "application/json")
            .header("Content-Length", &length)
    }

    /// Sends it over TLS, on a connection of its own.
    pub async fn over_tls(&self, address: SocketAddr, pin: &str) -> Answer {
        self.exchange(tls(address, pin, &[b"http/1.1"]).await).await
    }

    /// Sends it over a Unix socket, on a connection of its own.
    pub async fn over_unix(&self, socket: &Path) -> Answer {
        self.exchange(
            within("the socket", UnixStream::connect(socket))
                .await
                .expect("the daemon listens"),
        )
        .await
    }

    /// The same as another user: the kernel says of a connection who made it, and a thread may be another user than its process.
    ///
    /// # Panics
    /// Where this user may not act as another.
    pub async fn over_unix_as(&self, socket: &Path, user: u32) -> Answer {
        let socket = socket.to_owned();
        let connecting = std::thread::spawn(move || {
            let user = Uid::from_raw(user);
            set_thread_res_uid(user, user, user).expect("run this test as root, who can act as another user");
            std::os::unix::net::UnixStream::connect(socket).expect("the daemon listens")
        });
        let stream = connecting.join().expect("the thread only connects");
        stream.set_nonblocking(true).expect("a socket can be told that");
        self.exchange(UnixStream::from_std(stream).expect("a runtime runs"))
            .await
    }

    async fn exchange(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Answer {
        let head = self.head();
        // A daemon that refuses early may close before it has read all: the answer counts.
        stream
            .write_all(format!("{head}{}", self.body).as_bytes())
            .await
            .ok();
        let answer = within(&self.target, read(&mut stream)).await;
        transcript::answer(&answer);
        answer
    }

    fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let is_upgrade = self.headers.iter().any(|(name, _)| name == "Upgrade");
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").expect("a string takes everything");
        }
        // The answer then ends where the connection does.
        head.push_str(if is_upgrade {
            "\r\n"
        } else {
            "Connection: close\r\n\r\n"
        });
        head
    }
}

/// A TLS stream to whoever holds the pin's key, offering these protocols.
///
/// # Panics
/// Where nobody listens, or another key is shown.
pub async fn tls(address: SocketAddr, pin: &str, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
    crate::device::install_crypto();
    let mut config = certs::client_config(pin.parse().expect("a pin"));
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = within("the port", TcpStream::connect(address))
        .await
        .expect("the daemon listens");
    let name = ServerName::try_from("localhost").expect("a name");
    within("the handshake", connector.connect(name, stream))
        .await
        .expect("TLS with the daemon")
}

/// The answer: as long as it says that it is, or up to the connection's end.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Answer {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !is_whole(&bytes) {
        // A cut without a goodbye ends the answer as a clean end does.
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
    parse(&bytes)
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = find_end(bytes) else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    head.starts_with("http/1.1 101") || length.is_some_and(|length: usize| bytes.len() >= end + 4 + length)
}

fn parse(bytes: &[u8]) -> Answer {
    let shown = String::from_utf8_lossy(bytes).into_owned();
    let end = find_end(bytes).unwrap_or_else(|| panic!("this is no answer: {shown:?}"));
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|status| status.parse().ok());
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name: HeaderName = name.parse().expect("the daemon sends real headers");
        headers.append(
            name,
            HeaderValue::from_str(value).expect("the daemon sends real headers"),
        );
    }
    assert!(
        !headers.contains_key("transfer-encoding"),
        "this reader knows no chunks: {head}"
    );
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Answer {
        status: status.expect("a status line"),
        headers,
        body,
    }
}

fn find_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n")
}
