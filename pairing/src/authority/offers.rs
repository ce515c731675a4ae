//! Making, listing and withdrawing offers.

use alloc::vec::Vec;

use rand_core::CryptoRng;

use super::Authority;
use crate::limits::MAX_OFFERS;
use crate::offer::{Offer, OfferState};
use crate::request::RequestState;
use crate::secret::OfferSecret;
use crate::{OfferError, OfferId, OfferPhase, OfferTerms, OfferView, RejectCause, RequestPhase, UnixMillis};

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

    /// One offer as its owner sees it.
    #[must_use]
    pub fn offer_by_id(&self, id: OfferId, now: UnixMillis) -> Option<OfferView> {
        self.offers.get(&id).map(|offer| self.offer_view(offer, now))
    }

    /// Takes an offer back, and with it the requests under it that wait for the owner. What the owner has approved
    /// goes on, and an offer that has ended stays what it is.
    ///
    /// # Errors
    /// [`OfferError::Unknown`].
    pub fn withdraw(&mut self, id: OfferId, now: UnixMillis) -> Result<(), OfferError> {
        let offer = self.offers.get(&id).ok_or(OfferError::Unknown)?;
        if self.offer_phase(offer, now).is_live() && !self.claim_is_approved(offer) {
            self.void(id);
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

    /// Where an offer stands.
    pub(super) fn offer_phase(&self, offer: &Offer, now: UnixMillis) -> OfferPhase {
        let claim = offer.claim().and_then(|id| self.phase(id, now));
        offer.phase(claim.is_some_and(RequestPhase::is_live), now)
    }

    /// Withdraws every offer of which a device could still come.
    pub(super) fn void_live_offers(&mut self, now: UnixMillis) {
        let live = self
            .offers
            .values()
            .filter(|offer| self.offer_phase(offer, now).is_live());
        for id in live.map(|offer| offer.id).collect::<Vec<_>>() {
            self.void(id);
        }
    }

    fn void(&mut self, id: OfferId) {
        if let Some(offer) = self.offers.get_mut(&id) {
            offer.state = OfferState::Withdrawn;
        }
    }

    fn offer_view(&self, offer: &Offer, now: UnixMillis) -> OfferView {
        OfferView {
            id: offer.id,
            terms: offer.terms.clone(),
            expires_at: offer.expires_at,
            phase: self.offer_phase(offer, now),
        }
    }

    fn claim_is_approved(&self, offer: &Offer) -> bool {
        let claim = offer.claim().and_then(|id| self.requests.get(&id));
        claim.is_some_and(|request| request.approval().is_some())
    }

    fn forget_an_ended_offer(&mut self, now: UnixMillis) -> bool {
        let ended = |offer: &&Offer| !self.offer_phase(offer, now).is_live();
        let oldest = self
            .offers
            .values()
            .filter(ended)
            .min_by_key(|offer| offer.serial)
            .map(|offer| offer.id);
        oldest.is_some_and(|id| self.offers.remove(&id).is_some())
    }
}
