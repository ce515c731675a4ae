//! The device's side until the owner decides: the first word, and the reveal.

use alloc::vec::Vec;

use rand_core::CryptoRng;

use super::{Authority, NewRequest, OfferClaim, Requested};
use crate::UnixMillis;
use crate::code::{CodeInput, PairingCode};
use crate::key::{Commitment, Nonce, PublicKey};
use crate::limits::{HIDDEN_PER_OFFER, PENDING_PER_PEER};
use crate::offer::OfferState;
use crate::request::{PairingRequest, Pending, RequestState, Reveal};
use crate::{
    OfferError, OfferId, RejectCause, RequestError, RequestId, RequestPhase, RequestSecret, RevealError,
};

impl Authority {
    /// Takes a device's first word. A request with a good offer stands outside the caps; the same offer with the same
    /// commitment, as after a lost answer, is the same request under a new secret.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn request(
        &mut self,
        new: NewRequest,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Requested, RequestError> {
        self.upkeep(now);
        match &new.offer {
            Some(claim) => {
                self.check_offer(claim, now)?;
                if let Some(id) = self.same_request(claim.id, &new.commitment, now) {
                    return Ok(self.hand_out(id, now, rng));
                }
                self.make_room_under(claim.id, now);
            }
            None => self.make_room(&new.peer, now)?,
        }
        let id = self.insert(new, now, rng);
        Ok(self.hand_out(id, now, rng))
    }

    /// Takes key and nonce that a device committed to, and claims its offer with the key. From here on there is a
    /// code. The same reveal again changes nothing. `pin` is `sha256/<base64url>` of the certificate's key.
    ///
    /// # Errors
    /// See [`RevealError`]. If the offer belongs to another key the request is over.
    pub fn reveal(
        &mut self,
        id: RequestId,
        secret: &RequestSecret,
        (public_key, nonce): (&PublicKey, &Nonce),
        pin: &str,
        now: UnixMillis,
    ) -> Result<(), RevealError> {
        self.upkeep(now);
        let request = self.open(id, secret).ok_or(RevealError::UnknownRequest)?;
        let phase = request.phase(&self.limits, now);
        match phase {
            RequestPhase::Expired | RequestPhase::Away => return Err(RevealError::Expired),
            RequestPhase::Rejected(cause) => return Err(RevealError::Rejected(cause)),
            RequestPhase::Pending
            | RequestPhase::Approved
            | RequestPhase::Exchanged
            | RequestPhase::Committed => {}
        }
        if let Some(before) = request.reveal() {
            let same = before.public_key == *public_key && before.nonce == *nonce;
            return if same {
                Ok(())
            } else {
                Err(RevealError::AlreadyRevealed)
            };
        }
        if !request.commitment.matches(public_key, nonce) {
            return Err(RevealError::CommitmentMismatch);
        }
        let server_nonce = request.server_nonce;
        let input = CodeInput {
            request_id: id,
            public_key,
            device_nonce: nonce,
            server_nonce: &server_nonce,
            pin,
        };
        let reveal = Reveal {
            public_key: *public_key,
            nonce: *nonce,
            code: PairingCode::compute(&input),
        };
        match request.offer {
            Some(offer) => self.claim_offer(offer, id, public_key, now)?,
            None => self.supersede(id, public_key, now),
        }
        if let Some(PairingRequest {
            state: RequestState::Pending(pending),
            ..
        }) = self.requests.get_mut(&id)
        {
            pending.reveal = Some(reveal);
            pending.last_seen = now;
        }
        Ok(())
    }

    fn check_offer(&mut self, claim: &OfferClaim, now: UnixMillis) -> Result<(), OfferError> {
        let offer = self.offers.get_mut(&claim.id).ok_or(OfferError::Unknown)?;
        offer.check(&claim.secret)?;
        self.offer_phase(&self.offers[&claim.id], now).usable()
    }

    fn same_request(&self, offer: OfferId, commitment: &Commitment, now: UnixMillis) -> Option<RequestId> {
        self.requests
            .values()
            .find(|request| {
                request.offer == Some(offer)
                    && request.commitment == *commitment
                    && request.phase(&self.limits, now).is_live()
            })
            .map(|request| request.id)
    }

    /// Gives a request a new secret; the former opens nothing any more.
    fn hand_out(&mut self, id: RequestId, now: UnixMillis, rng: &mut impl CryptoRng) -> Requested {
        let secret = RequestSecret::generate(id, rng);
        let hash = secret.hash(&self.boot_key);
        let request = self
            .requests
            .get_mut(&id)
            .expect("the request was found or inserted by the caller");
        request.secret = hash;
        let mut interval = self.limits.interval;
        let mut deadline = request.ends_at(&self.limits);
        if let RequestState::Pending(pending) = &mut request.state {
            pending.last_seen = now;
            (deadline, interval) = (pending.deadline, pending.interval);
        }
        Requested {
            id,
            secret,
            server_nonce: request.server_nonce,
            expires_in: deadline.since(now),
            interval,
        }
    }

    fn insert(&mut self, new: NewRequest, now: UnixMillis, rng: &mut impl CryptoRng) -> RequestId {
        let id = RequestId::generate(rng);
        let mut server_nonce = [0; 32];
        rng.fill_bytes(&mut server_nonce);
        let pending = Pending {
            deadline: now.plus(self.limits.request_ttl),
            last_seen: now,
            last_poll: None,
            interval: self.limits.interval,
            reveal: None,
        };
        let request = PairingRequest {
            id,
            serial: self.next_serial(),
            // Nobody knows this one: the caller hands out the first secret.
            secret: RequestSecret::generate(id, rng).hash(&self.boot_key),
            label: new.label,
            commitment: new.commitment,
            server_nonce,
            offer: new.offer.map(|claim| claim.id),
            peer: new.peer,
            address: new.address,
            tailnet: new.tailnet,
            created: now,
            state: RequestState::Pending(pending),
        };
        self.requests.insert(id, request);
        id
    }

    /// Pending requests that count towards the caps, oldest first.
    fn capped(&self, now: UnixMillis) -> Vec<&PairingRequest> {
        let pending = |request: &PairingRequest| request.phase(&self.limits, now) == RequestPhase::Pending;
        let mut capped: Vec<_> = self
            .requests
            .values()
            .filter(|r| r.offer.is_none() && pending(r))
            .collect();
        capped.sort_by_key(|request| request.serial);
        capped
    }

    /// Refuses a peer that has its share; else, at the cap, ends the oldest request of the peer that has most.
    fn make_room(&mut self, peer: &str, now: UnixMillis) -> Result<(), RequestError> {
        let capped = self.capped(now);
        let own = || capped.iter().filter(|request| request.peer == peer);
        if own().count() >= PENDING_PER_PEER {
            let first_end = own().map(|request| request.ends_at(&self.limits)).min();
            let retry_after = first_end.map_or(self.limits.away, |end| end.since(now));
            return Err(RequestError::TooManyPending { retry_after });
        }
        if capped.len() >= self.limits.max_pending {
            let share =
                |request: &PairingRequest| capped.iter().filter(|other| other.peer == request.peer).count();
            let most = capped.iter().map(|request| share(request)).max();
            let victim = capped
                .iter()
                .find(|request| Some(share(request)) == most)
                .map(|request| request.id);
            if let Some(victim) = victim {
                self.end(victim, RejectCause::Displaced, now);
            }
        }
        Ok(())
    }

    /// Whoever knows an offer's secret could begin without end: only the latest few without a key are kept.
    fn make_room_under(&mut self, offer: OfferId, now: UnixMillis) {
        let mut hidden: Vec<_> = self
            .requests
            .values()
            .filter(|request| request.offer == Some(offer) && request.reveal().is_none())
            .filter(|request| request.phase(&self.limits, now) == RequestPhase::Pending)
            .map(|request| (request.serial, request.id))
            .collect();
        hidden.sort_unstable();
        let surplus = (hidden.len() + 1).saturating_sub(HIDDEN_PER_OFFER);
        for (_, id) in &hidden[..surplus] {
            self.end(*id, RejectCause::Displaced, now);
        }
    }

    /// The first key that shows an offer owns it. The same key again takes over from its former request; another key
    /// loses its request.
    fn claim_offer(
        &mut self,
        offer: OfferId,
        request: RequestId,
        key: &PublicKey,
        now: UnixMillis,
    ) -> Result<(), OfferError> {
        let held = self.offers.get(&offer).ok_or(OfferError::Expired)?;
        let usable = self.offer_phase(held, now).usable();
        let claimed = match held.state {
            OfferState::Claimed {
                public_key,
                request: former,
            } => Some((public_key, former)),
            OfferState::Open | OfferState::Burned | OfferState::Withdrawn => None,
        };
        if let Err(error) = usable {
            self.end(request, RejectCause::OfferEnded, now);
            return Err(error);
        }
        if let Some((owner, former)) = claimed {
            if owner != *key {
                self.end(request, RejectCause::OfferClaimed, now);
                return Err(OfferError::Claimed);
            }
            self.end(former, RejectCause::Superseded, now);
            if self.phase(former, now).is_some_and(RequestPhase::is_live) {
                // On its way to the store: it becomes the one device of this offer.
                self.end(request, RejectCause::OfferEnded, now);
                return Err(OfferError::Used);
            }
        }
        if let Some(offer) = self.offers.get_mut(&offer) {
            offer.state = OfferState::Claimed {
                public_key: *key,
                request,
            };
        }
        Ok(())
    }

    /// A page that was loaded again shows the same key under a new request: the former ends, so that the owner sees
    /// one. Only for the same peer, as a key that was shown is no secret.
    fn supersede(&mut self, id: RequestId, key: &PublicKey, now: UnixMillis) {
        let peer = self.requests.get(&id).map(|request| request.peer.clone());
        let former: Vec<_> = self
            .capped(now)
            .into_iter()
            .filter(|other| other.id != id && Some(&other.peer) == peer.as_ref())
            .filter(|other| other.reveal().is_some_and(|reveal| reveal.public_key == *key))
            .map(|other| other.id)
            .collect();
        for id in former {
            self.end(id, RejectCause::Superseded, now);
        }
    }
}
