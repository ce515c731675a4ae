//! The world of the property, and beside it what must be true of it.

use super::super::{Pairing, Waiting};
use super::Step;
use crate::limits::PENDING_PER_PEER;
use crate::testing::token_key;
use crate::{
    ApproveTerms, Commit, Device, DeviceId, DeviceToken, Devices, OfferId, OfferSecret, PollKind, Principal,
    RequestId, RequestPhase, Tombstone, UnixMillis,
};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

/// A device with all the tokens it was ever given, and the record of it that is on its way to the store.
struct Actor {
    waiting: Waiting,
    key: u8,
    offer: Option<OfferId>,
    tokens: Vec<DeviceToken>,
    prepared: Option<Prepared>,
    /// When it began, and when it was last heard of; of those whose request lives yet.
    began: UnixMillis,
    seen: UnixMillis,
    approved: Option<UnixMillis>,
}

struct Prepared {
    token: usize,
    record: Device,
    lock_downs: usize,
}

/// An offer, and what has become of it.
struct Offered {
    id: OfferId,
    secret: OfferSecret,
    made: UnixMillis,
    is_void: bool,
    wrong: u8,
}

/// What was committed: by whom, with which of its tokens, and until when it lives.
struct Committed {
    actor: usize,
    token: usize,
    ends: Option<UnixMillis>,
}

pub(super) struct World {
    pairing: Pairing,
    devices: Devices,
    offers: Vec<Offered>,
    actors: Vec<Actor>,
    tombstones: Vec<Tombstone>,
    /// Requests to which the owner said yes, and those that ended by a no or a lock-down.
    yes: BTreeSet<RequestId>,
    no: BTreeSet<RequestId>,
    committed: BTreeMap<DeviceId, Committed>,
    revoked: BTreeSet<DeviceId>,
    lock_downs: usize,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            pairing: Pairing::new(),
            devices: Devices::new(IDLE),
            offers: Vec::new(),
            actors: Vec::new(),
            tombstones: Vec::new(),
            yes: BTreeSet::new(),
            no: BTreeSet::new(),
            committed: BTreeMap::new(),
            revoked: BTreeSet::new(),
            lock_downs: 0,
        }
    }

    pub(super) fn made(&self) -> usize {
        self.committed.len()
    }

    pub(super) fn ended(&self) -> usize {
        let is_over = |made: &Committed| made.ends.is_some_and(|ends| ends <= self.pairing.now);
        let over = self.committed.values().filter(|made| is_over(made)).count();
        over + self.revoked.len()
    }

    pub(super) fn take(&mut self, step: &Step) {
        match *step {
            Step::Offer => self.offer(),
            Step::Pass(seconds) => self.pass(seconds),
            Step::Restart => self.restart(),
            Step::LockDown => self.lock_down(),
            Step::Begin {
                key,
                nonce,
                peer,
                offer,
            } => self.begin(key, nonce, peer, offer),
            Step::Withdraw(n) if !self.offers.is_empty() => self.withdraw(n),
            Step::Guess(n) if !self.offers.is_empty() => self.guess(n),
            Step::Revoke(n) if !self.committed.is_empty() => self.revoke(n % self.committed.len()),
            _ if self.actors.is_empty() => {}
            Step::Reveal(n) => _ = self.reveal(self.latest(n)),
            Step::Poll { device, waits } => self.poll(self.latest(device), waits),
            Step::Approve { device, lives } => self.approve(self.latest(device), lives),
            Step::Reject(n) => self.reject(self.latest(n)),
            Step::Exchange(n) => self.exchange(self.latest(n)),
            Step::Prepare { device, token } => self.prepare(self.latest(device), token),
            Step::Stored(n) => self.stored(self.latest(n)),
            Step::StoreFailed(n) => self.store_failed(self.latest(n)),
            Step::Meddle { by, with } => self.meddle(self.latest(by), self.latest(with)),
            Step::GoOn { device, steps } => self.go_on(device, steps),
            Step::Withdraw(_) | Step::Guess(_) | Step::Revoke(_) => {}
        }
    }

    fn latest(&self, n: usize) -> usize {
        self.actors.len() - 1 - n % self.actors.len()
    }

    fn offer(&mut self) {
        let (id, secret) = self.pairing.offer();
        self.offers.push(Offered {
            id,
            secret,
            made: self.pairing.now,
            is_void: false,
            wrong: 0,
        });
    }

    fn withdraw(&mut self, n: usize) {
        let count = self.offers.len();
        let offer = &mut self.offers[n % count];
        if self
            .pairing
            .authority
            .withdraw(offer.id, self.pairing.now)
            .is_ok()
        {
            offer.is_void = true;
        }
    }

    fn guess(&mut self, n: usize) {
        let count = self.offers.len();
        let offer = &mut self.offers[n % count];
        let guess = (offer.id, OfferSecret::generate(&mut self.pairing.rng));
        assert!(
            self.pairing
                .begin_as(9, [0; 32], "guesser", Some(&guess))
                .is_err()
        );
        offer.wrong += 1;
        offer.is_void |= offer.wrong >= 5;
    }

    fn begin(&mut self, key: u8, nonce: u8, peer: u8, offer: Option<usize>) {
        let count = self.offers.len();
        let offer = offer
            .filter(|_| count > 0)
            .map(|n| &self.offers[n % count])
            .map(|offer| (offer.id, super::super::copy(&offer.secret)));
        let peer = format!("peer {peer}");
        if let Ok(waiting) = self.pairing.begin_as(key, [nonce; 32], &peer, offer.as_ref()) {
            let now = self.pairing.now;
            // The same commitment under the same offer is the same request, whose time goes on.
            let same = self
                .actors
                .iter()
                .find(|actor| actor.waiting.id() == waiting.id());
            let (began, approved) = same.map_or((now, None), |same| (same.began, same.approved));
            self.actors.push(Actor {
                waiting,
                key,
                offer: offer.map(|(id, _)| id),
                tokens: Vec::new(),
                prepared: None,
                began,
                seen: now,
                approved,
            });
        }
    }

    /// Whether the device has shown its key, now or before.
    fn reveal(&mut self, n: usize) -> bool {
        let was_revealed = self.code(n);
        if self.pairing.reveal(&self.actors[n].waiting).is_err() {
            return false;
        }
        self.hear_of(n);
        if !was_revealed {
            self.check_claim(n);
        }
        true
    }

    /// Only an offer that is open is claimed, unless by the key that owns it.
    fn check_claim(&self, n: usize) {
        let Actor { offer, key, .. } = &self.actors[n];
        let offer = offer.and_then(|id| self.offers.iter().find(|offer| offer.id == id));
        let Some(offer) = offer else { return };
        let same_key = |actor: &&Actor| actor.offer == Some(offer.id) && actor.key == *key;
        let may_own = self.actors.iter().filter(same_key).count() > 1;
        let is_open = self.pairing.now.since(offer.made) < OFFER && !offer.is_void;
        assert!(may_own || is_open, "an offer was claimed that had ended");
    }

    fn code(&self, n: usize) -> bool {
        let id = self.actors[n].waiting.id();
        let view = self.pairing.authority.request_by_id(id, self.pairing.now);
        view.is_some_and(|view| view.code.is_some())
    }

    fn poll(&mut self, n: usize, waits: bool) {
        let kind = if waits { PollKind::Wait } else { PollKind::Quick };
        let (secret, id) = (
            &self.actors[n].waiting.requested.secret,
            self.actors[n].waiting.id(),
        );
        if self
            .pairing
            .authority
            .poll(id, secret, kind, self.pairing.now)
            .is_ok()
        {
            self.hear_of(n);
        }
    }

    /// The device was heard of by the secret that its request has now.
    fn hear_of(&mut self, n: usize) {
        let (id, now) = (self.actors[n].waiting.id(), self.pairing.now);
        let same = self.actors.iter_mut().filter(|actor| actor.waiting.id() == id);
        same.for_each(|actor| {
            // Who has stayed away too long does not come back.
            if now.since(actor.seen) < AWAY {
                actor.seen = now;
            }
        });
    }

    fn go_on(&mut self, device: usize, steps: u8) {
        let way = [
            Step::Reveal(device),
            Step::Approve { device, lives: None },
            Step::Exchange(device),
            Step::Prepare { device, token: 0 },
            Step::Stored(device),
        ];
        way.iter().take(steps.into()).for_each(|step| self.take(step));
    }

    fn approve(&mut self, n: usize, lives: Option<u64>) {
        let terms = ApproveTerms {
            expires_in: lives.map(Duration::from_secs),
            ..ApproveTerms::default()
        };
        let (id, now) = (self.actors[n].waiting.id(), self.pairing.now);
        let approved = self
            .pairing
            .authority
            .approve(id, terms, now, &mut self.pairing.rng);
        if approved.is_err() {
            return;
        }
        let same = self.actors.iter_mut().filter(|actor| actor.waiting.id() == id);
        for actor in same.filter(|actor| actor.approved.is_none()) {
            actor.approved = Some(now);
            assert!(now.since(actor.began) < REQUEST, "a yes after the deadline");
        }
        if self.yes.insert(id) {
            let heard = self
                .actors
                .iter()
                .filter(|actor| actor.waiting.id() == id)
                .any(|actor| now.since(actor.seen) < AWAY);
            assert!(heard, "a yes to a device that was away");
        }
    }

    fn reject(&mut self, n: usize) {
        let id = self.actors[n].waiting.id();
        if self.pairing.authority.reject(id, self.pairing.now).is_ok() {
            self.no.insert(id);
        }
    }

    fn exchange(&mut self, n: usize) {
        // After a restart, or under a secret that was replaced, there is nothing to sign.
        if self.reveal(n) {
            let actor = &mut self.actors[n];
            let exchanged = self.pairing.exchange(&actor.waiting);
            actor.tokens.extend(exchanged.map(|exchanged| exchanged.token));
            self.hear_of(n);
        }
    }

    fn prepare(&mut self, n: usize, token: usize) {
        let actor = &mut self.actors[n];
        if actor.tokens.is_empty() {
            return;
        }
        let token = actor.tokens.len() - 1 - token % actor.tokens.len();
        if let Ok(Commit::New(record)) = self.pairing.prepare(&actor.waiting, &actor.tokens[token]) {
            let approved = actor.approved.expect("a commit without the owner's yes");
            // Asked twice, it is on its way since the first time.
            let first = actor.prepared.take().map(|prepared| prepared.lock_downs);
            assert!(
                first.is_some() || self.pairing.now.since(approved) < COMPLETION,
                "a commit after the deadline"
            );
            actor.prepared = Some(Prepared {
                token,
                record,
                lock_downs: first.unwrap_or(self.lock_downs),
            });
        }
    }

    /// As an embedder does: what arrives after a lock-down that it did not know of is revoked before anybody can use it.
    fn stored(&mut self, n: usize) {
        let Some(prepared) = self.actors[n].prepared.take() else {
            return;
        };
        let (request, id, now) = (self.actors[n].waiting.id(), prepared.record.id, self.pairing.now);
        let ends = prepared.record.expires_at;
        if !self.devices.add(prepared.record) {
            return;
        }
        if prepared.lock_downs != self.lock_downs {
            let revoked = self.devices.revoke(&Principal::Owner, id, now).unwrap();
            self.tombstones.push(revoked.tombstone);
            self.pairing.authority.commit_ended(request, now);
            return;
        }
        let made = Committed {
            actor: n,
            token: prepared.token,
            ends,
        };
        assert!(
            self.committed.insert(id, made).is_none(),
            "one device was committed twice"
        );
        self.pairing.authority.committed(request, now);
    }

    fn store_failed(&mut self, n: usize) {
        if let Some(prepared) = self.actors[n].prepared.take() {
            let (id, now) = (self.actors[n].waiting.id(), self.pairing.now);
            match prepared.lock_downs == self.lock_downs {
                true => self.pairing.authority.commit_failed(id),
                false => self.pairing.authority.commit_ended(id, now),
            }
        }
    }

    /// Nobody gets anything by what is another's: neither a code, nor a token, nor a device.
    fn meddle(&mut self, by: usize, with: usize) {
        let (own, other) = (&self.actors[by].waiting, &self.actors[with].waiting);
        if own.id() == other.id() {
            return;
        }
        let pairing = &mut self.pairing;
        let mixed = Waiting {
            requested: crate::Requested {
                id: other.id(),
                secret: crate::RequestSecret::parse(&own.requested.secret.reveal()).unwrap(),
                ..other.requested
            },
            key: own.key,
            nonce: own.nonce,
        };
        assert!(pairing.reveal(&mixed).is_err(), "revealed by another's secret");
        let polled = pairing
            .authority
            .poll(mixed.id(), &mixed.requested.secret, PollKind::Wait, pairing.now);
        assert!(polled.is_err(), "polled by another's secret");
        for token in &self.actors[by].tokens {
            let committed = pairing.prepare(other, token);
            assert!(committed.is_err(), "committed by another's token");
        }
    }

    fn revoke(&mut self, n: usize) {
        let id = *self.committed.keys().nth(n).unwrap();
        if let Ok(revoked) = self.devices.revoke(&Principal::Owner, id, self.pairing.now) {
            self.tombstones.push(revoked.tombstone);
            self.revoked.insert(id);
        }
    }

    fn lock_down(&mut self) {
        self.pairing.authority.lock_down(self.pairing.now);
        self.lock_downs += 1;
        self.offers.iter_mut().for_each(|offer| offer.is_void = true);
        // Nothing that waited may become a device, but for what is in the store already.
        let committed: BTreeSet<_> = self
            .committed
            .values()
            .map(|made| self.actors[made.actor].waiting.id())
            .collect();
        let waited = self.actors.iter().map(|actor| actor.waiting.id());
        self.no.extend(waited.filter(|id| !committed.contains(id)));
    }

    fn pass(&mut self, seconds: u64) {
        self.pairing.pass(seconds);
        let ended = self.devices.expire(self.pairing.now);
        self.tombstones
            .extend(ended.into_iter().map(|ended| ended.tombstone));
    }

    /// What is in memory only is gone; the store has records and tombstones.
    fn restart(&mut self) {
        let records: Vec<_> = self.devices.iter().cloned().collect();
        self.devices = Devices::load(records, self.tombstones.iter().cloned(), IDLE);
        let now = self.pairing.now;
        self.pairing = Pairing::new();
        // The generator begins anew as well, but not at the same numbers.
        self.pairing.rng = crate::testing::SeededRng::new(self.actors.len() as u64 + now.0 as u64);
        self.pairing.now = now;
        self.offers.clear();
        self.actors.iter_mut().for_each(|actor| actor.prepared = None);
    }

    pub(super) fn check(&self) {
        let mut requests = BTreeSet::new();
        let mut offers = BTreeSet::new();
        for made in self.committed.values() {
            let Actor { waiting, offer, .. } = &self.actors[made.actor];
            assert!(
                self.yes.contains(&waiting.id()),
                "a device without the owner's yes"
            );
            assert!(
                !self.no.contains(&waiting.id()),
                "a device in spite of the owner's no"
            );
            assert!(requests.insert(waiting.id()), "two devices from one request");
            assert!(
                offer.is_none_or(|offer| offers.insert(offer)),
                "two devices from one offer"
            );
        }
        for device in self.devices.iter() {
            assert!(
                self.committed.contains_key(&device.id),
                "a device without a commit"
            );
        }
        self.check_tokens();
        self.check_caps();
    }

    /// Exactly the committed token of each device that lives opens something, and it opens that device.
    fn check_tokens(&self) {
        for (n, actor) in self.actors.iter().enumerate() {
            for (m, token) in actor.tokens.iter().enumerate() {
                let opened = self
                    .devices
                    .authenticate(token, &token_key(), self.pairing.now)
                    .ok();
                let good = self.committed.get(&token.id()).is_some_and(|made| {
                    (made.actor, made.token) == (n, m)
                        && made.ends.is_none_or(|ends| ends > self.pairing.now)
                        && !self.revoked.contains(&token.id())
                });
                assert_eq!(
                    opened.and_then(|who| who.id().device_id()),
                    good.then(|| token.id())
                );
            }
        }
    }

    fn check_caps(&self) {
        let now = self.pairing.now;
        let requests = self.pairing.authority.requests.values();
        let mut pending = BTreeMap::new();
        for request in requests.filter(|request| request.offer.is_none()) {
            if request.phase(self.pairing.authority.limits(), now) == RequestPhase::Pending {
                *pending.entry(&request.peer).or_insert(0) += 1;
            }
        }
        assert!(pending.values().all(|count| *count <= PENDING_PER_PEER));
    }
}

/// Longer than all the steps of a run together.
const IDLE: Duration = Duration::from_secs(1_000_000);
const OFFER: Duration = Duration::from_secs(300);
const REQUEST: Duration = Duration::from_secs(600);
const COMPLETION: Duration = Duration::from_secs(120);
const AWAY: Duration = Duration::from_secs(120);
