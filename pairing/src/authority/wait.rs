//! What a waiting device and the owner are told.

use alloc::vec::Vec;
use core::time::Duration;

use super::Authority;
use crate::request::{PairingRequest, Pending, RequestState};
use crate::{
    FindError, PairingCode, PollAnswer, PollError, PollKind, PollStatus, RejectCause, RequestId, RequestPhase,
};
use crate::{RequestSecret, RequestView, UnixMillis};

impl Authority {
    /// Answers a device that asks for news, and notes that it is still there. For a poll that waits, call this when it
    /// begins and once more, with [`PollKind::Wait`], for its answer.
    ///
    /// # Errors
    /// If no request has this id and secret.
    pub fn poll(
        &mut self,
        id: RequestId,
        secret: &RequestSecret,
        kind: PollKind,
        now: UnixMillis,
    ) -> Result<PollAnswer, PollError> {
        self.open(id, secret).ok_or(PollError::UnknownRequest)?;
        let limits = &self.limits;
        let request = self.requests.get_mut(&id).ok_or(PollError::UnknownRequest)?;
        let phase = request.phase(limits, now);
        let cause = match phase {
            RequestPhase::Rejected(cause) => Some(cause),
            _ => None,
        };
        let status = match phase {
            RequestPhase::Pending => PollStatus::AuthorizationPending,
            RequestPhase::Approved | RequestPhase::Exchanged | RequestPhase::Committed => {
                PollStatus::Approved
            }
            RequestPhase::Rejected(
                RejectCause::Owner
                | RejectCause::OfferWithdrawn
                | RejectCause::OfferClaimed
                | RejectCause::LockedDown
                | RejectCause::KeyRotated
                | RejectCause::StoreFailed,
            ) => PollStatus::AccessDenied,
            RequestPhase::Rejected(
                RejectCause::Displaced | RejectCause::Superseded | RejectCause::OfferEnded,
            ) => PollStatus::ExpiredToken,
            RequestPhase::Expired | RequestPhase::Away => PollStatus::ExpiredToken,
        };
        let exchange_nonce = request.approval().map(|approval| approval.exchange_nonce.clone());
        let exchange_nonce = exchange_nonce.filter(|_| status == PollStatus::Approved);
        match &mut request.state {
            RequestState::Pending(pending) if status == PollStatus::AuthorizationPending => {
                let status = if pending.arrive(kind, now) {
                    PollStatus::SlowDown
                } else {
                    status
                };
                Ok(PollAnswer {
                    status,
                    interval: pending.interval,
                    exchange_nonce,
                    cause,
                })
            }
            _ => Ok(PollAnswer {
                status,
                interval: limits.interval,
                exchange_nonce,
                cause,
            }),
        }
    }

    /// The requests, oldest first, those included that ended within the last minutes.
    #[must_use]
    pub fn requests(&self, now: UnixMillis) -> Vec<RequestView> {
        let mut requests: Vec<_> = self.requests.values().collect();
        requests.sort_by_key(|request| request.serial);
        requests
            .into_iter()
            .map(|request| self.request_view(request, now))
            .collect()
    }

    /// One request as the owner sees it.
    #[must_use]
    pub fn request_by_id(&self, id: RequestId, now: UnixMillis) -> Option<RequestView> {
        self.requests
            .get(&id)
            .map(|request| self.request_view(request, now))
    }

    /// The one pending request that shows this code.
    ///
    /// # Errors
    /// See [`FindError`].
    pub fn find_by_code(&self, code: PairingCode, now: UnixMillis) -> Result<RequestId, FindError> {
        let mut matching = self.requests.values().filter(|request| {
            request.phase(&self.limits, now) == RequestPhase::Pending
                && request.reveal().is_some_and(|reveal| reveal.code == code)
        });
        match (matching.next(), matching.next()) {
            (None, _) => Err(FindError::NoMatch),
            (Some(request), None) => Ok(request.id),
            (Some(_), Some(_)) => Err(FindError::Ambiguous),
        }
    }

    fn request_view(&self, request: &PairingRequest, now: UnixMillis) -> RequestView {
        let grant = request.approval().map(|approval| &approval.grant);
        let offered = request
            .offer
            .and_then(|id| self.offers.get(&id))
            .map(|offer| &offer.terms);
        let role = grant
            .map(|grant| grant.role)
            .or(offered.and_then(|terms| terms.role));
        let label = grant
            .map(|grant| &grant.label)
            .or(offered.and_then(|terms| terms.label.as_ref()));
        RequestView {
            id: request.id,
            phase: request.phase(&self.limits, now),
            code: request.reveal().map(|reveal| reveal.code),
            label: label.unwrap_or(&request.label).clone(),
            address: request.address.clone(),
            tailnet: request.tailnet.clone(),
            role: role.unwrap_or(self.limits.default_role),
            offer: request.offer,
            device_id: request.approval().map(|approval| approval.device_id),
            created: request.created,
            expires_at: request.ends_at(&self.limits),
            deadline: request.deadline(),
        }
    }
}

impl Pending {
    /// Notes a poll. Answers whether it came too fast; then the interval grows, as RFC 8628, 3.5 has it.
    fn arrive(&mut self, kind: PollKind, now: UnixMillis) -> bool {
        self.last_seen = now;
        if kind == PollKind::Wait {
            return false;
        }
        let fast = self.last_poll.is_some_and(|last| now.since(last) < self.interval);
        self.last_poll = Some(now);
        if fast {
            self.interval = (self.interval + SLOWER).min(SLOWEST.max(self.interval));
        }
        fast
    }
}

/// By how much a fast poll lengthens the interval.
const SLOWER: Duration = Duration::from_secs(5);

/// Where it stops: well below the time after which a device counts as away.
const SLOWEST: Duration = Duration::from_secs(30);
