//! One offer and its states.

use core::time::Duration;

use crate::key::PublicKey;
use crate::limits::WRONG_SECRETS;
use crate::secret::{OfferSecret, SecretDigest};
use crate::{ApproveTerms, Label, OfferError, OfferId, OfferPhase, RequestId, Role, UnixMillis};

/// What the owner offers; an approval can still say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferTerms {
    /// The device's name.
    pub label: Option<Label>,
    /// The device's role.
    pub role: Option<Role>,
    /// Whether it may end devices that lack this.
    pub can_revoke: bool,
    /// Whether it may come on listeners that cannot say from which node.
    pub any_path: bool,
    /// How long the device shall live, from the approval on. The offer's own time is configured.
    pub expires_in: Option<Duration>,
}

/// The owner's invitation to pair, for one device.
pub(crate) struct Offer {
    pub(crate) id: OfferId,
    pub(crate) serial: u64,
    pub(crate) terms: OfferTerms,
    pub(crate) expires_at: UnixMillis,
    pub(crate) state: OfferState,
    secret: SecretDigest,
    wrong: u8,
}

/// Where an offer stands. "Expired" and "used up" are not here: they are computed from the time and the claim.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfferState {
    /// Nobody has shown a key.
    Open,
    /// It belongs to the key of this request.
    Claimed {
        public_key: PublicKey,
        request: RequestId,
    },
    Burned,
    Withdrawn,
}

impl Offer {
    pub(crate) fn new(
        id: OfferId,
        serial: u64,
        terms: OfferTerms,
        expires_at: UnixMillis,
        secret: &OfferSecret,
    ) -> Self {
        Self {
            id,
            serial,
            terms,
            expires_at,
            state: OfferState::Open,
            secret: secret.digest(id),
            wrong: 0,
        }
    }

    /// Checks a secret. The fifth wrong one burns an open offer; one that a device has claimed is past guessing.
    pub(crate) fn check(&mut self, secret: &OfferSecret) -> Result<(), OfferError> {
        if secret.digest(self.id).matches(&self.secret) {
            return Ok(());
        }
        self.wrong = self.wrong.saturating_add(1);
        if self.wrong >= WRONG_SECRETS && matches!(self.state, OfferState::Open) {
            self.state = OfferState::Burned;
        }
        Err(OfferError::Unknown)
    }

    /// Where it stands at this time.
    pub(crate) fn phase(&self, claim_is_live: bool, now: UnixMillis) -> OfferPhase {
        match self.state {
            OfferState::Open if self.expires_at <= now => OfferPhase::Expired,
            OfferState::Open => OfferPhase::Open,
            OfferState::Claimed { request, .. } if claim_is_live => OfferPhase::Claimed(request),
            OfferState::Claimed { request, .. } => OfferPhase::Used(request),
            OfferState::Burned => OfferPhase::Burned,
            OfferState::Withdrawn => OfferPhase::Withdrawn,
        }
    }

    /// The request that owns it.
    pub(crate) fn claim(&self) -> Option<RequestId> {
        match self.state {
            OfferState::Claimed { request, .. } => Some(request),
            OfferState::Open | OfferState::Burned | OfferState::Withdrawn => None,
        }
    }
}

impl OfferTerms {
    /// The same as the terms of an approval.
    pub(crate) fn offered(&self) -> ApproveTerms {
        ApproveTerms {
            label: self.label.clone(),
            role: self.role,
            can_revoke: Some(self.can_revoke),
            any_path: Some(self.any_path),
            expires_in: self.expires_in,
        }
    }
}
