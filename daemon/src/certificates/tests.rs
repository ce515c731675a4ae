use std::{io, net::IpAddr, sync::Arc, time::Duration};

use certs::{Identity, Names, SpkiPin, UnixTime};
use futures_util::FutureExt;

use super::{Certificates, GLANCE, told_or_known, wait_for};

const DAY: u64 = 24 * 60 * 60;

fn day(number: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs((20_000 + number) * DAY))
}

fn certificates(home: &tempfile::TempDir) -> Arc<Certificates> {
    let keys = home.path().join("keys");
    let identity = Identity::load_or_create(&keys).unwrap();
    Certificates::open(keys, identity, INSTANCE, names(), Names::default(), day(0)).unwrap()
}

/// The same after a restart, with what is configured by then, where a tailnet may add something.
fn opened_again(home: &tempfile::TempDir, configured: Names) -> Arc<Certificates> {
    let keys = home.path().join("keys");
    let identity = Identity::load_or_create(&keys).unwrap();
    let before = identity.kept_names(&keys).unwrap().unwrap();
    Certificates::open(keys, identity, INSTANCE, configured, before, day(2)).unwrap()
}

fn names() -> Names {
    Names::new(INSTANCE)
}

const INSTANCE: &str = "0011223344556677";

#[test]
fn what_the_tailnet_added_outlives_a_restart_until_it_says_something_else() {
    let home = tempfile::tempdir().unwrap();
    let first = certificates(&home);
    let name = || Some("box.tail1234.ts.net".to_owned());
    let address: IpAddr = "100.64.0.1".parse().unwrap();
    first.cover_node(name(), vec![address], day(1)).unwrap();
    let shown = |certificates: &Certificates| certificates.resolver().current().cert[0].clone();
    let second = opened_again(&home, names());
    assert_eq!(shown(&second), shown(&first));
    assert_eq!(second.configured(), names());
    assert!(!second.cover_node(name(), vec![address], day(2)).unwrap());
    // What is configured anew is in none that was kept: then nothing is taken from it either.
    let third = opened_again(&home, names().host("desk.example"));
    assert!(!third.reached_by().contains(&"box.tail1234.ts.net".to_owned()));
    assert!(third.cover_node(name(), vec![address], day(2)).unwrap());
    let fourth = opened_again(&home, names());
    assert!(fourth.cover_node(None, Vec::new(), day(2)).unwrap());
    let fifth = opened_again(&home, names());
    assert_eq!(shown(&fifth), shown(&fourth));
    assert_eq!(
        fifth.reached_by(),
        ["0011223344556677.localhost", "localhost", "127.0.0.1", "::1"]
            .map(str::to_owned)
            .as_slice()
    );
}

#[test]
fn a_leaf_that_is_due_is_made_anew_under_the_same_key_and_no_other_is() {
    let home = tempfile::tempdir().unwrap();
    let certificates = certificates(&home);
    let shown = || certificates.resolver().current().cert[0].clone();
    let first = shown();
    assert!(!certificates.renew(day(300)).unwrap());
    assert_eq!(shown(), first);
    assert!(certificates.renew(day(366)).unwrap());
    assert_ne!(shown(), first);
    assert_eq!(SpkiPin::of_certificate(&shown()).unwrap(), certificates.pin());
    assert!(!certificates.renew(day(366)).unwrap());
}

#[test]
fn a_new_name_is_in_the_next_handshakes_leaf_and_the_same_names_change_nothing() {
    let home = tempfile::tempdir().unwrap();
    let certificates = certificates(&home);
    assert!(!certificates.cover(names(), day(1)).unwrap());
    assert!(certificates.cover(names().host("desk.example"), day(1)).unwrap());
    let told = certificates.show();
    assert!(told.certificates[0].names.contains(&"desk.example".to_owned()));
    assert_eq!(told.pin, certificates.pin().to_string());
}

#[test]
fn addresses_that_the_kernel_does_not_tell_are_those_that_were_known() {
    let address = |text: &str| -> IpAddr { text.parse().unwrap() };
    let known = names().address(address("192.0.2.7"));
    let untold = told_or_known(Err(io::ErrorKind::OutOfMemory.into()), &known);
    assert!(untold.contains(&address("192.0.2.7")), "{untold:?}");
    let told = vec![address("192.0.2.8")];
    assert_eq!(told_or_known(Ok(told.clone()), &known), told);
}

#[test]
fn names_that_no_certificate_can_carry_leave_the_former_leaf() {
    let home = tempfile::tempdir().unwrap();
    let certificates = certificates(&home);
    let shown = || certificates.resolver().current().cert[0].clone();
    let first = shown();
    assert!(certificates.cover(names().host("not a name"), day(1)).is_err());
    assert_eq!(shown(), first);
    assert!(certificates.renew(day(366)).unwrap());
}

#[test]
fn what_the_tailnet_adds_stays_when_the_configuration_changes_and_goes_with_it() {
    let home = tempfile::tempdir().unwrap();
    let certificates = certificates(&home);
    let name = || Some("box.tail1234.ts.net".to_owned());
    let address = vec!["100.64.0.1".parse().unwrap()];
    assert!(certificates.cover_node(name(), address.clone(), day(1)).unwrap());
    assert!(!certificates.cover_node(name(), address, day(1)).unwrap());
    assert!(certificates.cover(names().host("desk.example"), day(1)).unwrap());
    let reached = certificates.reached_by();
    for named in ["desk.example", "box.tail1234.ts.net", "100.64.0.1"] {
        assert!(reached.contains(&named.to_owned()), "{reached:?}");
    }
    assert!(certificates.renew(day(366)).unwrap());
    assert_eq!(certificates.reached_by(), reached);
    assert!(certificates.cover_node(None, Vec::new(), day(366)).unwrap());
    assert!(
        !certificates
            .reached_by()
            .contains(&"box.tail1234.ts.net".to_owned())
    );
}

#[test]
fn a_pair_that_begins_is_waited_for_to_the_second_and_never_for_long_without_a_look_at_the_clock() {
    let begins = UnixTime::since_unix_epoch(Duration::from_secs(1_000_000));
    let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    for (now, wait) in [
        (at(1_000_000), Duration::ZERO),
        (at(1_000_001), Duration::ZERO),
        (at(999_999), Duration::from_secs(1)),
        (at(999_000), GLANCE),
    ] {
        assert_eq!(wait_for(Some(begins), now), wait, "{now:?}");
        assert_eq!(wait_for(None, now), GLANCE);
    }
}

#[tokio::test]
async fn that_a_pair_begins_is_told_once_and_not_before() {
    let home = tempfile::tempdir().unwrap();
    let certificates = certificates(&home);
    let is_told = |now| certificates.own_begins(|| now).now_or_never().is_some();
    assert!(!is_told(day(2)), "none is awaited");
    certificates.await_own(Some(day(2)));
    assert!(!is_told(day(1)));
    assert!(is_told(day(2)));
    assert!(!is_told(day(3)));
    certificates.await_own(Some(day(2)));
    certificates.serve_own(None);
    assert!(!is_told(day(3)), "another is served by now");
}
