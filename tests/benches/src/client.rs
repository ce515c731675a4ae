//! A client that draws nothing and acknowledges everything: the same for the daemon and for the floors, and cheaper than
//! either, since it shares the processors with them.

mod http;
mod stream;

use std::{
    io::{Read, Write},
    net::SocketAddr,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use protocol::attach::ClientMessage;

pub(crate) use http::Http;
use stream::Stream;
pub(crate) use stream::{connect, handshake};

/// How a client reaches its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Unix,
    Tls,
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Output: its offset and length.
    Output { offset: u64, length: usize },
    /// A snapshot: its ground offset and length.
    Snapshot { ground: u64, length: usize },
    /// The first message of the daemon.
    Hello,
    /// Any other message.
    Other,
    /// The other end closed: nothing more comes.
    Closed,
}

/// All that a client was sent up to the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followed {
    /// Bytes of output, and of snapshots.
    pub(crate) bytes: u64,
    /// Bytes of output that were skipped.
    pub(crate) skipped: u64,
    /// Snapshots.
    pub(crate) snapshots: u64,
    /// When the last byte of output came.
    pub(crate) last: Instant,
}

/// One attachment.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    is_framed: bool,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// The body of the last message.
    body: std::ops::Range<usize>,
    offset: u64,
    acked: u64,
    sequence: u64,
}

impl Client {
    /// The bytes of a Unix socket as they are, both ways.
    pub(crate) fn plain(socket: &str) -> Result<Self> {
        Ok(Self::new(stream::unix(socket)?, false))
    }

    /// The attach protocol over a Unix socket.
    pub(crate) fn unix(socket: &str, path: &str) -> Result<Self> {
        let mut client = Self::new(stream::unix(socket)?, true);
        client.upgrade(path, "transom", None)?;
        Ok(client)
    }

    /// The attach protocol over TLS.
    pub(crate) fn tls(address: SocketAddr, pin: &str, path: &str, token: &str) -> Result<Self> {
        let mut client = Self::new(Box::new(stream::connect(address, pin)?), true);
        client.upgrade(path, &address.to_string(), Some(token))?;
        Ok(client)
    }

    fn new(stream: Box<dyn Stream>, is_framed: bool) -> Self {
        Self {
            stream,
            is_framed,
            buffer: vec![0; 128 * 1024],
            begin: 0,
            end: 0,
            body: 0..0,
            offset: 0,
            acked: 0,
            sequence: 0,
        }
    }

    /// Types, in one write.
    pub(crate) fn send_input(&mut self, bytes: &[u8]) -> Result<()> {
        if !self.is_framed {
            return Ok(self.stream.write_all(bytes)?);
        }
        self.sequence += 1;
        self.send(&ClientMessage::Input {
            sequence: self.sequence,
            bytes: bytes.to_vec(),
        })
    }

    /// The next message. Output is acknowledged once nothing more of it is at hand, or much of it came.
    pub(crate) fn next(&mut self) -> Result<Event> {
        let event = if self.is_framed {
            self.frame()?
        } else {
            self.piece()?
        };
        match event {
            Event::Output { offset, length } => self.offset = offset + length as u64,
            Event::Snapshot { ground, .. } => self.offset = ground,
            // What follows output in one read must not keep its acknowledgement back.
            _ => {}
        }
        let drawn = self.offset - self.acked.min(self.offset);
        if self.is_framed && drawn > 0 && (self.begin == self.end || drawn >= ACK_AT_ONCE) {
            self.acked = self.offset;
            // Where the other end has closed, the next read says so.
            self.send(&ClientMessage::Ack { offset: self.offset }).ok();
        }
        Ok(event)
    }

    /// The body of the last message.
    pub(crate) fn body(&self) -> &[u8] {
        &self.buffer[self.body.clone()]
    }

    /// Types, and waits for the output that it causes.
    pub(crate) fn echoed(&mut self, bytes: &[u8]) -> Result<()> {
        self.send_input(bytes)?;
        loop {
            match self.next()? {
                Event::Output { .. } => return Ok(()),
                Event::Closed => bail!("closed before any output came"),
                _ => {}
            }
        }
    }

    /// Reads until what an attachment begins with is there: the snapshot of the daemon, the first output of a floor.
    pub(crate) fn first_screen(&mut self) -> Result<usize> {
        loop {
            match self.next()? {
                Event::Snapshot { length, .. } | Event::Output { length, .. } => return Ok(length),
                Event::Closed => bail!("closed before the first screen came"),
                _ => {}
            }
        }
    }

    /// Reads to the end.
    pub(crate) fn follow(&mut self) -> Result<Followed> {
        let mut followed = Followed {
            bytes: 0,
            skipped: 0,
            snapshots: 0,
            last: Instant::now(),
        };
        loop {
            let expected = self.offset;
            match self.next()? {
                Event::Output { offset, length } => {
                    followed.skipped += offset.saturating_sub(expected);
                    followed.bytes += length as u64;
                    followed.last = Instant::now();
                }
                Event::Snapshot { ground, length } => {
                    followed.skipped += ground.saturating_sub(expected);
                    followed.snapshots += 1;
                    followed.bytes += length as u64;
                    followed.last = Instant::now();
                }
                Event::Closed => return Ok(followed),
                _ => {}
            }
        }
    }

    fn upgrade(&mut self, path: &str, host: &str, token: Option<&str>) -> Result<()> {
        let bearer = token
            .map(|token| format!("Authorization: Bearer {token}\r\n"))
            .unwrap_or_default();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{bearer}\r\n"
        );
        self.stream.write_all(request.as_bytes())?;
        loop {
            ensure!(self.fill()? > 0, "closed during the upgrade");
            let head = &self.buffer[..self.end];
            let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") else {
                continue;
            };
            ensure!(
                head.starts_with(b"HTTP/1.1 101"),
                "refused: {}",
                String::from_utf8_lossy(head)
            );
            self.begin = end + 4;
            return Ok(());
        }
    }

    /// One masked binary frame; a key of zero masks nothing (RFC 6455 section 5.3).
    fn send(&mut self, message: &ClientMessage) -> Result<()> {
        let message = message.encode();
        let length = u8::try_from(message.len())
            .ok()
            .filter(|length| *length < 126)
            .context("a short message")?;
        let mut frame = vec![0x82, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(&message);
        Ok(self.stream.write_all(&frame)?)
    }

    fn piece(&mut self) -> Result<Event> {
        (self.begin, self.end) = (0, 0);
        let length = self.fill()?;
        self.body = 0..length;
        self.begin = self.end;
        let offset = self.offset;
        Ok(if length == 0 {
            Event::Closed
        } else {
            Event::Output { offset, length }
        })
    }

    fn frame(&mut self) -> Result<Event> {
        let Some(head) = self.need(2)? else {
            return Ok(Event::Closed);
        };
        let (opcode, short) = (head[0], head[1]);
        let (head, length) = match short {
            126 => (
                4,
                self.need(4)?
                    .map(|head| u64::from(u16::from_be_bytes([head[2], head[3]]))),
            ),
            127 => (
                10,
                self.need(10)?
                    .and_then(|head| Some(u64::from_be_bytes(head.get(2..10)?.try_into().ok()?))),
            ),
            short => (2, Some(u64::from(short))),
        };
        let length = usize::try_from(length.context("cut inside a frame")?)?;
        self.need(head + length)?.context("cut inside a frame")?;
        self.body = self.begin + head..self.begin + head + length;
        self.begin += head + length;
        match opcode {
            0x82 => self.message(),
            0x88 => Ok(Event::Closed),
            _ => Ok(Event::Other),
        }
    }

    fn message(&self) -> Result<Event> {
        let body = self.body();
        let number = || -> Result<u64> {
            Ok(u64::from_be_bytes(
                body.get(1..9).context("a message ends too early")?.try_into()?,
            ))
        };
        Ok(match body.first() {
            Some(0) => Event::Hello,
            Some(1) => Event::Output {
                offset: number()?,
                length: body.len() - 9,
            },
            Some(2) => Event::Snapshot {
                ground: number()?,
                length: body.len().saturating_sub(13),
            },
            _ => Event::Other,
        })
    }

    /// The bytes at hand, at least so many of them; `None` where the stream ends first.
    fn need(&mut self, length: usize) -> Result<Option<&[u8]>> {
        while self.end - self.begin < length {
            if self.buffer.len() - self.begin < length {
                self.buffer.copy_within(self.begin..self.end, 0);
                (self.begin, self.end) = (0, self.end - self.begin);
                let room = self.buffer.len().max(length);
                self.buffer.resize(room, 0);
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(&self.buffer[self.begin..self.end]))
    }

    fn fill(&mut self) -> Result<usize> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
        let length = self.stream.read(&mut self.buffer[self.end..])?;
        self.end += length;
        Ok(length)
    }
}

/// Bytes drawn that are acknowledged at once, as the web app does.
const ACK_AT_ONCE: u64 = 64 * 1024;
