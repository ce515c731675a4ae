//! The six steps in any order, by anybody, with a store that fails and a daemon that is locked down or starts again: against a
//! model that keeps only what must be true.

use std::collections::{BTreeMap, BTreeSet};

use pairing::{DeviceId, OfferId, Principal, RequestId, Role};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof};
use protocol::pairing as wire;

use super::harness::{Phone, World, fragment, works, world};
use crate::clock;

#[derive(Clone, Debug)]
enum Step {
    Offer(Principal),
    Withdraw(Principal, usize),
    Ask {
        peer: u8,
        offer: Option<usize>,
    },
    Reveal(usize),
    Approve(Principal, usize),
    Reject(Principal, usize),
    Exchange(usize),
    Commit {
        phone: usize,
        token: usize,
    },
    Revoke(usize),
    /// The first few of all steps of a new phone, in their order.
    GoOn {
        peer: u8,
        offer: Option<usize>,
        steps: usize,
    },
    LockDown,
    Lift,
    Break,
    Mend,
    Restart,
}

/// A phone with every token that it was ever given.
struct Actor {
    phone: Phone,
    offer: Option<OfferId>,
    tokens: Vec<String>,
}

struct Model {
    world: World,
    offers: Vec<wire::OfferMade>,
    actors: Vec<Actor>,
    /// To which requests the owner said yes, and which ended by a no or a lock-down.
    yes: BTreeSet<RequestId>,
    no: BTreeSet<RequestId>,
    /// Whose which token was committed, and is a device.
    committed: BTreeMap<DeviceId, (usize, usize)>,
    revoked: BTreeSet<DeviceId>,
}

impl Model {
    fn new() -> Self {
        Self {
            world: world(),
            offers: Vec::new(),
            actors: Vec::new(),
            yes: BTreeSet::new(),
            no: BTreeSet::new(),
            committed: BTreeMap::new(),
            revoked: BTreeSet::new(),
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Offer(by) => self.offer(by).await,
            Step::Withdraw(by, n) if !self.offers.is_empty() => {
                let id = self.offers[n % self.offers.len()].id;
                if let Some(owner) = self.owner(by) {
                    // It may have been forgotten.
                    let _ = self.world.withdraw_as(owner, id).await;
                }
            }
            Step::Ask { peer, offer } => self.ask(peer, offer).await,
            Step::GoOn { peer, offer, steps } => {
                let way = [
                    Step::Ask { peer, offer },
                    Step::Reveal(0),
                    Step::Approve(Principal::Owner, 0),
                    Step::Exchange(0),
                    Step::Commit { phone: 0, token: 0 },
                ];
                for step in way.into_iter().take(steps) {
                    Box::pin(self.take(step)).await;
                }
            }
            Step::LockDown => self.lock_down(),
            Step::Lift => self.world.lifted(),
            Step::Break => self.world.access.store.break_writes().await,
            Step::Mend => self.world.access.store.mend_writes().await,
            Step::Restart => self.restart(),
            Step::Revoke(n) if !self.committed.is_empty() => self.revoke(n),
            _ if self.actors.is_empty() => {}
            Step::Reveal(n) => drop(self.actors[self.latest(n)].phone.reveal(&self.world).await),
            Step::Approve(by, n) => self.approve(by, self.latest(n)).await,
            Step::Reject(by, n) => self.reject(by, self.latest(n)).await,
            Step::Exchange(n) => self.exchange(self.latest(n)).await,
            Step::Commit { phone, token } => self.commit(self.latest(phone), token).await,
            Step::Withdraw(..) | Step::Revoke(_) => {}
        }
    }

    fn latest(&self, n: usize) -> usize {
        self.actors.len() - 1 - n % self.actors.len()
    }

    /// What lets a principal act as the owner: nothing does but being it.
    fn owner(&self, by: Principal) -> Option<super::harness::OwnersPermit> {
        let is_owner = by == Principal::Owner;
        let permit = self.world.permit_of(by);
        assert_eq!(permit.is_some(), is_owner);
        permit
    }

    async fn offer(&mut self, by: Principal) {
        if let Some(owner) = self.owner(by) {
            let made = self.world.offer_as(owner, wire::NewOffer::default()).await;
            self.offers.extend(made);
        }
    }

    async fn ask(&mut self, peer: u8, offer: Option<usize>) {
        let count = self.offers.len();
        let offer = offer
            .filter(|_| count > 0)
            .map(|n| fragment(&self.offers[n % count]).0);
        let id = offer.as_ref().map(|offer| offer.id);
        let mut phone = Phone::new(peer);
        if phone.ask(&self.world, "phone", offer).await.is_ok() {
            self.actors.push(Actor {
                phone,
                offer: id,
                tokens: Vec::new(),
            });
        }
    }

    async fn approve(&mut self, by: Principal, n: usize) {
        let id = self.actors[n].phone.id();
        if let Some(owner) = self.owner(by)
            && self
                .world
                .approve_as(owner, id, wire::Approve::default())
                .await
                .is_ok()
        {
            self.yes.insert(id);
        }
    }

    async fn reject(&mut self, by: Principal, n: usize) {
        let id = self.actors[n].phone.id();
        if let Some(owner) = self.owner(by)
            && self.world.reject_as(owner, id).await.is_ok()
        {
            self.no.insert(id);
        }
    }

    async fn exchange(&mut self, n: usize) {
        let actor = &mut self.actors[n];
        // Forgotten with a restart, it cannot even be asked what to sign.
        let requests = self.world.access.authority().requests(clock::latest());
        if requests.iter().any(|request| request.id == actor.phone.id())
            && let Ok(exchanged) = actor.phone.exchange(&self.world).await
        {
            actor.tokens.push(exchanged.token.expose().to_owned());
        }
    }

    async fn commit(&mut self, n: usize, token: usize) {
        let actor = &self.actors[n];
        let count = actor.tokens.len();
        if count == 0 {
            return;
        }
        let token = count - 1 - token % count;
        let text = &actor.tokens[token];
        if self.world.commit(actor.phone.id(), text).await.is_ok() {
            let id = pairing::DeviceToken::parse(text).unwrap().id();
            let before = self.committed.insert(id, (n, token));
            assert!(
                before.is_none_or(|before| before == (n, token)),
                "one device was committed by two tokens"
            );
        }
    }

    fn revoke(&mut self, n: usize) {
        let id = *self.committed.keys().nth(n % self.committed.len()).unwrap();
        let mut devices = self.world.access.devices();
        if devices.revoke(&Principal::Owner, id, clock::latest()).is_ok() {
            self.revoked.insert(id);
        }
    }

    fn lock_down(&mut self) {
        crate::lockdown::end_all(&self.world.access);
        let committed: BTreeSet<_> = self
            .committed
            .values()
            .map(|(n, _)| self.actors[*n].phone.id())
            .collect();
        let all = self.actors.iter().map(|actor| actor.phone.id());
        self.no.extend(all.filter(|id| !committed.contains(id)));
    }

    /// Offers and requests are forgotten. What was revoked here in memory alone would come back, so it is left out.
    fn restart(&mut self) {
        if self.revoked.is_empty() {
            let world = std::mem::replace(&mut self.world, world());
            self.world = world.restarted();
            self.offers.clear();
        }
    }

    fn check(&self) {
        let (mut requests, mut offers) = (BTreeSet::new(), BTreeSet::new());
        for (n, _) in self.committed.values() {
            let Actor { phone, offer, .. } = &self.actors[*n];
            assert!(self.yes.contains(&phone.id()), "without the owner's yes");
            assert!(!self.no.contains(&phone.id()), "in spite of the owner's no");
            assert!(requests.insert(phone.id()), "two devices from one request");
            assert!(
                offer.is_none_or(|offer| offers.insert(offer)),
                "two devices from one offer"
            );
        }
        let living = self.committed.len() - self.revoked.len();
        assert_eq!(self.world.access.device_count(), living);
        for (n, actor) in self.actors.iter().enumerate() {
            for (m, token) in actor.tokens.iter().enumerate() {
                let id = pairing::DeviceToken::parse(token).unwrap().id();
                let is_good = self.committed.get(&id) == Some(&(n, m)) && !self.revoked.contains(&id);
                assert_eq!(works(&self.world, token).is_ok(), is_good);
            }
        }
    }
}

/// The owner half of the time, since nobody else comes any further.
fn anybody() -> impl Strategy<Value = Principal> {
    let device = Principal::Device {
        id: DeviceId::from_bytes([1; 8]),
        role: Role::Operator,
        can_revoke: true,
    };
    prop_oneof![
        4 => Just(Principal::Owner),
        1 => Just(device),
        1 => Just(Principal::Guest(pairing::GuestId::from_bytes([2; 8]))),
        1 => Just(Principal::Session("ses_0123456789abcdef".parse().unwrap())),
        1 => Just(Principal::Nobody),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = prop_oneof![4 => 0..2_usize, 1 => 0..8_usize];
    let go_on = (1..4_u8, proptest::option::of(n.clone()), 2..6_usize);
    let step = prop_oneof![
        4 => anybody().prop_map(Step::Offer),
        1 => (anybody(), n.clone()).prop_map(|(by, n)| Step::Withdraw(by, n)),
        6 => (1..4_u8, proptest::option::of(n.clone())).prop_map(|(peer, offer)| Step::Ask { peer, offer }),
        4 => n.clone().prop_map(Step::Reveal),
        6 => (anybody(), n.clone()).prop_map(|(by, n)| Step::Approve(by, n)),
        2 => (anybody(), n.clone()).prop_map(|(by, n)| Step::Reject(by, n)),
        4 => n.clone().prop_map(Step::Exchange),
        4 => (n.clone(), n.clone()).prop_map(|(phone, token)| Step::Commit { phone, token }),
        1 => n.clone().prop_map(Step::Revoke),
        12 => go_on.prop_map(|(peer, offer, steps)| Step::GoOn { peer, offer, steps }),
        1 => Just(Step::LockDown),
        4 => Just(Step::Lift),
        1 => Just(Step::Break),
        4 => Just(Step::Mend),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 0..50)
}

/// How many devices came of it.
fn run(steps: Vec<Step>) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut model = Model::new();
        for step in steps {
            model.take(step).await;
            model.check();
        }
        model.committed.len()
    })
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn whoever_does_what_only_the_owners_yes_and_the_devices_commit_make_one_device(steps in steps()) {
        run(steps);
    }
}

#[test]
fn the_steps_do_make_devices() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tree = |runner: &mut _| steps().new_tree(runner).unwrap();
    let made: usize = (0..16)
        .map(|_| run(proptest::strategy::ValueTree::current(&tree(&mut runner))))
        .sum();
    assert!(
        made > 8,
        "only {made} devices: the property above would prove little"
    );
}
