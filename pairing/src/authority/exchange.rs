//! From the owner's yes to a stored device: exchange and commit.

use rand_core::CryptoRng;

use super::{Authority, Commit, Exchange, ExchangeCheck, Exchanged};
use crate::request::{Approval, PairingRequest, RequestState};
use crate::token::TokenHash;
use crate::{
    CommitError, Device, DeviceToken, ExchangeError, RequestId, RequestPhase, RequestSecret, TokenKey,
};
use crate::{UnixMillis, pair_text};

impl Authority {
    /// Turns an approved request into a token. Again before the commit, it mints another and the former is dead, so a
    /// lost answer loses nothing.
    ///
    /// # Errors
    /// See [`ExchangeError`].
    pub fn exchange(
        &mut self,
        id: RequestId,
        secret: &RequestSecret,
        shown: Exchange<'_>,
        check: ExchangeCheck<'_>,
        now: UnixMillis,
        rng: &mut impl CryptoRng,
    ) -> Result<Exchanged, ExchangeError> {
        let request = self.open(id, secret).ok_or(ExchangeError::UnknownRequest)?;
        let approval = exchangeable(request, request.phase(&self.limits, now))?;
        if !(check.accepts)(shown.audience) {
            return Err(ExchangeError::WrongAudience);
        }
        let text = pair_text(id, approval.exchange_nonce.as_str(), shown.audience);
        if !check.verifier.verify(
            approval.reveal.public_key.as_bytes(),
            text.as_bytes(),
            shown.signature,
        ) {
            return Err(ExchangeError::BadSignature);
        }
        let token = DeviceToken::generate(approval.device_id, rng);
        let exchanged = Exchanged {
            device_id: approval.device_id,
            role: approval.grant.role,
            token,
        };
        let state = request
            .state
            .clone()
            .exchange(exchanged.token.hash(check.token_key));
        self.requests
            .get_mut(&id)
            .ok_or(ExchangeError::UnknownRequest)?
            .state = state;
        Ok(exchanged)
    }

    /// Takes the device's word that it has kept its token, and answers the record to be stored. Until then the token
    /// opens nothing. From here on neither another exchange nor the owner's no comes in between: after the store has
    /// answered, call [`Authority::committed`] or [`Authority::commit_failed`].
    ///
    /// After a restart no request is known; an embedder asks [`Devices`](crate::Devices) first, where a token that was
    /// committed is known.
    ///
    /// # Errors
    /// See [`CommitError`].
    pub fn prepare_commit(
        &mut self,
        id: RequestId,
        token: &DeviceToken,
        key: &TokenKey,
        now: UnixMillis,
    ) -> Result<Commit, CommitError> {
        let shown = token.hash(key);
        let limits = &self.limits;
        let request = self
            .requests
            .get_mut(&id)
            .filter(|request| request.gave_out(token, &shown));
        let request = request.ok_or(CommitError::UnknownToken)?;
        let phase = request.phase(limits, now);
        match (&request.state, phase) {
            (RequestState::Committed { approval, .. }, _) => Ok(Commit::Already(approval.device_id)),
            (RequestState::Exchanged { approval, .. }, RequestPhase::Exchanged) => {
                let device = request.device(approval, shown, now);
                request.state = request.state.clone().committing(true);
                Ok(Commit::New(device))
            }
            (_, _) => Err(CommitError::Expired),
        }
    }

    /// The record is in the store.
    pub fn committed(&mut self, id: RequestId, now: UnixMillis) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.state = request.state.clone().commit(now);
        }
    }

    /// The record did not get into the store. The device may try again until the deadline.
    pub fn commit_failed(&mut self, id: RequestId) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.state = request.state.clone().committing(false);
        }
    }

    /// The same where [`Authority::lock_down`] or [`Authority::rotate_key`] came while the record was on its way: the request ends
    /// as the others did.
    pub fn commit_ended(&mut self, id: RequestId, now: UnixMillis) {
        self.commit_failed(id);
        self.end(id, self.all_ended_by, now);
    }
}

impl PairingRequest {
    /// Whether this is the last token given out for this request.
    fn gave_out(&self, token: &DeviceToken, shown: &TokenHash) -> bool {
        match &self.state {
            RequestState::Exchanged {
                approval, token_hash, ..
            }
            | RequestState::Committed {
                approval, token_hash, ..
            } => approval.device_id == token.id() && shown.matches(token_hash),
            RequestState::Pending(_) | RequestState::Approved(_) | RequestState::Rejected { .. } => false,
        }
    }

    fn device(&self, approval: &Approval, token_hash: TokenHash, now: UnixMillis) -> Device {
        let grant = approval.grant.clone();
        Device {
            id: approval.device_id,
            label: grant.label,
            public_key: Some(approval.reveal.public_key),
            role: grant.role,
            can_revoke: grant.can_revoke,
            any_path: grant.any_path,
            token_hash,
            created: now,
            approved_from: self.address.clone(),
            tailnet: self.tailnet.clone(),
            expires_at: grant.expires_at,
            last_seen: None,
            last_address: None,
        }
    }
}

fn exchangeable(request: &PairingRequest, phase: RequestPhase) -> Result<&Approval, ExchangeError> {
    match (&request.state, phase) {
        (_, RequestPhase::Expired | RequestPhase::Away) => Err(ExchangeError::Expired),
        (RequestState::Pending(_), _) => Err(ExchangeError::NotApproved),
        (RequestState::Rejected { cause, .. }, _) => Err(ExchangeError::Rejected(*cause)),
        (RequestState::Committed { .. }, _) => Err(ExchangeError::AlreadyCommitted),
        (RequestState::Exchanged { committing: true, .. }, _) => Err(ExchangeError::CommitUnderWay),
        (RequestState::Approved(approval) | RequestState::Exchanged { approval, .. }, _) => Ok(approval),
    }
}
