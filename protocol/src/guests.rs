//! Bodies about guests.

use jiff::Timestamp;
use pairing::GuestId;
use serde::{Deserialize, Serialize};

use crate::{Bytes64, WireSecret};

/// `POST /v1/guests`: invites somebody to look at sessions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewInvitation {
    /// The sessions, by id.
    pub sessions: Vec<String>,
    /// Seconds from now until nobody that came of it is a guest any more, at most 7 days.
    pub expires_in: u64,
    /// How many links, each for one browser, at most 32; absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Whether what was printed before is shown, too.
    #[serde(default)]
    pub with_scrollback: bool,
    /// Who of the daemon's tailnet the links are for, such as `alice@example.com`; absent: whoever has one. Until the end, that
    /// user is let in over the tailnet to be a guest, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

/// One link that was made: the answer is an array of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InvitationMade {
    /// Who the link makes of whoever opens it first.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::GuestId"))]
    pub id: GuestId,
    /// The link, this once; its secret stands in the fragment.
    pub url: WireSecret,
    /// When its guest is one no more.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub expires_at: Timestamp,
}

/// Where a guest stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GuestState {
    /// Nobody has used the link.
    Invited,
    /// Somebody has, and may look.
    Joined,
    /// They were ended.
    Revoked,
    /// They left.
    Left,
    /// Their time was over.
    Expired,
    /// Somebody guessed at the link.
    Burned,
    /// Every remote way in was closed.
    LockedDown,
}

/// Somebody else showed a link that was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestRefused {
    /// How often.
    pub count: u32,
    /// When last.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub last_at: Timestamp,
    /// From which address last.
    pub last_address: String,
}

/// A guest as the owner sees it: `GET /v1/guests`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestRecord {
    /// The guest.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::GuestId"))]
    pub id: GuestId,
    /// Where they stand.
    pub state: GuestState,
    /// What they may look at, by id.
    pub sessions: Vec<String>,
    /// Whether what was printed before the invitation is shown, too.
    pub with_scrollback: bool,
    /// Who of the tailnet was invited, if that was said.
    pub login: Option<String>,
    /// When they were invited.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub invited_at: Timestamp,
    /// When they are, or were, a guest no more.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub expires_at: Timestamp,
    /// When the link was used.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub joined_at: Option<Timestamp>,
    /// From which address.
    pub address: Option<String>,
    /// Who else showed the link.
    pub refused: Option<GuestRefused>,
    /// Their live connections.
    pub connections: u64,
}

/// `POST /v1/guests/exchange`: a browser shows a link, and a key that it made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct GuestExchange {
    /// The guest that the link names.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::GuestId"))]
    pub id: GuestId,
    /// The link's secret.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub secret: WireSecret,
    /// The uncompressed P-256 point, 65 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub public_key: Bytes64,
    /// A challenge of this daemon.
    pub challenge: String,
    /// `pin:<SPKI pin>` of a native client, `origin:https://host:port` of a browser.
    pub audience: String,
    /// ECDSA P-256 with SHA-256 over the lines `transom-guest-v1`, challenge, audience and guest id, r ‖ s, 64 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub signature: Bytes64,
}

/// The answer: the token, this once. It opens the auth lane only.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct GuestJoined {
    /// The guest's token.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub token: WireSecret,
    /// Seconds for which it is one.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub expires_in: u64,
    /// The pin of the daemon's identity key.
    pub pin: String,
}

/// `GET /v1/guests/self`: the guest's own record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct GuestSelf {
    /// The guest.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::GuestId"))]
    pub id: GuestId,
    /// What it may look at, by id.
    pub sessions: Vec<String>,
    /// Whether what was printed before the invitation is shown, too.
    pub with_scrollback: bool,
    /// Seconds for which it is a guest.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub expires_in: u64,
}

/// `DELETE /v1/guests/{id}` and `/v1/guests/self`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestEnded {
    /// Who is a guest no more.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::GuestId"))]
    pub guest_id: GuestId,
    /// How many of their connections were closed.
    pub closed: u64,
    /// From the request to the answer, in microseconds.
    pub elapsed_us: u64,
}
