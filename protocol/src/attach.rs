//! The attach protocol: binary WebSocket messages of one type byte and a body, integers big-endian.
//!
//! # Opening
//!
//! `GET /v1/sessions/{id}/attach?mode=&from=&client=`, upgraded to a WebSocket (RFC 6455). `mode` is a [`Mode`]; `from` is an
//! offset or `screen`; `client` is an id of 16 to 64 lower-case hexadecimal digits that the client keeps over all its
//! connections, by which its input is known again. The credential is in `Authorization`, or, as a browser cannot send that
//! there, the access token is the first frame, a text frame; on the Unix socket there is none. From then on all frames are
//! binary, each one message.
//!
//! # Course
//!
//! The daemon says [`Hello`](ServerMessage::Hello), then shows a [`Snapshot`](ServerMessage::Snapshot) or output from the wanted
//! offset, then says who is there and who holds the size, and goes on with [`Output`](ServerMessage::Output). It says hello
//! again to who may only look from now on. The client says how far it has drawn ([`Ack`](ClientMessage::Ack)); one that falls
//! behind gets a snapshot instead of what it missed, or, if it is lossless, waits for every byte. When the program has ended,
//! [`Exit`](ServerMessage::Exit) comes last, and the daemon closes. How else it closes is told by the codes below, such as
//! [`CLOSE_REVOKED`].
//!
//! # Messages of the server
//!
//! | byte | message | body |
//! |---|---|---|
//! | `00` | [`Hello`](ServerMessage::Hello) | JSON |
//! | `01` | [`Output`](ServerMessage::Output) | offset (8 bytes), bytes |
//! | `02` | [`Snapshot`](ServerMessage::Snapshot) | ground offset (8), columns (2), rows (2), bytes |
//! | `03` | [`Size`](ServerMessage::Size) | offset (8), columns (2), rows (2), JSON |
//! | `04` | [`Exit`](ServerMessage::Exit) | JSON |
//! | `05` | [`InputApplied`](ServerMessage::InputApplied) | sequence (8) |
//! | `06` | [`Presence`](ServerMessage::Presence) | JSON |
//! | `07` | [`Pong`](ServerMessage::Pong) | number (8) |
//!
//! ```
//! use protocol::{attach::{ClaimChange, Hello, Mode, Presence, ServerMessage}, sessions::{Exit, Size}};
//!
//! /// The bytes are what the message is written as, and are read as that message.
//! fn same(message: ServerMessage, bytes: &[u8]) {
//!     assert_eq!(message.encode(), bytes);
//!     assert_eq!(ServerMessage::decode(bytes).unwrap(), message);
//! }
//! let size = Size { columns: 80, rows: 24 };
//!
//! same(
//!     ServerMessage::Hello(Hello {
//!         session: "ses_5f3a91c07be24d68".to_owned(),
//!         name: "notes".to_owned(),
//!         size,
//!         mode: Mode::Write,
//!         offset: 7,
//!         instance: "i".to_owned(),
//!         life: "l".to_owned(),
//!         viewers: 0,
//!         writers: 1,
//!         input_applied: Some(3),
//!     }),
//!     b"\x00{\"session\":\"ses_5f3a91c07be24d68\",\"name\":\"notes\",\"size\":{\"columns\":80,\"rows\":24},\
//!       \"mode\":\"write\",\"offset\":7,\"instance\":\"i\",\"life\":\"l\",\"viewers\":0,\"writers\":1,\"input_applied\":3}",
//! );
//! // Seven bytes of output, of which the first is the session's first.
//! same(
//!     ServerMessage::Output { offset: 0, bytes: b"ready\r\n".to_vec() },
//!     b"\x01\x00\x00\x00\x00\x00\x00\x00\x00ready\r\n",
//! );
//! // Bytes up to offset 4096 are gone, and none have come since.
//! same(ServerMessage::Output { offset: 4096, bytes: Vec::new() }, b"\x01\x00\x00\x00\x00\x00\x00\x10\x00");
//! // Reset, draw this at 80 columns and 24 rows, and go on with output from offset 7.
//! same(
//!     ServerMessage::Snapshot { ground: 7, size, bytes: b"ready\r\n".to_vec() },
//!     b"\x02\x00\x00\x00\x00\x00\x00\x00\x07\x00\x50\x00\x18ready\r\n",
//! );
//! same(
//!     ServerMessage::Size { offset: 7, size, claim: ClaimChange { holder: true, taken_from: false, by: Some("owner".to_owned()) } },
//!     b"\x03\x00\x00\x00\x00\x00\x00\x00\x07\x00\x50\x00\x18{\"holder\":true,\"taken_from\":false,\"by\":\"owner\"}",
//! );
//! same(
//!     ServerMessage::Exit(Exit { code: Some(0), signal: None, duration_ms: 1200, peak_memory_bytes: 4096 }),
//!     b"\x04{\"code\":0,\"signal\":null,\"duration_ms\":1200,\"peak_memory_bytes\":4096}",
//! );
//! same(ServerMessage::InputApplied { sequence: 3 }, b"\x05\x00\x00\x00\x00\x00\x00\x00\x03");
//! same(
//!     ServerMessage::Presence(Presence { viewers: 2, writers: 1, typing: vec!["Ada's phone".to_owned()] }),
//!     b"\x06{\"viewers\":2,\"writers\":1,\"typing\":[\"Ada's phone\"]}",
//! );
//! same(ServerMessage::Pong { number: 258 }, b"\x07\x00\x00\x00\x00\x00\x00\x01\x02");
//! ```
//!
//! # Messages of the client
//!
//! | byte | message | body |
//! |---|---|---|
//! | `10` | [`Input`](ClientMessage::Input) | sequence (8), bytes |
//! | `11` | [`Size`](ClientMessage::Size) | columns (2), rows (2) |
//! | `12` | [`Ack`](ClientMessage::Ack) | offset (8) |
//! | `13` | [`Claim`](ClientMessage::Claim) | nothing |
//! | `14` | [`Yield`](ClientMessage::Yield) | nothing |
//! | `15` | [`Ping`](ClientMessage::Ping) | number (8) |
//! | `16` | [`Visibility`](ClientMessage::Visibility) | one byte: 1 if it is visible, plus 2 if it is at the live edge |
//!
//! ```
//! use protocol::attach::ClientMessage;
//!
//! fn same(message: ClientMessage, bytes: &[u8]) {
//!     assert_eq!(message.encode(), bytes);
//!     assert_eq!(ClientMessage::decode(bytes).unwrap(), message);
//! }
//!
//! same(
//!     ClientMessage::Input { sequence: 1, bytes: b"ls\r".to_vec() },
//!     b"\x10\x00\x00\x00\x00\x00\x00\x00\x01ls\r",
//! );
//! same(ClientMessage::Size { columns: 80, rows: 24 }, b"\x11\x00\x50\x00\x18");
//! same(ClientMessage::Ack { offset: 4096 }, b"\x12\x00\x00\x00\x00\x00\x00\x10\x00");
//! same(ClientMessage::Claim, b"\x13");
//! same(ClientMessage::Yield, b"\x14");
//! same(ClientMessage::Ping { number: 258 }, b"\x15\x00\x00\x00\x00\x00\x00\x01\x02");
//! same(ClientMessage::Visibility { visible: true, at_live_edge: true }, b"\x16\x03");
//! ```
//!
//! What is none of these is refused, and closes the WebSocket with 1002:
//!
//! ```
//! use protocol::attach::{ClientMessage, MalformedMessage};
//!
//! assert_eq!(ClientMessage::decode(b""), Err(MalformedMessage::Empty));
//! assert_eq!(ClientMessage::decode(b"\x11\x00\x50\x00"), Err(MalformedMessage::Short(0x11)));
//! assert_eq!(ClientMessage::decode(b"\x01"), Err(MalformedMessage::UnknownType(0x01)));
//! ```

use serde::{Deserialize, Serialize};

use crate::sessions::{Exit, Size};

mod codec;

pub use codec::MalformedMessage;

/// What an attachment may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Output only; a slow viewer gets a snapshot instead of what it missed.
    #[default]
    View,
    /// Output, and input into the program.
    Write,
    /// Output only, every byte of it, and told where bytes are gone.
    Lossless,
}

/// Body of message 00.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
/// Close code: not permitted, or not any more; with [`UNWRITTEN`] as its reason, whatever one may.
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
