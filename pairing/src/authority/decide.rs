//! The owner's side: yes or no.

use rand_core::CryptoRng;

use super::{Approved, Authority};
use crate::proof::ExchangeNonce;
use crate::request::{Approval, Grant, PairingRequest};
use crate::{
    ApproveError, ApproveTerms, DeviceId, RejectCause, RejectError, RequestId, RequestPhase, UnixMillis,
};

impl Authority {
    /// The owner's yes. A second one changes nothing and answers as the first.
    ///
    /// # Errors
    /// See [`ApproveError`]; it says why where the device has given up.
    pub fn approve(
        &mut self,
        id: RequestId,
        terms: ApproveTerms,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Approved, ApproveError> {
        self.upkeep(now);
        let request = self.requests.get(&id).ok_or(ApproveError::UnknownRequest)?;
        match request.phase(&self.limits, now) {
            RequestPhase::Expired => return Err(ApproveError::Expired),
            RequestPhase::Away => return Err(ApproveError::DeviceAway),
            _ => {}
        }
        let grant = self.grant(request, terms, now);
        let deadline = now.plus(self.limits.completion);
        let state = request.state.clone().approve(|reveal| Approval {
            reveal,
            grant,
            device_id: DeviceId::generate(rng),
            exchange_nonce: ExchangeNonce::generate(rng),
            deadline,
            has_lapsed: false,
        })?;
        let request = self.requests.get_mut(&id).ok_or(ApproveError::UnknownRequest)?;
        request.state = state;
        let approval = request.approval().ok_or(ApproveError::NotRevealed)?;
        Ok(Approved {
            request_id: id,
            device_id: approval.device_id,
            code: approval.reveal.code,
            grant: approval.grant.clone(),
            deadline: approval.deadline,
        })
    }

    /// The owner's no, which also takes back a yes that has not become a device. The offer, if there is one, is used
    /// up.
    ///
    /// # Errors
    /// See [`RejectError`].
    pub fn reject(&mut self, id: RequestId, now: UnixMillis) -> Result<(), RejectError> {
        self.upkeep(now);
        let request = self.requests.get_mut(&id).ok_or(RejectError::UnknownRequest)?;
        request.state = request.state.clone().reject(RejectCause::Owner, now)?;
        Ok(())
    }

    /// Ends a request of which its embedder could not write down what it must: nobody has decided.
    pub fn abandon(&mut self, id: RequestId, now: UnixMillis) {
        self.end(id, RejectCause::StoreFailed, now);
    }

    fn grant(&self, request: &PairingRequest, terms: ApproveTerms, now: UnixMillis) -> Grant {
        let offer = request.offer.and_then(|id| self.offers.get(&id));
        let offered = offer.map(|offer| offer.terms.offered()).unwrap_or_default();
        terms.grant(offered, &request.label, self.limits.default_role, now)
    }
}
