//! What others get to see of offers and requests.

use alloc::string::String;
use core::time::Duration;

use crate::proof::ExchangeNonce;
use crate::{DeviceId, Label, OfferId, OfferTerms, PairingCode, RejectCause, RequestId, RequestPhase, Role};
use crate::{OfferError, TailnetIdentity, UnixMillis};

/// An offer as its owner sees it.
#[derive(Clone, Debug)]
pub struct OfferView {
    /// Which offer.
    pub id: OfferId,
    /// What it offers.
    pub terms: OfferTerms,
    /// When it can no longer be claimed.
    pub expires_at: UnixMillis,
    /// Where it stands.
    pub phase: OfferPhase,
}

/// Where an offer stands at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferPhase {
    /// Can be claimed.
    Open,
    /// This request's key owns it.
    Claimed(RequestId),
    /// The claim of this request has become a device, was rejected or ran out of time.
    Used(RequestId),
    /// Ended by wrong secrets.
    Burned,
    /// Taken back.
    Withdrawn,
    /// Nobody claimed it in time.
    Expired,
}

impl OfferPhase {
    /// Whether a device can still come of it.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::Claimed(_))
    }

    /// Whether it can be claimed, or shown again by the key that owns it.
    pub(crate) const fn usable(self) -> Result<(), OfferError> {
        match self {
            Self::Open | Self::Claimed(_) => Ok(()),
            Self::Used(_) => Err(OfferError::Used),
            Self::Burned => Err(OfferError::Burned),
            Self::Withdrawn => Err(OfferError::Withdrawn),
            Self::Expired => Err(OfferError::Expired),
        }
    }
}

/// A request as the owner sees it.
#[derive(Clone, Debug)]
pub struct RequestView {
    /// Which request.
    pub id: RequestId,
    /// Where it stands.
    pub phase: RequestPhase,
    /// What its device shows; none before the reveal and after a rejection.
    pub code: Option<PairingCode>,
    /// What the device calls itself, or what the owner made of it.
    pub label: Label,
    /// From where it came.
    pub address: String,
    /// What the tailnet says about it.
    pub tailnet: Option<TailnetIdentity>,
    /// The role that it has, or would get from a plain yes.
    pub role: Role,
    /// The offer that it showed.
    pub offer: Option<OfferId>,
    /// The device that it becomes or has become.
    pub device_id: Option<DeviceId>,
    /// When it began.
    pub created: UnixMillis,
    /// When it ends, unless its device is heard of before that.
    pub expires_at: UnixMillis,
    /// When it ends however often its device asks for news: what both sides are told.
    pub deadline: UnixMillis,
}

/// How a device asks for news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollKind {
    /// Wants an answer at once; may not come faster than the interval.
    Quick,
    /// Waits for news. A long wait is never too fast.
    Wait,
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PollAnswer {
    /// The news.
    pub status: PollStatus,
    /// Least time until the next quick poll.
    pub interval: Duration,
    /// What to sign for the exchange, once approved.
    pub exchange_nonce: Option<ExchangeNonce>,
    /// Why it will never be a device, where it is not that its time ran out.
    pub cause: Option<RejectCause>,
}

/// News for a waiting device, in the words of RFC 8628, 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollStatus {
    /// The owner has not decided.
    AuthorizationPending,
    /// Likewise, and this poll came too fast.
    SlowDown,
    /// The owner said no, the offer belongs to another, or the daemon ended it: the cause tells.
    AccessDenied,
    /// Begin again.
    ExpiredToken,
    /// The owner said yes.
    Approved,
}

impl PollStatus {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::AccessDenied => "access_denied",
            Self::ExpiredToken => "expired_token",
            Self::Approved => "approved",
        }
    }
}
