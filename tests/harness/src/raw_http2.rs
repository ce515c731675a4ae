//! HTTP/2 spoken frame by frame, for what no well-behaved client does (RFC 9113).

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::{tls, within};

/// A connection on which the preface was spoken, and nothing is done unless the test does it.
pub struct RawHttp2 {
    stream: TlsStream<TcpStream>,
    settings: Vec<(u16, u32)>,
    pings: u64,
    is_told_to_go: bool,
}

/// One frame that the daemon sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is: one of the constants of this type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Which stream it is about; 0 is the connection.
    pub stream: u32,
    /// The rest.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Bytes of a body.
    pub const DATA: u8 = 0;
    /// A head.
    pub const HEADERS: u8 = 1;
    /// The end of one stream.
    pub const RST_STREAM: u8 = 3;
    /// What the sender can do.
    pub const SETTINGS: u8 = 4;
    /// Still there?
    pub const PING: u8 = 6;
    /// The end of the connection.
    pub const GOAWAY: u8 = 7;
    /// Nothing more comes on this stream, of DATA and HEADERS.
    pub const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    const ACK: u8 = 1;

    /// Whether nothing more comes on its stream.
    pub fn ends_stream(&self) -> bool {
        let is_last = [Self::DATA, Self::HEADERS].contains(&self.kind) && self.flags & Self::END_STREAM != 0;
        is_last || self.kind == Self::RST_STREAM
    }
}

impl RawHttp2 {
    /// Connects, says the preface with these settings, and hears those of the daemon.
    ///
    /// # Panics
    /// Where the daemon does not speak HTTP/2.
    pub async fn open(address: SocketAddr, pin: &str, settings: &[(u16, u32)]) -> Self {
        let mut raw = Self {
            stream: tls(address, pin, &[b"h2"]).await,
            settings: Vec::new(),
            pings: 0,
            is_told_to_go: false,
        };
        raw.stream.write_all(PREFACE).await.expect("the daemon listens");
        let said: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [id.to_be_bytes().as_slice(), &value.to_be_bytes()].concat())
            .collect();
        raw.send(Frame::SETTINGS, 0, 0, &said).await;
        let first = raw.next().await.expect("the daemon speaks HTTP/2");
        assert_eq!(
            (first.kind, first.flags),
            (Frame::SETTINGS, 0),
            "it begins with its settings"
        );
        raw.settings = first
            .payload
            .chunks_exact(6)
            .map(|six| {
                (
                    u16::from_be_bytes([six[0], six[1]]),
                    u32::from_be_bytes([six[2], six[3], six[4], six[5]]),
                )
            })
            .collect();
        raw.send(Frame::SETTINGS, Frame::ACK, 0, &[]).await;
        raw
    }

    /// What the daemon said of a setting.
    pub fn setting(&self, id: u16) -> Option<u32> {
        self.settings
            .iter()
            .find(|(said, _)| *said == id)
            .map(|(_, value)| *value)
    }

    /// Whether it has read that the connection ends.
    pub fn is_told_to_go(&self) -> bool {
        self.is_told_to_go
    }

    /// Begins a request; `ends` says that it has no body.
    pub async fn request(&mut self, stream: u32, fields: &[(impl AsRef<str>, impl AsRef<str>)], ends: bool) {
        let literal = |(name, value): &(_, _)| literal(AsRef::as_ref(name), AsRef::as_ref(value));
        let block: Vec<u8> = fields.iter().flat_map(literal).collect();
        let flags = Frame::END_HEADERS | if ends { Frame::END_STREAM } else { 0 };
        self.send(Frame::HEADERS, flags, stream, &block).await;
    }

    /// Sends any frame. Whether the daemon still takes it shows itself in what comes next.
    pub async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len())
            .expect("a frame is short")
            .to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.stream.write_all(&frame).await.ok();
        self.stream.flush().await.ok();
    }

    /// The next frame; none where the connection ended.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        within("a frame", self.stream.read_exact(&mut head)).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        within("a frame's end", self.stream.read_exact(&mut payload))
            .await
            .ok()?;
        self.is_told_to_go |= kind == Frame::GOAWAY;
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload,
        })
    }

    /// Waits until the daemon has taken all that it was sent, and gives back what it said meanwhile.
    ///
    /// # Panics
    /// Where the connection ends first.
    pub async fn settled(&mut self) -> Vec<Frame> {
        self.pings += 1;
        let ping = self.pings.to_be_bytes();
        self.send(Frame::PING, 0, 0, &ping).await;
        let mut said = Vec::new();
        loop {
            let frame = self
                .next()
                .await
                .unwrap_or_else(|| panic!("the connection ended: {said:?}"));
            if (frame.kind, frame.flags, frame.payload.as_slice()) == (Frame::PING, Frame::ACK, &ping) {
                return said;
            }
            said.push(frame);
        }
    }

    /// Reads the answer on a stream: its body, or none where the stream was reset or the connection ended.
    pub async fn body(&mut self, stream: u32) -> Option<String> {
        let mut body = Vec::new();
        loop {
            let frame = self.next().await?;
            if frame.stream != stream {
                continue;
            }
            if frame.kind == Frame::RST_STREAM {
                return None;
            }
            if frame.kind == Frame::DATA {
                body.extend_from_slice(&frame.payload);
            }
            if frame.ends_stream() {
                return Some(String::from_utf8_lossy(&body).into_owned());
            }
        }
    }
}

/// A field that enters no table (RFC 7541 section 6.2.2), its name and value not compressed.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        field.extend(length(text.len()));
        field.extend(text.as_bytes());
    }
    field
}

/// A length with a prefix of seven bits (RFC 7541 section 5.1).
fn length(length: usize) -> Vec<u8> {
    let low = |number: usize| u8::try_from(number & 0x7f).expect("seven bits fit");
    if length < 127 {
        return vec![low(length)];
    }
    let mut bytes = vec![127];
    let mut rest = length - 127;
    while rest >= 128 {
        bytes.push(low(rest) | 0x80);
        rest >>= 7;
    }
    bytes.push(low(rest));
    bytes
}

/// What a client begins with (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
