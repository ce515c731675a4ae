//! Looking requests up, ending and forgetting them.

use alloc::vec::Vec;

use super::Authority;
use crate::limits::{MAX_ENDED, REMEMBERED};
use crate::request::{PairingRequest, RequestState};
use crate::token::TokenHash;
use crate::{RejectCause, RequestId, RequestPhase, RequestSecret, UnixMillis};

impl Authority {
    /// The request that this secret opens; the hash covers the id. An unknown id costs as much as a wrong secret and
    /// answers alike.
    pub(super) fn open(&self, id: RequestId, secret: &RequestSecret) -> Option<&PairingRequest> {
        let shown = secret.hash(&self.boot_key);
        let nothing = TokenHash::from_bytes([0; 32]);
        let request = self.requests.get(&id);
        let known = shown.matches(request.map_or(&nothing, |request| &request.secret));
        request.filter(|_| known)
    }

    pub(super) fn phase(&self, id: RequestId, now: UnixMillis) -> Option<RequestPhase> {
        self.requests
            .get(&id)
            .map(|request| request.phase(&self.limits, now))
    }

    /// Ends every offer that lives and every request that is no device yet, since nothing remote may come in any more. A
    /// request whose record is on its way to the store stays: its embedder ends what comes of it.
    pub fn lock_down(&mut self, now: UnixMillis) {
        self.end_all(RejectCause::LockedDown, now);
    }

    /// The same since every offer holds the pin of a key, and every code was computed by it, that is the daemon's no more.
    pub fn rotate_key(&mut self, now: UnixMillis) {
        self.end_all(RejectCause::KeyRotated, now);
    }

    fn end_all(&mut self, cause: RejectCause, now: UnixMillis) {
        self.all_ended_by = cause;
        self.void_live_offers(now);
        for id in self.requests.keys().copied().collect::<Vec<_>>() {
            self.end(id, cause, now);
        }
    }

    /// The requests that were approved and made no device in time, each once.
    pub fn lapsed(&mut self, now: UnixMillis) -> Vec<RequestId> {
        let limits = &self.limits;
        let over = self
            .requests
            .values_mut()
            .filter(|request| request.phase(limits, now) == RequestPhase::Expired);
        over.filter_map(|request| {
            let id = request.id;
            let approval = request.unfinished()?;
            let is_news = !core::mem::replace(&mut approval.has_lapsed, true);
            is_news.then_some(id)
        })
        .collect()
    }

    /// When [`Authority::lapsed`] will next have something to say, unless a device commits before.
    #[must_use]
    pub fn next_lapse(&self) -> Option<UnixMillis> {
        let waiting = self.requests.values().filter_map(|request| match &request.state {
            RequestState::Approved(approval)
            | RequestState::Exchanged {
                approval,
                committing: false,
                ..
            } if !approval.has_lapsed => Some(approval.deadline),
            _ => None,
        });
        waiting.min()
    }

    /// Ends a request without a device, unless it is one or is over.
    pub(super) fn end(&mut self, id: RequestId, cause: RejectCause, now: UnixMillis) {
        if let Some(request) = self.requests.get_mut(&id)
            && let Ok(state) = request.state.clone().reject(cause, now)
        {
            request.state = state;
        }
    }

    /// Forgets what ended long ago, and the oldest of what ended if that is much.
    pub(super) fn upkeep(&mut self, now: UnixMillis) {
        let limits = &self.limits;
        self.requests
            .retain(|_, request| request.ends_at(limits).plus(REMEMBERED) > now);
        let mut ended: Vec<_> = self
            .requests
            .values()
            .filter(|request| !request.phase(limits, now).is_live())
            .map(|request| (request.ends_at(limits), request.serial, request.id))
            .collect();
        ended.sort_unstable();
        let surplus = ended.len().saturating_sub(MAX_ENDED);
        for (_, _, id) in &ended[..surplus] {
            self.requests.remove(id);
        }
        let requests = &self.requests;
        self.offers.retain(|_, offer| {
            let claimed = offer.claim().is_some_and(|id| requests.contains_key(&id));
            claimed || offer.expires_at.plus(REMEMBERED) > now
        });
    }
}
