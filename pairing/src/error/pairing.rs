//! What can go wrong on the way to becoming a device.

use core::time::Duration;

use super::Fault;
use crate::RejectCause;

/// Why an offer cannot be used, made or withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// No offer has this id and secret. The two are not told apart.
    #[error("there is no such offer")]
    Unknown,
    /// Nobody claimed it in time.
    #[error("this offer has expired; ask for a new one")]
    Expired,
    /// The first key that showed it owns it, and this is another.
    #[error("another device has claimed this offer")]
    Claimed,
    /// What claimed it became a device, was rejected or ran out of time.
    #[error("this offer is used up; ask for a new one")]
    Used,
    /// Too many wrong secrets were tried.
    #[error("this offer was ended after too many wrong guesses; ask for a new one")]
    Burned,
    /// The owner took it back.
    #[error("the owner has withdrawn this offer")]
    Withdrawn,
    /// The owner has too many.
    #[error("there are too many offers; withdraw some or wait until they expire")]
    TooMany,
}

impl OfferError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown_offer",
            Self::Expired => "offer_expired",
            Self::Claimed => "offer_claimed",
            Self::Used => "offer_used",
            Self::Burned => "offer_burned",
            Self::Withdrawn => "offer_withdrawn",
            Self::TooMany => "too_many_offers",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Unknown => Fault::Credential,
            Self::Expired | Self::Claimed | Self::Used | Self::Burned | Self::Withdrawn => Fault::Timing,
            Self::TooMany => Fault::Limit,
        }
    }
}

/// Why a pairing request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The offer that it shows is no good.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// This peer has as many as one may have.
    #[error("too many pairing requests from here are waiting for the owner")]
    TooManyPending {
        /// When the first of them is over, unless its device is heard of.
        retry_after: Duration,
    },
}

impl RequestError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Offer(error) => error.code(),
            Self::TooManyPending { .. } => "too_many_pending",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Offer(error) => error.fault(),
            Self::TooManyPending { .. } => Fault::Limit,
        }
    }
}

/// Why a reveal was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevealError {
    /// No request has this id and secret.
    #[error("there is no such pairing request")]
    UnknownRequest,
    /// The request is over.
    #[error("this pairing request has expired; begin again")]
    Expired,
    /// The request was rejected.
    #[error("this pairing request was rejected: {0}")]
    Rejected(RejectCause),
    /// Key and nonce are not those that the device committed to.
    #[error("key and nonce do not match the commitment")]
    CommitmentMismatch,
    /// Another key or nonce was revealed before.
    #[error("this pairing request has revealed another key")]
    AlreadyRevealed,
    /// The offer that the request showed is no good any more.
    #[error(transparent)]
    Offer(#[from] OfferError),
}

impl RevealError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownRequest => UNKNOWN,
            Self::Expired => EXPIRED,
            Self::Rejected(cause) => cause.code(),
            Self::CommitmentMismatch => "commitment_mismatch",
            Self::AlreadyRevealed => "already_revealed",
            Self::Offer(error) => error.code(),
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownRequest => Fault::Credential,
            Self::CommitmentMismatch => Fault::Malformed,
            Self::Expired | Self::Rejected(_) | Self::AlreadyRevealed => Fault::Timing,
            Self::Offer(error) => error.fault(),
        }
    }
}

/// Why a poll has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PollError {
    /// No request has this id and secret.
    #[error("there is no such pairing request")]
    UnknownRequest,
}

impl PollError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        UNKNOWN
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        Fault::Credential
    }
}

/// Why the owner's yes makes no device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApproveError {
    /// There is no such request.
    #[error("there is no such pairing request")]
    UnknownRequest,
    /// The device has not shown its key, so there is no code to compare yet.
    #[error("the device has not shown its key yet; wait until it shows a code")]
    NotRevealed,
    /// Time ran out.
    #[error("this pairing request has expired; let the device begin again")]
    Expired,
    /// The device gave up waiting.
    #[error("the device is gone: it has stopped asking; let it begin again")]
    DeviceAway,
    /// The request was rejected.
    #[error("this pairing request was rejected: {0}")]
    Rejected(RejectCause),
}

impl ApproveError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownRequest => UNKNOWN,
            Self::NotRevealed => "not_revealed",
            Self::Expired => EXPIRED,
            Self::DeviceAway => "device_away",
            Self::Rejected(cause) => cause.code(),
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownRequest => Fault::Unknown,
            Self::NotRevealed | Self::Expired | Self::DeviceAway | Self::Rejected(_) => Fault::Timing,
        }
    }
}

/// Why the owner's no comes to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RejectError {
    /// There is no such request.
    #[error("there is no such pairing request")]
    UnknownRequest,
    /// It is a device already, or is being stored as one.
    #[error("this pairing request has become a device; revoke that")]
    AlreadyCommitted,
}

impl RejectError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownRequest => UNKNOWN,
            Self::AlreadyCommitted => COMMITTED,
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownRequest => Fault::Unknown,
            Self::AlreadyCommitted => Fault::Timing,
        }
    }
}

/// Why six digits name no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No waiting request shows this code.
    #[error("no waiting device shows this code")]
    NoMatch,
    /// Several do.
    #[error("several waiting devices show this code; reject them and begin again")]
    Ambiguous,
}

impl FindError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoMatch => "unknown_code",
            Self::Ambiguous => "ambiguous_code",
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::NoMatch => Fault::Unknown,
            Self::Ambiguous => Fault::Timing,
        }
    }
}

/// Why there is no token for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// No request has this id and secret.
    #[error("there is no such pairing request")]
    UnknownRequest,
    /// The owner has not said yes.
    #[error("the owner has not approved this pairing request")]
    NotApproved,
    /// Time ran out.
    #[error("this pairing request has expired; begin again")]
    Expired,
    /// The request was rejected.
    #[error("this pairing request was rejected: {0}")]
    Rejected(RejectCause),
    /// The device talks to something that is not this daemon.
    #[error("the audience is neither this daemon's pin nor one of its origins")]
    WrongAudience,
    /// The signature is not by the revealed key over the expected text.
    #[error("the signature does not verify")]
    BadSignature,
    /// The former token is being stored at this moment.
    #[error("a commit of this pairing request is under way")]
    CommitUnderWay,
    /// The request is a device already.
    #[error("this pairing request has become a device")]
    AlreadyCommitted,
}

impl ExchangeError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownRequest => UNKNOWN,
            Self::NotApproved => "not_approved",
            Self::Expired => EXPIRED,
            Self::Rejected(cause) => cause.code(),
            Self::WrongAudience => "wrong_audience",
            Self::BadSignature => "bad_signature",
            Self::CommitUnderWay => "commit_under_way",
            Self::AlreadyCommitted => COMMITTED,
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownRequest | Self::WrongAudience | Self::BadSignature => Fault::Credential,
            Self::NotApproved
            | Self::Expired
            | Self::Rejected(_)
            | Self::CommitUnderWay
            | Self::AlreadyCommitted => Fault::Timing,
        }
    }
}

/// Why a commit makes no device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// No live request has given out this token: it is of another request, was replaced by a later exchange, or the
    /// owner has said no since.
    #[error("this token belongs to no pairing request")]
    UnknownToken,
    /// Time ran out.
    #[error("this pairing request has expired; begin again")]
    Expired,
}

impl CommitError {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownToken => "unknown_token",
            Self::Expired => EXPIRED,
        }
    }

    /// Who is at fault.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::UnknownToken => Fault::Credential,
            Self::Expired => Fault::Timing,
        }
    }
}

/// One name each for what several calls can answer.
const UNKNOWN: &str = "unknown_request";
const EXPIRED: &str = "request_expired";
const COMMITTED: &str = "already_committed";
