//! Bytes to messages and back.

use super::{ClientMessage, ServerMessage};
use crate::sessions::Size;

/// A message that is not of the attach protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedMessage {
    /// No type byte.
    #[error("the message is empty")]
    Empty,
    /// A type byte that this version does not know.
    #[error("message type {0:#04x} is not known")]
    UnknownType(u8),
    /// The body ends too early.
    #[error("message type {0:#04x} ends too early")]
    Short(u8),
    /// The body's JSON is not of its type.
    #[error("the JSON of message type {0:#04x} is not valid")]
    Json(u8),
}

impl ServerMessage {
    /// The message as one binary WebSocket message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hello(hello) => tagged(HELLO, &[&json(hello)]),
            Self::Output { offset, bytes } => tagged(OUTPUT, &[&offset.to_be_bytes(), bytes]),
            Self::Snapshot { ground, size, bytes } => {
                tagged(SNAPSHOT, &[&ground.to_be_bytes(), &size_bytes(*size), bytes])
            }
            Self::Size { offset, size, claim } => {
                tagged(SIZE, &[&offset.to_be_bytes(), &size_bytes(*size), &json(claim)])
            }
            Self::Exit(exit) => tagged(EXIT, &[&json(exit)]),
            Self::InputApplied { sequence } => tagged(INPUT_APPLIED, &[&sequence.to_be_bytes()]),
            Self::Presence(presence) => tagged(PRESENCE, &[&json(presence)]),
            Self::Pong { number } => tagged(PONG, &[&number.to_be_bytes()]),
        }
    }

    /// Reads one binary WebSocket message.
    ///
    /// # Errors
    /// [`MalformedMessage`] where the bytes are not a message of the server.
    pub fn decode(message: &[u8]) -> Result<Self, MalformedMessage> {
        let mut body = Body::new(message)?;
        Ok(match body.kind {
            HELLO => Self::Hello(body.json()?),
            OUTPUT => Self::Output {
                offset: body.u64()?,
                bytes: body.rest(),
            },
            SNAPSHOT => Self::Snapshot {
                ground: body.u64()?,
                size: body.size()?,
                bytes: body.rest(),
            },
            SIZE => Self::Size {
                offset: body.u64()?,
                size: body.size()?,
                claim: body.json()?,
            },
            EXIT => Self::Exit(body.json()?),
            INPUT_APPLIED => Self::InputApplied {
                sequence: body.u64()?,
            },
            PRESENCE => Self::Presence(body.json()?),
            PONG => Self::Pong { number: body.u64()? },
            other => return Err(MalformedMessage::UnknownType(other)),
        })
    }
}

impl ClientMessage {
    /// The message as one binary WebSocket message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Input { sequence, bytes } => tagged(INPUT, &[&sequence.to_be_bytes(), bytes]),
            Self::Size { columns, rows } => tagged(
                CLIENT_SIZE,
                &[&size_bytes(Size {
                    columns: *columns,
                    rows: *rows,
                })],
            ),
            Self::Ack { offset } => tagged(ACK, &[&offset.to_be_bytes()]),
            Self::Claim => tagged(CLAIM, &[]),
            Self::Yield => tagged(YIELD, &[]),
            Self::Ping { number } => tagged(PING, &[&number.to_be_bytes()]),
            Self::Visibility {
                visible,
                at_live_edge,
            } => {
                let bits = (u8::from(*visible) * VISIBLE) | (u8::from(*at_live_edge) * AT_LIVE_EDGE);
                tagged(VISIBILITY, &[&[bits]])
            }
        }
    }

    /// Reads one binary WebSocket message.
    ///
    /// # Errors
    /// [`MalformedMessage`] where the bytes are not a message of a client.
    pub fn decode(message: &[u8]) -> Result<Self, MalformedMessage> {
        let mut body = Body::new(message)?;
        Ok(match body.kind {
            INPUT => Self::Input {
                sequence: body.u64()?,
                bytes: body.rest(),
            },
            CLIENT_SIZE => {
                let Size { columns, rows } = body.size()?;
                Self::Size { columns, rows }
            }
            ACK => Self::Ack { offset: body.u64()? },
            CLAIM => Self::Claim,
            YIELD => Self::Yield,
            PING => Self::Ping { number: body.u64()? },
            VISIBILITY => {
                let [bits] = body.array()?;
                Self::Visibility {
                    visible: bits & VISIBLE != 0,
                    at_live_edge: bits & AT_LIVE_EDGE != 0,
                }
            }
            other => return Err(MalformedMessage::UnknownType(other)),
        })
    }
}

struct Body<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    fn new(message: &'a [u8]) -> Result<Self, MalformedMessage> {
        let (kind, rest) = message.split_first().ok_or(MalformedMessage::Empty)?;
        Ok(Self { kind: *kind, rest })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedMessage> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(MalformedMessage::Short(self.kind))?;
        self.rest = rest;
        Ok(*head)
    }

    fn u64(&mut self) -> Result<u64, MalformedMessage> {
        self.array().map(u64::from_be_bytes)
    }

    fn size(&mut self) -> Result<Size, MalformedMessage> {
        let columns = u16::from_be_bytes(self.array()?);
        let rows = u16::from_be_bytes(self.array()?);
        Ok(Size { columns, rows })
    }

    fn rest(&self) -> Vec<u8> {
        self.rest.to_vec()
    }

    fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, MalformedMessage> {
        serde_json::from_slice(self.rest).map_err(|_| MalformedMessage::Json(self.kind))
    }
}

fn tagged(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut message = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    message.push(kind);
    for part in parts {
        message.extend_from_slice(part);
    }
    message
}

fn size_bytes(size: Size) -> [u8; 4] {
    let [a, b] = size.columns.to_be_bytes();
    let [c, d] = size.rows.to_be_bytes();
    [a, b, c, d]
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("wire structs have string keys and finite numbers")
}

const HELLO: u8 = 0x00;
const OUTPUT: u8 = 0x01;
const SNAPSHOT: u8 = 0x02;
const SIZE: u8 = 0x03;
const EXIT: u8 = 0x04;
const INPUT_APPLIED: u8 = 0x05;
const PRESENCE: u8 = 0x06;
const PONG: u8 = 0x07;
const INPUT: u8 = 0x10;
const CLIENT_SIZE: u8 = 0x11;
const ACK: u8 = 0x12;
const CLAIM: u8 = 0x13;
const YIELD: u8 = 0x14;
const PING: u8 = 0x15;
const VISIBILITY: u8 = 0x16;

/// Bits of message 16.
const VISIBLE: u8 = 1;
const AT_LIVE_EDGE: u8 = 2;

#[cfg(test)]
mod tests {
    use super::{ClientMessage, MalformedMessage, ServerMessage};
    use crate::{
        attach::{ClaimChange, Presence},
        sessions::{Exit, Size},
    };

    #[test]
    fn every_server_message_survives_the_wire() {
        let size = Size {
            columns: 80,
            rows: 24,
        };
        let exit = Exit {
            code: Some(7),
            signal: None,
            duration_ms: 12,
            peak_memory_bytes: 4096,
        };
        for message in [
            ServerMessage::Output {
                offset: 1 << 40,
                bytes: vec![0, 255],
            },
            ServerMessage::Snapshot {
                ground: 3,
                size,
                bytes: b"\x1bc".to_vec(),
            },
            ServerMessage::Size {
                offset: 9,
                size,
                claim: ClaimChange::default(),
            },
            ServerMessage::Exit(exit),
            ServerMessage::InputApplied { sequence: 7 },
            ServerMessage::Presence(Presence::default()),
            ServerMessage::Pong { number: 1 },
        ] {
            assert_eq!(ServerMessage::decode(&message.encode()).unwrap(), message);
        }
    }

    #[test]
    fn every_client_message_survives_the_wire() {
        for message in [
            ClientMessage::Input {
                sequence: 1,
                bytes: vec![3],
            },
            ClientMessage::Size { columns: 1, rows: 2 },
            ClientMessage::Ack { offset: 1 << 40 },
            ClientMessage::Claim,
            ClientMessage::Yield,
            ClientMessage::Ping { number: 9 },
            ClientMessage::Visibility {
                visible: true,
                at_live_edge: false,
            },
        ] {
            assert_eq!(ClientMessage::decode(&message.encode()).unwrap(), message);
        }
    }

    #[test]
    fn a_cut_message_is_refused() {
        let whole = ServerMessage::Output {
            offset: 5,
            bytes: Vec::new(),
        }
        .encode();
        for end in 1..whole.len() {
            assert_eq!(
                ServerMessage::decode(&whole[..end]),
                Err(MalformedMessage::Short(0x01))
            );
        }
    }

    #[test]
    fn a_message_of_the_server_is_not_one_of_a_client() {
        assert_eq!(
            ClientMessage::decode(&[0x01]),
            Err(MalformedMessage::UnknownType(0x01))
        );
        assert_eq!(ClientMessage::decode(&[]), Err(MalformedMessage::Empty));
    }
}
