//! Random orders of everything that devices, owner, store and time can do, against a model that keeps only what must
//! be true.

use super::{Pairing, Waiting};
use crate::testing::token_key;
use crate::{Commit, Device, DeviceId, Devices, OfferId, OfferSecret, Principal, RequestId, Tombstone};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof};

#[derive(Clone, Debug)]
enum Step {
    Offer,
    Withdraw(usize),
    Guess(usize),
    Begin {
        key: u8,
        nonce: u8,
        offer: Option<usize>,
    },
    Reveal(usize),
    Approve(usize),
    Reject(usize),
    Exchange(usize),
    Prepare {
        device: usize,
        token: usize,
    },
    Stored(usize),
    StoreFailed(usize),
    Revoke(usize),
    /// The first few of reveal, approve, exchange, prepare and stored, in their order.
    GoOn {
        device: usize,
        steps: u8,
    },
    Pass(u64),
    Restart,
}

/// A device with all the tokens it was ever given, and the record of it that is on its way to the store.
struct Actor {
    waiting: Waiting,
    offer: Option<OfferId>,
    tokens: Vec<crate::DeviceToken>,
    prepared: Option<(usize, Device)>,
}

/// The world, and beside it what must be true of it.
struct World {
    pairing: Pairing,
    devices: Devices,
    offers: Vec<(OfferId, OfferSecret)>,
    actors: Vec<Actor>,
    tombstones: Vec<Tombstone>,
    /// Requests to which the owner said yes, and those to which no was said and taken.
    yes: BTreeSet<RequestId>,
    no: BTreeSet<RequestId>,
    /// Which actor's which token makes which device, from the commit on.
    committed: BTreeMap<DeviceId, (usize, usize)>,
    revoked: BTreeSet<DeviceId>,
}

impl World {
    fn new() -> Self {
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
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Offer => self.offers.push(self.pairing.offer()),
            Step::Pass(seconds) => self.pairing.pass(seconds),
            Step::Restart => self.restart(),
            Step::Begin { key, nonce, offer } => self.begin(key, nonce, offer),
            Step::Withdraw(n) if !self.offers.is_empty() => {
                let id = self.offers[n % self.offers.len()].0;
                let _ = self.pairing.authority.withdraw(id, self.pairing.now);
            }
            Step::Guess(n) if !self.offers.is_empty() => {
                let guess = (
                    self.offers[n % self.offers.len()].0,
                    OfferSecret::generate(&mut self.pairing.rng),
                );
                assert!(
                    self.pairing
                        .begin_as(9, [0; 32], "guesser", Some(&guess))
                        .is_err()
                );
            }
            Step::Revoke(n) if !self.committed.is_empty() => self.revoke(n % self.committed.len()),
            _ if self.actors.is_empty() => {}
            Step::Reveal(n) => drop(self.pairing.reveal(&self.actors[self.latest(n)].waiting)),
            Step::Approve(n) => self.approve(self.latest(n)),
            Step::Reject(n) => self.reject(self.latest(n)),
            Step::Exchange(n) => self.exchange(self.latest(n)),
            Step::Prepare { device, token } => self.prepare(self.latest(device), token),
            Step::Stored(n) => self.stored(self.latest(n)),
            Step::StoreFailed(n) => self.store_failed(self.latest(n)),
            Step::GoOn { device, steps } => self.go_on(device, steps),
            Step::Withdraw(_) | Step::Guess(_) | Step::Revoke(_) => {}
        }
    }

    /// Counts from the latest device back, so that most steps meet one that still can do something.
    fn latest(&self, n: usize) -> usize {
        self.actors.len() - 1 - n % self.actors.len()
    }

    fn begin(&mut self, key: u8, nonce: u8, offer: Option<usize>) {
        let offer = offer
            .filter(|_| !self.offers.is_empty())
            .map(|n| &self.offers[n % self.offers.len()]);
        if let Ok(waiting) = self
            .pairing
            .begin_as(key, [nonce; 32], &format!("peer {key}"), offer)
        {
            let offer = offer.map(|offer| offer.0);
            self.actors.push(Actor {
                waiting,
                offer,
                tokens: Vec::new(),
                prepared: None,
            });
        }
    }

    fn go_on(&mut self, device: usize, steps: u8) {
        let way = [
            Step::Reveal(device),
            Step::Approve(device),
            Step::Exchange(device),
            Step::Prepare { device, token: 0 },
            Step::Stored(device),
        ];
        way.iter().take(steps.into()).for_each(|step| self.take(step));
    }

    fn approve(&mut self, n: usize) {
        if self.pairing.approve(&self.actors[n].waiting).is_ok() {
            self.yes.insert(self.actors[n].waiting.id());
        }
    }

    fn reject(&mut self, n: usize) {
        let id = self.actors[n].waiting.id();
        if self.pairing.authority.reject(id, self.pairing.now).is_ok() {
            self.no.insert(id);
        }
    }

    fn exchange(&mut self, n: usize) {
        let actor = &mut self.actors[n];
        let known = self
            .pairing
            .authority
            .request_by_id(actor.waiting.id(), self.pairing.now)
            .is_some();
        // After a restart, or under a secret that was replaced, there is nothing to sign.
        if known && self.pairing.reveal(&actor.waiting).is_ok() {
            actor.tokens.extend(
                self.pairing
                    .exchange(&actor.waiting)
                    .map(|exchanged| exchanged.token),
            );
        }
    }

    fn prepare(&mut self, n: usize, token: usize) {
        let actor = &mut self.actors[n];
        if actor.tokens.is_empty() {
            return;
        }
        let token = actor.tokens.len() - 1 - token % actor.tokens.len();
        if let Ok(Commit::New(record)) = self.pairing.prepare(&actor.waiting, &actor.tokens[token]) {
            actor.prepared = Some((token, record));
        }
    }

    fn stored(&mut self, n: usize) {
        if let Some((token, record)) = self.actors[n].prepared.take() {
            let id = record.id;
            if self.devices.add(record) {
                assert!(
                    self.committed.insert(id, (n, token)).is_none(),
                    "one device was committed twice"
                );
            }
            self.pairing
                .authority
                .committed(self.actors[n].waiting.id(), self.pairing.now);
        }
    }

    fn store_failed(&mut self, n: usize) {
        if self.actors[n].prepared.take().is_some() {
            self.pairing.authority.commit_failed(self.actors[n].waiting.id());
        }
    }

    fn revoke(&mut self, n: usize) {
        let id = *self.committed.keys().nth(n).unwrap();
        if let Ok(revoked) = self.devices.revoke(&Principal::Owner, id, self.pairing.now) {
            self.tombstones.push(revoked.tombstone);
            self.revoked.insert(id);
        }
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

    fn check(&self) {
        let mut requests = BTreeSet::new();
        let mut offers = BTreeSet::new();
        for (actor, _) in self.committed.values() {
            let Actor { waiting, offer, .. } = &self.actors[*actor];
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
    }

    /// Exactly the committed token of each device that was not revoked opens something, and it opens that device.
    fn check_tokens(&self) {
        for (n, actor) in self.actors.iter().enumerate() {
            for (m, token) in actor.tokens.iter().enumerate() {
                let opened = self
                    .devices
                    .authenticate(token, &token_key(), self.pairing.now)
                    .ok();
                let good =
                    self.committed.get(&token.id()) == Some(&(n, m)) && !self.revoked.contains(&token.id());
                assert_eq!(
                    opened.and_then(|who| who.id().device_id()),
                    good.then(|| token.id())
                );
            }
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = prop_oneof![4 => 0..2_usize, 1 => 0..8_usize];
    let begin = (0..3_u8, 0..3_u8, proptest::option::of(n.clone()));
    let step = prop_oneof![
        5 => Just(Step::Offer),
        1 => n.clone().prop_map(Step::Withdraw),
        1 => n.clone().prop_map(Step::Guess),
        8 => begin.prop_map(|(key, nonce, offer)| Step::Begin { key, nonce, offer }),
        5 => n.clone().prop_map(Step::Reveal),
        5 => n.clone().prop_map(Step::Approve),
        2 => n.clone().prop_map(Step::Reject),
        5 => n.clone().prop_map(Step::Exchange),
        5 => (n.clone(), n.clone()).prop_map(|(device, token)| Step::Prepare { device, token }),
        4 => n.clone().prop_map(Step::Stored),
        2 => n.clone().prop_map(Step::StoreFailed),
        1 => n.clone().prop_map(Step::Revoke),
        12 => (n.clone(), 2..6_u8).prop_map(|(device, steps)| Step::GoOn { device, steps }),
        3 => prop_oneof![Just(1), Just(59), Just(119), Just(121), Just(700)].prop_map(Step::Pass),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 0..120)
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn in_any_order_only_what_was_approved_and_committed_becomes_one_device(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
            world.check();
        }
    }
}

#[test]
fn the_steps_do_make_devices() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut made = 0;
    for _ in 0..64 {
        let mut world = World::new();
        let steps = proptest::strategy::ValueTree::current(&steps().new_tree(&mut runner).unwrap());
        steps.iter().for_each(|step| world.take(step));
        made += world.committed.len();
    }
    assert!(
        made > 64,
        "only {made} devices: the property above would prove little"
    );
}

/// Longer than all the steps of a run together.
const IDLE: Duration = Duration::from_secs(1_000_000);
