//! The bodies of pairing (in the words of RFC 8628).

use jiff::Timestamp;
use pairing::{DeviceId, OfferId, OfferSecret, RequestId, Role};
use serde::{Deserialize, Serialize};

use crate::{Bytes64, WireSecret};

/// `POST /v1/pairing/offers`: the terms of an offer; what is absent takes the configured default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NewOffer {
    /// The role that the device gets.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Role>"))]
    pub role: Option<Role>,
    /// The label that the device gets, instead of its own wish.
    pub label: Option<String>,
    /// Seconds for which the paired device stays trusted; absent: no end.
    pub expires_in: Option<u64>,
    /// Whether the device may revoke others.
    pub can_revoke: Option<bool>,
    /// Whether the device may come by any listener.
    pub any_path: Option<bool>,
}

/// The answer to a new offer, the only time its link is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferMade {
    /// The offer.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::OfferId"))]
    pub id: OfferId,
    /// The link that a device opens; its fragment holds the secret.
    pub url: WireSecret,
    /// Seconds until the offer ends.
    pub expires_in: u64,
}

/// An offer as the owner lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferView {
    /// The offer.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::OfferId"))]
    pub id: OfferId,
    /// `open`, `claimed` by a device that may still come of it, `used` up by one that has come or never will, `burned`,
    /// `withdrawn` or `expired`. Only `open` can be claimed.
    pub state: String,
    /// The role it gives.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Role"))]
    pub role: Role,
    /// The label it gives, if any.
    pub label: Option<String>,
    /// The request that claimed it, also after its end.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::RequestId>"))]
    pub request_id: Option<RequestId>,
    /// When it ends.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub expires_at: Timestamp,
}

/// An offer as the device shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct OfferProof {
    /// The offer's id, from the link.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::OfferId"))]
    pub id: OfferId,
    /// The offer's secret, from the link.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub secret: WireSecret,
}

impl OfferProof {
    /// Reads the fragment of an offer's link, `<id>.<secret>.<pin>`; the pin is still its text.
    pub fn from_fragment(fragment: &str) -> Option<(Self, &str)> {
        let mut parts = fragment.split('.');
        let (id, secret, pin) = (parts.next()?, parts.next()?, parts.next()?);
        let is_whole = parts.next().is_none() && OfferSecret::parse(secret).is_ok();
        let offer = Self {
            id: id.parse().ok()?,
            secret: WireSecret::new(secret),
        };
        is_whole.then_some((offer, pin))
    }
}

/// `POST /v1/pairing/requests`: step 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewRequest {
    /// What the device would like to be called.
    pub label: String,
    /// SHA-256 of the public key and the device's nonce, 32 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub commitment: Bytes64,
    /// The offer, if the device was shown one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub offer: Option<OfferProof>,
}

/// The answer to step 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Requested {
    /// The request.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::RequestId"))]
    pub request_id: RequestId,
    /// What the device polls with, as bearer.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub request_secret: WireSecret,
    /// The daemon's share of the code, 32 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub server_nonce: Bytes64,
    /// Seconds until the request ends.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub expires_in: u64,
    /// The least seconds between two polls that do not wait.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub interval: u64,
}

/// `POST .../{id}/reveal`: step 2.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// The uncompressed P-256 point, 65 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub public_key: Bytes64,
    /// The device's nonce, 32 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub nonce: Bytes64,
}

/// The status of a poll, in the words of RFC 8628 section 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PollStatus {
    /// The owner has not decided.
    AuthorizationPending,
    /// The device asks too often.
    SlowDown,
    /// The owner said no, or the offer is gone; the cause says which.
    AccessDenied,
    /// Time ran out.
    ExpiredToken,
    /// The owner said yes: go on with the exchange.
    Approved,
}

/// The query of step 3, and of the owner's lists of offers and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PollQuery {
    /// Seconds for which the answer may be held back until there is news; at most 25.
    #[serde(default)]
    pub wait: u64,
}

/// `GET .../{id}?wait=`: step 3.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Poll {
    /// Where the request stands.
    pub status: PollStatus,
    /// The least seconds between two polls that do not wait.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub interval: u64,
    /// What the exchange signs, once approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub exchange_nonce: Option<String>,
    /// Why it will not be a device, where it is not that time ran out: `request_rejected`, `request_displaced`,
    /// `request_superseded`, `offer_withdrawn`, `offer_claimed`, `offer_ended`, `locked_down`, `key_rotated` or
    /// `store_failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub cause: Option<String>,
}

/// `POST .../{id}/approve`: step 4; what is absent takes the offer's terms.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Approve {
    /// The role that the device gets.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Role>"))]
    pub role: Option<Role>,
    /// The label that the device gets.
    pub label: Option<String>,
    /// Seconds for which the paired device stays trusted.
    pub expires_in: Option<u64>,
    /// Whether the device may revoke others.
    pub can_revoke: Option<bool>,
    /// Whether the device may come by any listener.
    pub any_path: Option<bool>,
}

/// Where a request stands, as the owner sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Nobody decided yet.
    Pending,
    /// The owner said yes; the device has not come for its token.
    Approved,
    /// The device has its token and has not said that it kept it.
    Exchanged,
    /// The device is paired.
    Committed,
    /// The owner said no.
    Rejected,
    /// Time ran out.
    Expired,
    /// The device stayed away for too long.
    HungUp,
}

/// A request as the owner sees it: `GET /v1/pairing/requests`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestView {
    /// The request.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::RequestId"))]
    pub id: RequestId,
    /// Where it stands.
    pub state: RequestStatus,
    /// Six digits; null before the reveal.
    pub code: Option<String>,
    /// What the device would like to be called.
    pub label: String,
    /// The address it asks from.
    pub peer: String,
    /// Its tailnet user and node, where the listener knows them.
    pub tailnet: Option<String>,
    /// The role it would get.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Role"))]
    pub role: Role,
    /// The offer it claims.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::OfferId>"))]
    pub offer_id: Option<OfferId>,
    /// The device that it became, once committed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::DeviceId>"))]
    pub device_id: Option<DeviceId>,
    /// When it ends.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub expires_at: Timestamp,
}

/// `POST .../{id}/exchange`: step 5.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// `pin:<SPKI pin>` of a native client, `origin:https://host:port` of a browser.
    pub audience: String,
    /// ECDSA P-256 with SHA-256 over the pairing text, r ‖ s, 64 bytes.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub signature: Bytes64,
}

/// The answer to step 5: the token, this once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Exchanged {
    /// The device that this will be.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub device_id: DeviceId,
    /// The device token; it works once committed.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    pub token: WireSecret,
    /// What the device may do.
    #[cfg_attr(feature = "ts", ts(type = "\"viewer\" | \"operator\""))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Role"))]
    pub role: Role,
    /// The pin of the daemon's identity key.
    pub pin: String,
    /// The server name that a native client asks for.
    pub server_name: String,
}
