use std::{sync::Arc, time::Duration};

use certs::{Identity, Names, Pair, UnixTime};
use tokio::time::Instant;

use super::{Kept, LOOK, Wanted, due_in, pause, wanted};
use crate::tailnet::{OwnNode, Phase, Seen};

const DAY: u64 = 24 * 60 * 60;

fn day(number: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs((20_000 + number) * DAY))
}

/// A pair that is good from day 0 to day 90.
fn pair() -> Arc<Pair> {
    let home = tempfile::tempdir().unwrap();
    let identity = Identity::load_or_create(&home.path().join("keys")).unwrap();
    let names = Names::default().host("box.tail1234.ts.net");
    let made = identity.certificate(&names, day(0)).unwrap();
    Arc::new(Pair {
        key: made.key,
        names,
        issuer: "an authority".to_owned(),
        not_before: day(0),
        not_after: day(90),
    })
}

fn node(name: Option<&str>, has_certificates: bool) -> Option<OwnNode> {
    Some(OwnNode {
        name: name.map(str::to_owned),
        addresses: Vec::new(),
        user_id: None,
        user: None,
        tags: Vec::new(),
        has_certificates,
    })
}

#[test]
fn it_is_renewed_when_a_third_of_its_life_is_left() {
    let pair = pair();
    assert_eq!(due_in(&pair, day(0)).as_secs(), 60 * DAY);
    assert_eq!(due_in(&pair, day(59)).as_secs(), DAY);
    for over in [60, 89, 90, 200] {
        assert!(due_in(&pair, day(over)).is_zero(), "{over}");
    }
}

#[test]
fn it_is_waited_for_by_the_wall_clock_and_looked_at_again_and_again() {
    let mut kept = Kept::default();
    assert!(
        kept.wait(day(0)).is_zero(),
        "what is not there is asked for at once"
    );
    kept.served = Some(("box.tail1234.ts.net".to_owned(), pair()));
    assert_eq!(kept.wait(day(0)), LOOK);
    assert!(kept.wait(day(60)).is_zero());
    kept.again = Some(Instant::now() + Duration::from_secs(60));
    assert!(
        !kept.wait(day(60)).is_zero(),
        "after a failure it is left alone for a while"
    );
}

#[test]
fn failures_are_tried_again_less_and_less_often_and_never_given_up() {
    assert_eq!(pause(0), Duration::from_secs(60));
    assert_eq!(pause(1), Duration::from_secs(120));
    assert_eq!(pause(60), LOOK);
    assert_eq!(pause(u32::MAX), LOOK);
}

#[test]
fn who_may_not_ask_asks_again_soon_after_a_change_and_not_oftener_than_at_first() {
    let now = Instant::now();
    let mut kept = Kept {
        again: Some(now + LOOK),
        failures: 9,
        ..Kept::default()
    };
    kept.hasten();
    assert_eq!(kept.again, Some(now + LOOK), "an authority is left alone");
    kept.denied = Some(now);
    kept.hasten();
    assert_eq!(kept.again, Some(now + Duration::from_secs(60)));
}

#[test]
fn there_is_one_to_get_where_the_tailnet_hands_them_out_for_the_name() {
    let seen = |phase, node| Seen {
        phase,
        node,
        trouble: None,
    };
    let name = "box.tail1234.ts.net";
    let running = Some(Phase::Running);
    assert_eq!(
        wanted(&seen(running, node(Some(name), true))),
        Wanted::Named(name.to_owned())
    );
    for nothing in [node(Some(name), false), node(None, true), None] {
        assert_eq!(wanted(&seen(running, nothing)), Wanted::Nothing);
    }
    for phase in [None, Some(Phase::Starting), Some(Phase::Stopped)] {
        assert_eq!(wanted(&seen(phase, node(Some(name), true))), Wanted::Unknown);
    }
}
