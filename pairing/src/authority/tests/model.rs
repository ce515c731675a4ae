//! Random orders of everything that devices, owner, strangers, store and time can do, against a model that keeps only what must
//! be true.

mod world;

use self::world::World;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof};

/// One thing that somebody does. Devices, offers and tokens are counted from the latest back, so that most steps meet one that
/// still can do something.
#[derive(Clone, Debug)]
enum Step {
    Offer,
    Withdraw(usize),
    Guess(usize),
    Begin {
        key: u8,
        nonce: u8,
        peer: u8,
        offer: Option<usize>,
    },
    Reveal(usize),
    Poll {
        device: usize,
        waits: bool,
    },
    Approve {
        device: usize,
        /// Seconds for which the device shall live.
        lives: Option<u64>,
    },
    Reject(usize),
    Exchange(usize),
    Prepare {
        device: usize,
        token: usize,
    },
    Stored(usize),
    StoreFailed(usize),
    Revoke(usize),
    LockDown,
    /// One device does with the secret, key or token of another what is only the other's to do.
    Meddle {
        by: usize,
        with: usize,
    },
    /// The first few of reveal, approve, exchange, prepare and stored, in their order.
    GoOn {
        device: usize,
        steps: u8,
    },
    /// Nothing is heard of anybody for so many seconds.
    Pass(u64),
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = prop_oneof![4 => 0..2_usize, 1 => 0..8_usize];
    let begin = (0..3_u8, 0..3_u8, 0..2_u8, proptest::option::of(n.clone()));
    let approve = (n.clone(), proptest::option::weighted(0.2, 1..400_u64));
    let step = prop_oneof![
        5 => Just(Step::Offer),
        1 => n.clone().prop_map(Step::Withdraw),
        1 => n.clone().prop_map(Step::Guess),
        8 => begin.prop_map(|(key, nonce, peer, offer)| Step::Begin { key, nonce, peer, offer }),
        5 => n.clone().prop_map(Step::Reveal),
        3 => (n.clone(), proptest::bool::ANY).prop_map(|(device, waits)| Step::Poll { device, waits }),
        5 => approve.prop_map(|(device, lives)| Step::Approve { device, lives }),
        2 => n.clone().prop_map(Step::Reject),
        5 => n.clone().prop_map(Step::Exchange),
        5 => (n.clone(), n.clone()).prop_map(|(device, token)| Step::Prepare { device, token }),
        4 => n.clone().prop_map(Step::Stored),
        2 => n.clone().prop_map(Step::StoreFailed),
        1 => n.clone().prop_map(Step::Revoke),
        1 => Just(Step::LockDown),
        3 => (n.clone(), n.clone()).prop_map(|(by, with)| Step::Meddle { by, with }),
        18 => (n.clone(), 2..6_u8).prop_map(|(device, steps)| Step::GoOn { device, steps }),
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
    let (mut made, mut ended) = (0, 0);
    for _ in 0..64 {
        let mut world = World::new();
        let steps = proptest::strategy::ValueTree::current(&steps().new_tree(&mut runner).unwrap());
        steps.iter().for_each(|step| world.take(step));
        made += world.made();
        ended += world.ended();
    }
    assert!(
        made > 64 && ended > 8,
        "only {made} devices, of which {ended} ended: the property above would prove little"
    );
}
