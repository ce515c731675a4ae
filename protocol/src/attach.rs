//! The attach protocol: binary WebSocket messages of one type byte and a body, integers big-endian (sessions.md 4).
//!
//! ```
//! use protocol::attach::ClientMessage;
//! let message = ClientMessage::Input { sequence: 1, bytes: b"ls\r".to_vec() };
//! assert_eq!(message.encode(), b"\x10\0\0\0\0\0\0\0\x01ls\r");
//! assert_eq!(ClientMessage::decode(b"\x11\x00\x50\x00\x18").unwrap(), ClientMessage::Size { columns: 80, rows: 24 });
//! ```

use serde::{Deserialize, Serialize};

use crate::sessions::{Exit, Size};

mod codec;

pub use codec::MalformedMessage;

/// What an attachment may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Output only; a slow viewer gets a snapshot instead of a backlog.
    #[default]
    View,
    /// Output, and input into the program.
    Write,
    /// Output only, every byte of it, and told where bytes are gone.
    Lossless,
}

/// Body of message 00.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Hello {
    /// The session, `ses_…`.
    pub session: String,
    /// Its name.
    pub name: String,
    /// Its size now.
    pub size: Size,
    /// What this attachment may do.
    pub mode: Mode,
    /// The end of the output now.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub offset: u64,
    /// The daemon's lasting id.
    pub instance: String,
    /// The id of this run of the daemon.
    pub life: String,
    /// Attachments that look, this one included.
    pub viewers: u32,
    /// Attachments that may type, this one included.
    pub writers: u32,
    /// The last input of this principal and client that the program got; null where that cannot be known: then what was
    /// sent and not confirmed is not sent again.
    #[cfg_attr(feature = "ts", ts(type = "number | null"))]
    pub input_applied: Option<u64>,
}

/// Body of message 06: who is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Presence {
    /// Attachments that look.
    pub viewers: u32,
    /// Attachments that may type.
    pub writers: u32,
    /// Those that may type, in words for a person, this one first if it is one.
    pub typing: Vec<String>,
}

/// The JSON part of message 03: who holds the size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ClaimChange {
    /// Whether this attachment holds the claim now.
    pub holder: bool,
    /// Whether the claim was taken from this attachment just now.
    pub taken_from: bool,
    /// Who holds it, in words for a person; null if nobody does.
    pub by: Option<String>,
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerMessage {
    /// `00`: what was attached to.
    Hello(Hello),
    /// `01`: output that begins at the offset. Where that is not where the output before ended, what is between is gone.
    Output {
        /// Where the first byte stands, or the next one will.
        offset: u64,
        /// The bytes; none where only a gap is told of, which may be all there is.
        bytes: Vec<u8>,
    },
    /// `02`: reset, then draw; output goes on from the ground offset.
    Snapshot {
        /// The ground offset.
        ground: u64,
        /// The size to draw at.
        size: Size,
        /// The bytes that draw it.
        bytes: Vec<u8>,
    },
    /// `03`: the size changed at the offset, or the claim did.
    Size {
        /// Where in the output.
        offset: u64,
        /// The size from there on.
        size: Size,
        /// Who holds the size.
        claim: ClaimChange,
    },
    /// `04`: the program ended; every byte of output came before.
    Exit(Exit),
    /// `05`: the program got all input of this client up to the sequence.
    InputApplied {
        /// The sequence.
        sequence: u64,
    },
    /// `06`: who is there, now and at each change.
    Presence(Presence),
    /// `07`: the answer to a ping.
    Pong {
        /// The ping's number.
        number: u64,
    },
}

/// A message from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage {
    /// `10`: bytes for the program.
    Input {
        /// One more than the message before, from 1, over all connections of one client id.
        sequence: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// `11`: what this client could show.
    Size {
        /// Columns.
        columns: u16,
        /// Rows.
        rows: u16,
    },
    /// `12`: drawn up to the offset.
    Ack {
        /// The first offset that is not drawn.
        offset: u64,
    },
    /// `13`: "fit to this screen": take the claim.
    Claim,
    /// `14`: give the claim back.
    Yield,
    /// `15`: still there?
    Ping {
        /// Comes back in the pong.
        number: u64,
    },
    /// `16`: what the person sees.
    Visibility {
        /// Whether this attachment shows on somebody's screen.
        visible: bool,
        /// Whether it shows the newest output, not scrollback.
        at_live_edge: bool,
    },
}

/// Close code: the credential is unknown, revoked or expired.
pub const CLOSE_REVOKED: u16 = 4401;
/// Close code: not permitted, or not any more; with [`UNWRITTEN`] as its reason it is nobody's right that is missing.
pub const CLOSE_NOT_PERMITTED: u16 = 4403;
/// The reason of [`CLOSE_NOT_PERMITTED`] where the daemon's disk is full or read-only: nobody is let in of whom the audit trail
/// would say nothing.
pub const UNWRITTEN: &str = "the audit trail cannot be written";
/// Close code: there is no such session any more, or, with [`LOST`] as its reason, nobody knows how its program ended.
pub const CLOSE_GONE: u16 = 4404;
/// The reason of [`CLOSE_GONE`] where all that is kept of a lost session was sent.
pub const LOST: &str = "the session is lost";
/// Close code: too many connections.
pub const CLOSE_TOO_MANY: u16 = 4429;
/// Close code: the daemon restarts or ends (RFC 6455's registry, "service restart"); with [`UNREADABLE`] as its reason, output is
/// not to be had for a while. Whoever attaches again goes on where this ended.
pub const CLOSE_RESTARTING: u16 = 1012;
/// The reason of [`CLOSE_RESTARTING`] where output that the disk may have could not be read, again and again for half a minute.
pub const UNREADABLE: &str = "the session's output cannot be read";
