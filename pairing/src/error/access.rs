//! Why a proof of possession gives nothing.

use core::time::Duration;

use super::{AuthError, Fault};

/// Why a challenge cannot be proven, or not any more. A refusal brings another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChallengeError {
    /// It is none, or of another listener or another run of the daemon.
    #[error("this listener has not made that challenge")]
    Foreign,
    /// It is too old.
    #[error("the challenge has expired")]
    Expired,
    /// It was proven before.
    #[error("the challenge was used before")]
    Used,
    /// The device has used more than are remembered.
    #[error("this device proves its key too often")]
    TooMany {
        /// When the first of them is forgotten.
        retry_after: Duration,
    },
}

impl ChallengeError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Foreign => "unknown_challenge",
            Self::Expired => "challenge_expired",
            Self::Used => "challenge_used",
            Self::TooMany { .. } => "too_many_proofs",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Foreign | Self::Expired | Self::Used => Fault::Credential,
            Self::TooMany { .. } => Fault::Limit,
        }
    }
}

/// Why a proof gives no access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The challenge is no good.
    #[error(transparent)]
    Challenge(#[from] ChallengeError),
    /// The device may not come from there.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The device has no key: its token is used as it is.
    #[error("this device has no key to prove")]
    NoKey,
    /// The device talks to something that is not this daemon.
    #[error("the audience is neither this daemon's pin nor one of its origins")]
    WrongAudience,
    /// The signature is not by the device's key over the expected text.
    #[error("the signature does not verify")]
    BadSignature,
}

impl ProofError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Challenge(error) => error.code(),
            Self::Auth(error) => error.code(),
            Self::NoKey => "no_device_key",
            Self::WrongAudience => "wrong_audience",
            Self::BadSignature => "bad_signature",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Challenge(error) => error.fault(),
            Self::Auth(error) => error.fault(),
            Self::NoKey => Fault::Malformed,
            Self::WrongAudience | Self::BadSignature => Fault::Credential,
        }
    }
}
