//! A client of the attach protocol.

use std::{net::SocketAddr, path::Path, sync::Arc};

use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, Request};
use protocol::{
    attach::{ClaimChange, ClientMessage, Hello, Mode, Presence, ServerMessage},
    sessions::{Exit, Size},
};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::{Answer, transcript, within};

/// Any byte stream that a WebSocket can run on.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// An attachment, and all that it was sent.
pub struct Attached {
    socket: WebSocketStream<Box<dyn Stream>>,
    hello: Option<Hello>,
    sequence: u64,
    /// Where the next output must begin, once anything was drawn.
    expected: Option<u64>,
    output: Vec<u8>,
    snapshots: usize,
    size: Option<Size>,
    exit: Option<Exit>,
    acks: bool,
    draws: bool,
    /// What a terminal would show of it.
    screen: Box<dyn terminal::Screen>,
    claim: ClaimChange,
    applied: u64,
    presence: Presence,
    /// Why the daemon closed, once it has.
    reason: String,
}

/// Why there is no attachment.
#[derive(Debug)]
pub enum Unattached {
    /// The daemon said no.
    Refused(Answer),
    /// Nobody was there, or they went away before they answered.
    Broken(String),
}

impl Unattached {
    /// What the daemon said.
    ///
    /// # Panics
    /// Where it said nothing.
    pub fn answer(self) -> Answer {
        match self {
            Self::Refused(answer) => answer,
            Self::Broken(why) => panic!("the daemon did not answer: {why}"),
        }
    }
}

impl From<reqwest::Error> for Unattached {
    fn from(error: reqwest::Error) -> Self {
        Self::Broken(format!("{error:?}"))
    }
}

impl From<std::io::Error> for Unattached {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl Attached {
    /// Attaches over the Unix socket.
    pub(crate) async fn over_unix(
        socket: &Path,
        id: &str,
        mode: Mode,
        from: &str,
        client: Option<&str>,
    ) -> Self {
        let stream = within("the socket", UnixStream::connect(socket))
            .await
            .expect("the daemon listens");
        let from = match client {
            Some(client) => format!("{from}&client={client}"),
            None => from.to_owned(),
        };
        let request = request("ws://transom", id, mode, &from, None);
        let attached = Self::shake(Box::new(stream), request, None).await;
        attached.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Attaches over TLS: with the token in the header, in the first frame, or not at all.
    pub(crate) async fn over_tls(
        address: SocketAddr,
        pin: &str,
        bearer: Option<&str>,
        first_frame: Option<&str>,
        id: &str,
        mode: Mode,
        from: &str,
    ) -> Result<Self, Unattached> {
        crate::device::install_crypto();
        let config = certs::client_config(pin.parse().expect("a pin"));
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let stream = within("the port", TcpStream::connect(address)).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = within("the handshake", connector.connect(name, stream)).await?;
        let request = request(&format!("wss://{address}"), id, mode, from, bearer);
        Self::shake(Box::new(stream), request, first_frame).await
    }

    /// Attaches as a page does: at the host that it was loaded from, with its origin, and the token in the first frame.
    pub(crate) async fn from_page(
        address: SocketAddr,
        pin: &str,
        token: &str,
        (host, origin): (&str, &str),
        id: &str,
    ) -> Result<Self, Unattached> {
        let stream = crate::tls(address, pin, &[b"http/1.1"]).await;
        let mut request = request(&format!("wss://{host}"), id, Mode::View, "screen", None);
        request
            .headers_mut()
            .insert("origin", origin.parse().expect("a header's value"));
        Self::shake(Box::new(stream), request, Some(token)).await
    }

    async fn shake(
        stream: Box<dyn Stream>,
        request: Request<()>,
        first_frame: Option<&str>,
    ) -> Result<Self, Unattached> {
        let shaken = within("the upgrade", tokio_tungstenite::client_async(request, stream)).await;
        let mut socket = match shaken {
            Ok((socket, _)) => socket,
            Err(Error::Http(response)) => return Err(Unattached::Refused(refused(&response))),
            Err(error) => return Err(Unattached::Broken(error.to_string())),
        };
        if let Some(token) = first_frame {
            let sent = socket.send(Message::text(token.to_owned())).await;
            sent.map_err(|error| Unattached::Broken(error.to_string()))?;
        }
        Ok(Self {
            socket,
            hello: None,
            sequence: 0,
            expected: None,
            output: Vec::new(),
            snapshots: 0,
            size: None,
            exit: None,
            acks: true,
            draws: true,
            screen: terminal::screen(terminal::Size::new(100, 30)),
            claim: ClaimChange::default(),
            applied: 0,
            presence: Presence::default(),
            reason: String::new(),
        })
    }

    /// Never says what it has drawn: a viewer that hangs.
    pub fn without_acks(mut self) -> Self {
        self.acks = false;
        self
    }

    /// Draws nothing, and keeps nothing: one of a crowd that is cheap for the machine.
    pub fn without_screen(mut self) -> Self {
        self.draws = false;
        self
    }

    /// The next message; `Err` is the close code, 1006 where the stream just ended.
    ///
    /// # Panics
    /// Where output is doubled, missing or reordered.
    pub async fn next(&mut self) -> Result<ServerMessage, u16> {
        loop {
            let message = match within("a message", self.socket.next()).await {
                Some(Ok(Message::Binary(bytes))) => {
                    transcript::bytes(&bytes);
                    ServerMessage::decode(&bytes).expect("a message of the protocol")
                }
                Some(Ok(Message::Close(frame))) => {
                    self.reason = frame
                        .as_ref()
                        .map(|frame| frame.reason.to_string())
                        .unwrap_or_default();
                    return Err(frame.map_or(1005, |frame| frame.code.into()));
                }
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return Err(1006),
            };
            self.take(&message).await;
            return Ok(message);
        }
    }

    /// Reads until the output since the attach (snapshots included) holds the text, or a terminal shows it: a snapshot may
    /// draw blanks by moving the cursor.
    pub async fn until(&mut self, text: &str) -> &mut Self {
        let shows = |attached: &Self| attached.screen_lines().iter().any(|line| line.contains(text));
        while !self.text().contains(text) && !shows(self) {
            if let Err(code) = self.next().await {
                panic!("closed with {code} before {text:?} came:\n{}", self.text());
            }
        }
        self
    }

    /// Reads until the program's end.
    pub async fn until_exit(&mut self) -> Exit {
        loop {
            if let Some(exit) = &self.exit {
                return exit.clone();
            }
            if let Err(code) = self.next().await {
                panic!("closed with {code} before the program ended:\n{}", self.text());
            }
        }
    }

    /// Reads until the daemon closes, and gives the close code.
    pub async fn until_closed(&mut self) -> u16 {
        loop {
            if let Err(code) = self.next().await {
                return code;
            }
        }
    }

    /// The same, with the reason that it gives.
    pub async fn until_closed_for(&mut self) -> (u16, String) {
        (self.until_closed().await, self.reason.clone())
    }

    /// Reads until the session has this size.
    pub async fn until_size(&mut self, size: Size) {
        while self.size != Some(size) {
            self.next()
                .await
                .unwrap_or_else(|code| panic!("closed with {code} before the size was {size:?}"));
        }
    }

    /// Reads until it was told something of the claim.
    pub async fn until_claim(&mut self, is_it: impl Fn(&ClaimChange) -> bool) -> ClaimChange {
        while !is_it(&self.claim) {
            self.next()
                .await
                .unwrap_or_else(|code| panic!("closed with {code} before the claim changed"));
        }
        self.claim.clone()
    }

    /// Reads until the program got the input with this number.
    pub async fn until_applied(&mut self, sequence: u64) {
        while self.applied < sequence {
            self.next()
                .await
                .unwrap_or_else(|code| panic!("closed with {code} before input {sequence} was applied"));
        }
    }

    /// Reads until it was told of so many viewers and writers.
    pub async fn until_present(&mut self, viewers: u32, writers: u32) -> Presence {
        while (self.presence.viewers, self.presence.writers) != (viewers, writers) {
            self.next()
                .await
                .unwrap_or_else(|code| panic!("closed with {code} before who is there changed"));
        }
        self.presence.clone()
    }

    /// The visible rows of a terminal that drew all of it.
    pub fn screen_lines(&self) -> Vec<String> {
        self.screen.text_lines()
    }

    /// Sends bytes that need not be a message.
    pub async fn send_raw(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).await.ok();
    }

    /// Types.
    pub async fn send_input(&mut self, bytes: &[u8]) {
        self.sequence += 1;
        self.send(&ClientMessage::Input {
            sequence: self.sequence,
            bytes: bytes.to_vec(),
        })
        .await;
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &ClientMessage) {
        // An error shows itself in the next read, as the close code.
        self.socket.send(Message::binary(message.encode())).await.ok();
    }

    /// What it was told first, once read.
    pub fn hello(&self) -> &Hello {
        self.hello.as_ref().expect("the first message is hello")
    }

    /// All bytes that it was sent to draw since it attached.
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// The same as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// How many snapshots it was sent.
    pub fn snapshots(&self) -> usize {
        self.snapshots
    }

    /// The session's size as it knows it.
    pub fn size(&self) -> Option<Size> {
        self.size
    }

    async fn take(&mut self, message: &ServerMessage) {
        match message {
            ServerMessage::Hello(hello) => {
                self.screen
                    .resize(terminal::Size::new(hello.size.columns, hello.size.rows));
                self.size = Some(hello.size);
                self.hello = Some(hello.clone());
            }
            ServerMessage::Output { offset, bytes } => {
                if let Some(expected) = self.expected {
                    assert_eq!(*offset, expected, "output goes on where it stopped");
                }
                if self.draws {
                    if self.output.len() < MOST_KEPT {
                        self.output.extend_from_slice(bytes);
                    }
                    self.screen.feed(bytes);
                }
                self.drawn(offset + bytes.len() as u64).await;
            }
            ServerMessage::Snapshot { ground, size, bytes } => {
                self.snapshots += 1;
                self.size = Some(*size);
                if self.draws {
                    self.output.clone_from(bytes);
                    self.screen = terminal::screen(terminal::Size::new(size.columns, size.rows));
                    self.screen.feed(bytes);
                }
                self.drawn(*ground).await;
            }
            ServerMessage::Size { size, claim, .. } => {
                self.screen.resize(terminal::Size::new(size.columns, size.rows));
                self.size = Some(*size);
                self.claim = claim.clone();
            }
            ServerMessage::InputApplied { sequence } => self.applied = *sequence,
            ServerMessage::Presence(presence) => self.presence = presence.clone(),
            ServerMessage::Pong { .. } => {}
            ServerMessage::Exit(exit) => self.exit = Some(exit.clone()),
        }
    }

    async fn drawn(&mut self, offset: u64) {
        self.expected = Some(offset);
        if self.acks {
            self.send(&ClientMessage::Ack { offset }).await;
        }
    }
}

fn request(base: &str, id: &str, mode: Mode, from: &str, bearer: Option<&str>) -> Request<()> {
    let mode = serde_json::to_value(mode).expect("a mode is a string");
    let mode = mode.as_str().expect("a mode is a string");
    let url = format!("{base}/v1/sessions/{id}/attach?mode={mode}&from={from}");
    let mut request = url.into_client_request().expect("a valid address");
    if let Some(bearer) = bearer {
        let value = format!("Bearer {bearer}").parse().expect("a token is ASCII");
        request.headers_mut().insert("authorization", value);
    }
    request
}

fn refused(response: &http::Response<Option<Vec<u8>>>) -> Answer {
    let body = response.body().clone().unwrap_or_default();
    let answer = Answer {
        status: response.status().as_u16(),
        headers: HeaderMap::clone(response.headers()),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    transcript::answer(&answer);
    answer
}

/// Bytes of output kept for a look; floods are judged by their screen.
const MOST_KEPT: usize = 4 << 20;
