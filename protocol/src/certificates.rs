//! Certificates: what the daemon's listeners show.

use jiff::Timestamp;
use pairing::DeviceId;
use serde::{Deserialize, Serialize};

/// `GET /v1/certificates`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certificates {
    /// The pin of the identity key, `sha256/<base64url>`.
    pub pin: String,
    /// What is served, the identity's own leaf first.
    pub certificates: Vec<Certificate>,
    /// The root that devices were told to trust, if they were.
    #[serde(default)]
    pub root: Option<Root>,
    /// The pin of the key that comes next, if one was announced.
    #[serde(default)]
    pub next_pin: Option<String>,
    /// The devices that are paired by a key, and how each knows the daemon.
    #[serde(default)]
    pub devices: Vec<Knowing>,
}

/// How a device knows the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knowing {
    /// The device.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::DeviceId"))]
    pub id: DeviceId,
    /// What it is called.
    pub label: String,
    /// By what.
    pub by: KnowsBy,
}

/// By what a device knows the daemon, as far as it has shown since the daemon began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KnowsBy {
    /// By its name, as browsers do: they look at the certificate.
    Name,
    /// By its pin, and by no other.
    Pin,
    /// By its pin, and it has kept the next one.
    NextPin,
    /// By a pin that is no more: it must pair again.
    FormerPin,
    /// It did not come since.
    Unknown,
}

/// `POST /v1/certificates/rotate` and `/v1/certificates/next`: there is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NextKey {}

/// The answer to a rotation: another key is served from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rotated {
    /// The pin of the key.
    pub pin: String,
    /// The pin of the one that is no more.
    pub former_pin: String,
    /// The devices, and how each knew the daemon until now.
    pub devices: Vec<Knowing>,
    /// How many connections were closed.
    pub closed: u64,
    /// Whether devices were told to trust a root, which vouches for the new key as it did for the former one.
    #[serde(default)]
    pub root_stays: bool,
}

/// The root of an authority that speaks for this daemon's names only: `POST /v1/certificates/trust` makes it where there is none
/// that is good for all of them, and `DELETE` forgets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Root {
    /// Its certificate, in PEM. It holds no secret.
    pub pem: String,
    /// SHA-256 of it in hexadecimal, as devices show it.
    pub sha256: String,
    /// The names and addresses that it may speak for.
    pub names: Vec<String>,
    /// Until when.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub not_after: Timestamp,
    /// Where a device that can reach the daemon gets it; absent where none can.
    pub url: Option<String>,
}

/// One certificate that is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certificate {
    /// Where it comes from.
    pub source: CertificateSource,
    /// The names and addresses for which it is shown.
    pub names: Vec<String>,
    /// Who issued it; absent where it is self-signed.
    pub issuer: Option<String>,
    /// The pin of its key.
    pub pin: String,
    /// SHA-256 of the whole certificate in hexadecimal, as browsers show it.
    pub sha256: String,
    /// From when it is valid.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub not_before: Timestamp,
    /// Until when.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub not_after: Timestamp,
    /// When the daemon makes it anew; absent where somebody else does.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub renews_at: Option<Timestamp>,
    /// Its file, if the user keeps it.
    pub file: Option<String>,
    /// The certificate itself, in PEM.
    #[serde(default)]
    pub pem: String,
}

/// Where a certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CertificateSource {
    /// Self-signed with the identity key.
    Identity,
    /// The pair that is configured as `listen.certificate` and `listen.key`.
    Own,
    /// The local tailscaled.
    Tailnet,
    /// Issued by the authority that the owner's devices were told to trust.
    Trusted,
}

/// `POST /v1/certificates/trust`: there is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Trust {}
