//! One pairing request and its states.

use alloc::string::String;
use core::fmt;
use core::time::Duration;

use crate::key::{Commitment, Nonce, PublicKey};
use crate::proof::ExchangeNonce;
use crate::token::TokenHash;
use crate::{
    ApproveError, DeviceId, Label, OfferId, PairingCode, PairingLimits, RequestId, Role, TailnetIdentity,
};
use crate::{RejectError, UnixMillis};

/// A device's pending wish.
#[derive(Debug)]
pub(crate) struct PairingRequest {
    pub(crate) id: RequestId,
    /// Order of arrival: several requests may share a millisecond.
    pub(crate) serial: u64,
    pub(crate) secret: TokenHash,
    pub(crate) label: Label,
    pub(crate) commitment: Commitment,
    pub(crate) server_nonce: Nonce,
    pub(crate) offer: Option<OfferId>,
    /// For limits only; `address` is what people are shown.
    pub(crate) peer: String,
    pub(crate) address: String,
    pub(crate) tailnet: Option<TailnetIdentity>,
    pub(crate) created: UnixMillis,
    pub(crate) state: RequestState,
}

/// Where a request stands. "Expired" is not here: it is computed from the time.
#[derive(Clone, Debug)]
pub(crate) enum RequestState {
    /// Waits for the owner.
    Pending(Pending),
    /// The owner said yes.
    Approved(Approval),
    /// A token was given out; nothing is stored yet.
    Exchanged {
        approval: Approval,
        token_hash: TokenHash,
        /// Whether the record is on its way to the store. From then on the token stays and the owner's no is too late.
        committing: bool,
    },
    /// It is a device.
    Committed {
        approval: Approval,
        token_hash: TokenHash,
        at: UnixMillis,
    },
    /// It will never be one.
    Rejected { cause: RejectCause, at: UnixMillis },
}

#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) deadline: UnixMillis,
    /// Written at every sign of life of the device; the away limit counts from here.
    pub(crate) last_seen: UnixMillis,
    /// The last poll that did not wait.
    pub(crate) last_poll: Option<UnixMillis>,
    /// Grows with each poll that came too fast (RFC 8628, 3.5).
    pub(crate) interval: Duration,
    pub(crate) reveal: Option<Reveal>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reveal {
    pub(crate) public_key: PublicKey,
    pub(crate) nonce: Nonce,
    pub(crate) code: PairingCode,
}

#[derive(Clone, Debug)]
pub(crate) struct Approval {
    pub(crate) reveal: Reveal,
    pub(crate) grant: Grant,
    pub(crate) device_id: DeviceId,
    pub(crate) exchange_nonce: ExchangeNonce,
    /// For exchange and commit.
    pub(crate) deadline: UnixMillis,
    /// Whether its embedder knows that the deadline passed without a device.
    pub(crate) has_lapsed: bool,
}

/// What the owner gives to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its name.
    pub label: Label,
    /// Its role.
    pub role: Role,
    /// Whether it may end devices that lack this.
    pub can_revoke: bool,
    /// Whether it may come on listeners that cannot say from which node.
    pub any_path: bool,
    /// When it ends.
    pub expires_at: Option<UnixMillis>,
}

/// What the owner says with a yes. What is absent comes from the offer, and without one from the request and the
/// configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApproveTerms {
    /// Another name than the device gave itself.
    pub label: Option<Label>,
    /// The role.
    pub role: Option<Role>,
    /// See [`Grant::can_revoke`].
    pub can_revoke: Option<bool>,
    /// See [`Grant::any_path`].
    pub any_path: Option<bool>,
    /// How long the device shall live, from the approval on.
    pub expires_in: Option<Duration>,
}

/// Why a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectCause {
    /// The owner said no.
    Owner,
    /// There were too many pending requests, and its peer had most of them.
    Displaced,
    /// The same key has begun anew.
    Superseded,
    /// The owner withdrew its offer.
    OfferWithdrawn,
    /// Its offer belongs to another key.
    OfferClaimed,
    /// Its offer expired, was burned or used up before its key was shown.
    OfferEnded,
    /// Every remote way in was closed.
    LockedDown,
    /// The daemon has another identity key than the one that the device was shown.
    KeyRotated,
    /// The daemon could not write down what it must of every request.
    StoreFailed,
}

/// Where a request stands at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPhase {
    /// Waits for the owner.
    Pending,
    /// The owner said yes.
    Approved,
    /// A token was given out; nothing is stored yet.
    Exchanged,
    /// It is a device.
    Committed,
    /// It will never be one.
    Rejected(RejectCause),
    /// Its time ran out.
    Expired,
    /// Its device stayed away for too long while it was pending.
    Away,
}

impl PairingRequest {
    pub(crate) fn phase(&self, limits: &PairingLimits, now: UnixMillis) -> RequestPhase {
        match &self.state {
            RequestState::Pending(pending) if pending.deadline <= now => RequestPhase::Expired,
            RequestState::Pending(pending) if pending.last_seen.plus(limits.away) <= now => {
                RequestPhase::Away
            }
            RequestState::Pending(_) => RequestPhase::Pending,
            RequestState::Approved(approval) if approval.deadline <= now => RequestPhase::Expired,
            RequestState::Approved(_) => RequestPhase::Approved,
            RequestState::Exchanged {
                approval,
                committing: false,
                ..
            } if approval.deadline <= now => RequestPhase::Expired,
            RequestState::Exchanged { .. } => RequestPhase::Exchanged,
            RequestState::Committed { .. } => RequestPhase::Committed,
            RequestState::Rejected { cause, .. } => RequestPhase::Rejected(*cause),
        }
    }

    /// When it ends, or ended.
    pub(crate) fn ends_at(&self, limits: &PairingLimits) -> UnixMillis {
        match &self.state {
            RequestState::Pending(pending) => pending.deadline.min(pending.last_seen.plus(limits.away)),
            RequestState::Approved(approval) | RequestState::Exchanged { approval, .. } => approval.deadline,
            RequestState::Committed { at, .. } | RequestState::Rejected { at, .. } => *at,
        }
    }

    /// When it ends at the latest, or ended.
    pub(crate) fn deadline(&self) -> UnixMillis {
        match &self.state {
            RequestState::Pending(pending) => pending.deadline,
            RequestState::Approved(approval) | RequestState::Exchanged { approval, .. } => approval.deadline,
            RequestState::Committed { at, .. } | RequestState::Rejected { at, .. } => *at,
        }
    }

    pub(crate) fn reveal(&self) -> Option<&Reveal> {
        match &self.state {
            RequestState::Pending(pending) => pending.reveal.as_ref(),
            RequestState::Approved(approval)
            | RequestState::Exchanged { approval, .. }
            | RequestState::Committed { approval, .. } => Some(&approval.reveal),
            RequestState::Rejected { .. } => None,
        }
    }

    /// The approval of one that is no device yet.
    pub(crate) fn unfinished(&mut self) -> Option<&mut Approval> {
        match &mut self.state {
            RequestState::Approved(approval) | RequestState::Exchanged { approval, .. } => Some(approval),
            RequestState::Pending(_) | RequestState::Committed { .. } | RequestState::Rejected { .. } => None,
        }
    }

    pub(crate) fn approval(&self) -> Option<&Approval> {
        match &self.state {
            RequestState::Approved(approval)
            | RequestState::Exchanged { approval, .. }
            | RequestState::Committed { approval, .. } => Some(approval),
            RequestState::Pending(_) | RequestState::Rejected { .. } => None,
        }
    }
}

impl RequestState {
    /// The owner's yes. A state that already has it stays as it is: twice gives one device.
    pub(crate) fn approve(self, approval: impl FnOnce(Reveal) -> Approval) -> Result<Self, ApproveError> {
        match self {
            Self::Pending(Pending {
                reveal: Some(reveal), ..
            }) => Ok(Self::Approved(approval(reveal))),
            Self::Pending(_) => Err(ApproveError::NotRevealed),
            Self::Approved(_) | Self::Exchanged { .. } | Self::Committed { .. } => Ok(self),
            Self::Rejected { cause, .. } => Err(ApproveError::Rejected(cause)),
        }
    }

    /// The end without a device. A request that is over already stays as it is.
    pub(crate) fn reject(self, cause: RejectCause, at: UnixMillis) -> Result<Self, RejectError> {
        match self {
            Self::Pending(_)
            | Self::Approved(_)
            | Self::Exchanged {
                committing: false, ..
            } => Ok(Self::Rejected { cause, at }),
            Self::Exchanged { committing: true, .. } | Self::Committed { .. } => {
                Err(RejectError::AlreadyCommitted)
            }
            Self::Rejected { .. } => Ok(self),
        }
    }

    /// A token was made; a former one opens nothing any more.
    pub(crate) fn exchange(self, token_hash: TokenHash) -> Self {
        match self {
            Self::Approved(approval)
            | Self::Exchanged {
                approval,
                committing: false,
                ..
            } => Self::Exchanged {
                approval,
                token_hash,
                committing: false,
            },
            other => other,
        }
    }

    /// The record goes to the store, or did not arrive there.
    pub(crate) fn committing(self, committing: bool) -> Self {
        match self {
            Self::Exchanged {
                approval, token_hash, ..
            } => Self::Exchanged {
                approval,
                token_hash,
                committing,
            },
            other => other,
        }
    }

    /// The record is in the store.
    pub(crate) fn commit(self, at: UnixMillis) -> Self {
        match self {
            Self::Exchanged {
                approval,
                token_hash,
                committing: true,
            } => Self::Committed {
                approval,
                token_hash,
                at,
            },
            other => other,
        }
    }
}

impl ApproveTerms {
    /// What these terms give, `offered` filling the gaps.
    pub(crate) fn grant(self, offered: Self, own: &Label, default_role: Role, now: UnixMillis) -> Grant {
        Grant {
            label: self.label.or(offered.label).unwrap_or_else(|| own.clone()),
            role: self.role.or(offered.role).unwrap_or(default_role),
            can_revoke: self.can_revoke.or(offered.can_revoke).unwrap_or(false),
            any_path: self.any_path.or(offered.any_path).unwrap_or(false),
            expires_at: self
                .expires_in
                .or(offered.expires_in)
                .map(|lifetime| now.plus(lifetime)),
        }
    }
}

impl RejectCause {
    /// A stable name.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Owner => "request_rejected",
            Self::Displaced => "request_displaced",
            Self::Superseded => "request_superseded",
            Self::OfferWithdrawn => "offer_withdrawn",
            Self::OfferClaimed => "offer_claimed",
            Self::OfferEnded => "offer_ended",
            Self::LockedDown => "locked_down",
            Self::KeyRotated => "key_rotated",
            Self::StoreFailed => "store_failed",
        }
    }
}

impl fmt::Display for RejectCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "the owner said no",
            Self::Displaced => "too many requests were waiting",
            Self::Superseded => "the same device has begun anew",
            Self::OfferWithdrawn => "the owner has withdrawn the offer",
            Self::OfferClaimed => "another device has claimed the offer",
            Self::OfferEnded => "the offer has ended",
            Self::LockedDown => "the daemon was locked down",
            Self::KeyRotated => "the daemon has another identity key now",
            Self::StoreFailed => "the daemon could not write its store",
        })
    }
}

impl RequestPhase {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Exchanged => "exchanged",
            Self::Committed => "committed",
            Self::Rejected(_) => "rejected",
            Self::Expired | Self::Away => "expired",
        }
    }

    /// Whether it may still become a device.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Approved | Self::Exchanged)
    }
}

#[cfg(test)]
mod tests;
