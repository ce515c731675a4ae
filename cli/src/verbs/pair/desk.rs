//! What is known while devices are let in by offers, and what that means. It speaks to nobody.

use jiff::{SignedDuration, Timestamp};
use pairing::{OfferId, RequestId, Role};
use protocol::pairing::{OfferMade, OfferView, RequestStatus, RequestView};

use super::news::News;
use crate::qr;

/// The offers of one command, and who claims them.
#[derive(Debug)]
pub(super) struct Desk {
    /// So many claims may wait until there is no further offer.
    most_waiting: usize,
    offer: Option<Offer>,
    /// All offers that were made, this one included.
    own: Vec<OfferId>,
    /// Claims of them that have a code and are not over, as they were told last; the oldest first.
    claims: Vec<RequestView>,
    /// Those on which this command has decided: a list from before that says nothing new of them.
    decided: Vec<RequestId>,
    /// Requests that show none of these offers and wait for an answer.
    others: usize,
    away_since: Option<Timestamp>,
    paired: Vec<RequestView>,
}

/// The offer that stands.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) made: OfferMade,
    pub(super) code: Option<qr::Code>,
    /// What the device gets, where it is known.
    pub(super) role: Option<Role>,
    pub(super) expires_at: Timestamp,
    /// When it is replaced, so that who has just seen it has the time to show it.
    renewed_at: Timestamp,
    /// Whether a list named it: one that does not may be from before.
    is_listed: bool,
    /// Whether the daemon was away since it was last known to stand.
    is_in_doubt: bool,
}

/// Something that has come to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// A device claims an offer, and has a code.
    Claimed(RequestView),
    /// The owner said yes, here or elsewhere.
    Approved(RequestView),
    /// The device is one.
    Paired(RequestView),
    /// It will not be one.
    Ended(RequestView, End),
    /// The offer works no more.
    OfferEnded(Why),
}

/// Why a request did not become a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The owner said no, here or elsewhere.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// The device has gone before that.
    HungUp,
    /// It was approved, and the device did not finish.
    Unfinished,
    /// The daemon does not know it any more; whether it was approved before.
    Forgotten { was_approved: bool },
}

/// Why an offer works no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Claimed,
    Expired,
    Burned,
    Withdrawn,
    /// The daemon was restarted.
    Forgotten,
}

impl Desk {
    /// Nothing is known, and nothing offered.
    pub(super) fn new(most_waiting: usize) -> Self {
        Self {
            most_waiting,
            offer: None,
            own: Vec::new(),
            claims: Vec::new(),
            decided: Vec::new(),
            others: 0,
            away_since: None,
            paired: Vec::new(),
        }
    }

    /// Whether an offer has to be made.
    pub(super) fn wants_offer(&self) -> bool {
        self.offer.is_none()
            && self.away_since.is_none()
            && !self.has_enough()
            && self.waiting().count() < self.most_waiting
    }

    /// Takes the offer away that nobody else shall claim, as one has been approved.
    pub(super) fn take_surplus(&mut self) -> Option<OfferId> {
        let is_surplus = self.has_enough();
        let offer = self.offer.take_if(|_| is_surplus)?;
        Some(offer.made.id)
    }

    /// An offer was made.
    pub(super) fn offered(&mut self, made: OfferMade, role: Option<Role>, now: Timestamp) {
        let lives = SignedDuration::from_secs(made.expires_in.try_into().unwrap_or(i64::MAX));
        let expires_at = now.saturating_add(lives).unwrap_or(Timestamp::MAX);
        let early = (lives / 10).min(EARLY);
        self.own.push(made.id);
        self.offer = Some(Offer {
            code: qr::Code::of_link(made.url.expose()),
            made,
            role,
            expires_at,
            renewed_at: expires_at.saturating_sub(early).unwrap_or(now),
            is_listed: false,
            is_in_doubt: false,
        });
    }

    /// Takes what became known.
    pub(super) fn take(&mut self, news: News, now: Timestamp) -> Vec<Happened> {
        if let News::Away = news {
            self.away_since.get_or_insert(now);
            if let Some(offer) = &mut self.offer {
                offer.is_in_doubt = true;
            }
            return Vec::new();
        }
        self.away_since = None;
        match news {
            News::Requests(requests) => self.take_requests(&requests),
            News::Offers(offers) => self
                .take_offers(&offers)
                .map(Happened::OfferEnded)
                .into_iter()
                .collect(),
            News::Same | News::Away => Vec::new(),
        }
    }

    /// Takes what the daemon answered to this command's yes.
    pub(super) fn approved(&mut self, request: RequestView) -> Option<Happened> {
        self.decided.push(request.id);
        let former = self.claims.iter_mut().find(|claim| claim.id == request.id)?;
        let is_news = former.state == RequestStatus::Pending;
        *former = request.clone();
        is_news.then_some(Happened::Approved(request))
    }

    /// Notes this command's no.
    pub(super) fn rejected(&mut self, id: RequestId) -> Option<Happened> {
        self.decided.push(id);
        let at = self.claims.iter().position(|claim| claim.id == id)?;
        let mut request = self.claims.remove(at);
        request.state = RequestStatus::Rejected;
        Some(Happened::Ended(request, End::Rejected))
    }

    /// Lets the offer go once its time is nearly over.
    pub(super) fn renew(&mut self, now: Timestamp) -> Option<Happened> {
        self.offer.take_if(|offer| offer.renewed_at <= now)?;
        Some(Happened::OfferEnded(Why::Expired))
    }

    /// When the offer has to be renewed.
    pub(super) fn renewed_at(&self) -> Option<Timestamp> {
        self.offer.as_ref().map(|offer| offer.renewed_at)
    }

    /// The offer, if it is known to work.
    pub(super) fn offer(&self) -> Option<&Offer> {
        self.offer
            .as_ref()
            .filter(|offer| !offer.is_in_doubt && self.away_since.is_none())
    }

    /// Since when the daemon is away.
    pub(super) fn away_since(&self) -> Option<Timestamp> {
        self.away_since
    }

    /// The claims that wait for a yes or no, the oldest first; none while one that was approved is not done.
    pub(super) fn questions(&self) -> impl Iterator<Item = &RequestView> {
        let is_asked = self.finishing().is_none() && self.away_since.is_none();
        self.waiting().filter(move |_| is_asked)
    }

    /// The claim that was approved and is not a device yet.
    pub(super) fn finishing(&self) -> Option<&RequestView> {
        self.claims
            .iter()
            .find(|claim| claim.state != RequestStatus::Pending)
    }

    /// How many requests without one of these offers wait.
    pub(super) fn others(&self) -> usize {
        self.others
    }

    /// The devices that came in.
    pub(super) fn paired(&self) -> &[RequestView] {
        &self.paired
    }

    /// Whether somebody has come in, and nobody else waits.
    pub(super) fn is_done(&self) -> bool {
        !self.paired.is_empty() && self.claims.is_empty()
    }

    /// The offers that would let somebody wait who is not answered any more.
    pub(super) fn loose_ends(&self) -> Vec<OfferId> {
        let claimed = self.waiting().filter_map(|claim| claim.offer_id);
        let offered = self.offer.iter().map(|offer| offer.made.id);
        claimed.chain(offered).collect()
    }

    fn waiting(&self) -> impl Iterator<Item = &RequestView> {
        self.claims
            .iter()
            .filter(|claim| claim.state == RequestStatus::Pending)
    }

    fn has_enough(&self) -> bool {
        !self.paired.is_empty() || self.finishing().is_some()
    }

    fn take_offers(&mut self, offers: &[OfferView]) -> Option<Why> {
        let offer = self.offer.as_mut()?;
        let state = offers
            .iter()
            .find(|view| view.id == offer.made.id)
            .map(|view| view.state.as_str());
        let why = match state {
            Some("open") => {
                (offer.is_listed, offer.is_in_doubt) = (true, false);
                return None;
            }
            None if !offer.is_listed && !offer.is_in_doubt => return None,
            None => Why::Forgotten,
            Some("burned") => Why::Burned,
            Some("withdrawn") => Why::Withdrawn,
            Some("expired") => Why::Expired,
            Some(_) => Why::Claimed,
        };
        self.offer = None;
        Some(why)
    }

    fn take_requests(&mut self, requests: &[RequestView]) -> Vec<Happened> {
        let is_own = |request: &&RequestView| request.offer_id.is_some_and(|id| self.own.contains(&id));
        let own: Vec<&RequestView> = requests.iter().filter(is_own).collect();
        let is_open =
            |request: &&RequestView| request.state == RequestStatus::Pending && request.code.is_some();
        self.others = requests
            .iter()
            .filter(|request| is_open(request) && !is_own(request))
            .count();
        let mut happened: Vec<Happened> = own
            .iter()
            .filter_map(|request| self.happened(request, &own))
            .collect();
        let is_gone = |claim: &&RequestView| own.iter().all(|request| request.id != claim.id);
        happened.extend(self.claims.iter().filter(is_gone).map(|claim| {
            let was_approved = claim.state != RequestStatus::Pending;
            Happened::Ended(claim.clone(), End::Forgotten { was_approved })
        }));
        let claims = own.into_iter().filter_map(|request| self.still_waits(request));
        self.claims = claims.collect();
        for happened in &happened {
            let (Happened::Claimed(request) | Happened::Approved(request) | Happened::Paired(request)) =
                happened
            else {
                continue;
            };
            // Whoever has it, nobody else can: it need not be looked for in the other list.
            self.offer
                .take_if(|offer| Some(offer.made.id) == request.offer_id);
            if let Happened::Paired(device) = happened {
                self.paired.push(device.clone());
            }
        }
        happened
    }

    /// What is new about a request under one of these offers.
    fn happened(&self, request: &RequestView, all: &[&RequestView]) -> Option<Happened> {
        let before = self
            .claims
            .iter()
            .find(|claim| claim.id == request.id)
            .map(|claim| claim.state);
        let was_approved = before.is_some_and(|state| state != RequestStatus::Pending);
        let end = match request.state {
            RequestStatus::Pending => {
                let is_new =
                    before.is_none() && request.code.is_some() && !self.decided.contains(&request.id);
                return is_new.then(|| Happened::Claimed(request.clone()));
            }
            RequestStatus::Approved | RequestStatus::Exchanged => {
                return (!was_approved).then(|| Happened::Approved(request.clone()));
            }
            RequestStatus::Committed => {
                let is_new = self.paired.iter().all(|paired| paired.id != request.id);
                return is_new.then(|| Happened::Paired(request.clone()));
            }
            _ if before.is_none() => return None,
            RequestStatus::Rejected => {
                // The same device has begun anew: the former request is nothing that anybody has to know of.
                let is_like = |other: &&&RequestView| other.offer_id == request.offer_id;
                let is_waiting =
                    |other: &RequestView| other.state == RequestStatus::Pending && other.code.is_some();
                let is_followed = all.iter().filter(is_like).any(|other| is_waiting(other));
                if is_followed {
                    return None;
                }
                End::Rejected
            }
            RequestStatus::Expired | RequestStatus::HungUp if was_approved => End::Unfinished,
            RequestStatus::Expired => End::Expired,
            RequestStatus::HungUp => End::HungUp,
        };
        Some(Happened::Ended(request.clone(), end))
    }

    /// The request as a claim that is not over, if it is one.
    fn still_waits(&self, request: &RequestView) -> Option<RequestView> {
        match request.state {
            RequestStatus::Pending if self.decided.contains(&request.id) => {
                self.claims.iter().find(|claim| claim.id == request.id).cloned()
            }
            RequestStatus::Pending if request.code.is_none() => None,
            RequestStatus::Pending | RequestStatus::Approved | RequestStatus::Exchanged => {
                Some(request.clone())
            }
            _ => None,
        }
    }
}

/// How long before its end an offer is replaced, at most: what is seen at the last moment has to be scanned, opened and
/// sent.
const EARLY: SignedDuration = SignedDuration::from_secs(15);

#[cfg(test)]
pub(super) mod tests;
