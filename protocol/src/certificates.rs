//! Certificates: what the daemon's listeners show.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// `GET /v1/certificates`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificates {
    /// The pin of the identity key, `sha256/<base64url>`.
    pub pin: String,
    /// What is served, the identity's own leaf first.
    pub certificates: Vec<Certificate>,
}

/// One certificate that is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub not_before: Timestamp,
    /// Until when.
    pub not_after: Timestamp,
    /// When the daemon makes it anew; absent where somebody else does.
    pub renews_at: Option<Timestamp>,
    /// Its file, if the user keeps it.
    pub file: Option<String>,
}

/// Where a certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
