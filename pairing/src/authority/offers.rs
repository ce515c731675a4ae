//! Making, listing and withdrawing offers.

use alloc::vec::Vec;

use rand_core::CryptoRng;

use super::Authority;
use crate::limits::MAX_OFFERS;
use crate::offer::{Offer, OfferState};
use crate::request::RequestState;
use crate::secret::OfferSecret;
use crate::{OfferError, OfferId, OfferPhase, OfferTerms, OfferView, RejectCause, UnixMillis};

impl Authority {
    /// Makes an offer. Only the owner may.
    ///
    /// # Errors
    /// [`OfferError::TooMany`].
    pub fn offer(
        &mut self,
        terms: OfferTerms,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<(OfferView, OfferSecret), OfferError> {
        self.upkeep(now);
        if self.offers.len() >= MAX_OFFERS && !self.forget_an_ended_offer(now) {
            return Err(OfferError::TooMany);
        }
        let id = OfferId::generate(rng);
        let secret = OfferSecret::generate(rng);
        let expires_at = now.plus(self.limits.offer_ttl);
        let offer = Offer::new(id, self.next_serial(), terms, expires_at, &secret);
        let view = self.offer_view(&offer, now);
        self.offers.insert(id, offer);
        Ok((view, secret))
    }

    /// The offers, oldest first, those included that ended within the last minutes.
    #[must_use]
    pub fn offers(&self, now: UnixMillis) -> Vec<OfferView> {
        let mut offers: Vec<_> = self.offers.values().collect();
        offers.sort_by_key(|offer| offer.serial);
        offers
            .into_iter()
            .map(|offer| self.offer_view(offer, now))
            .collect()
    }

    /// Takes an offer back, and with it the requests under it that wait for the owner. What the owner has approved
    /// goes on.
    ///
    /// # Errors
    /// [`OfferError::Unknown`].
    pub fn withdraw(&mut self, id: OfferId, now: UnixMillis) -> Result<(), OfferError> {
        let approved = self.claim_is_approved(id);
        let offer = self.offers.get_mut(&id).ok_or(OfferError::Unknown)?;
        if !approved {
            offer.state = OfferState::Withdrawn;
        }
        let waiting = self
            .requests
            .values()
            .filter(|request| request.offer == Some(id) && matches!(request.state, RequestState::Pending(_)));
        for id in waiting.map(|request| request.id).collect::<Vec<_>>() {
            self.end(id, RejectCause::OfferWithdrawn, now);
        }
        Ok(())
    }

    pub(super) fn claim_is_live(&self, offer: &Offer, now: UnixMillis) -> bool {
        offer
            .claim()
            .and_then(|id| self.requests.get(&id))
            .is_some_and(|request| request.phase(&self.limits, now).is_live())
    }

    fn offer_view(&self, offer: &Offer, now: UnixMillis) -> OfferView {
        let phase = match (offer.usable(self.claim_is_live(offer, now), now), offer.claim()) {
            (Ok(()), Some(request)) => OfferPhase::Claimed(request),
            (Ok(()), None) => OfferPhase::Open,
            (Err(OfferError::Expired), _) => OfferPhase::Expired,
            (Err(OfferError::Burned), _) => OfferPhase::Burned,
            (Err(OfferError::Withdrawn), _) => OfferPhase::Withdrawn,
            (Err(_), _) => OfferPhase::Used,
        };
        OfferView {
            id: offer.id,
            terms: offer.terms.clone(),
            expires_at: offer.expires_at,
            phase,
        }
    }

    fn claim_is_approved(&self, id: OfferId) -> bool {
        let claim = self
            .offers
            .get(&id)
            .and_then(Offer::claim)
            .and_then(|id| self.requests.get(&id));
        claim.is_some_and(|request| request.approval().is_some())
    }

    fn forget_an_ended_offer(&mut self, now: UnixMillis) -> bool {
        let ended = |offer: &&Offer| offer.usable(self.claim_is_live(offer, now), now).is_err();
        let oldest = self
            .offers
            .values()
            .filter(ended)
            .min_by_key(|offer| offer.serial)
            .map(|offer| offer.id);
        oldest.is_some_and(|id| self.offers.remove(&id).is_some())
    }
}
