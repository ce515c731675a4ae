use std::{sync::Arc, time::Duration};

use rustls_pki_types::UnixTime;

use super::{Resolver, Source};
use crate::{IDENTITY_SERVER_NAME, Identity, Names, Pair, pair::tests::made_for};

const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));

fn resolver() -> (tempfile::TempDir, Arc<Resolver>) {
    let home = tempfile::tempdir().unwrap();
    let identity = Identity::load_or_create(&home.path().join("keys")).unwrap();
    let names = Names::new("0011223344556677");
    (home, Resolver::new(identity.certificate(&names, NOW).unwrap()))
}

fn pair(names: &[&str]) -> Arc<Pair> {
    Arc::new(made_for(names, NOW))
}

#[test]
fn a_pair_is_shown_for_its_own_names_and_the_leaf_for_every_other() {
    let (_home, resolver) = resolver();
    let own = pair(&["desk.example", "*.desk.example", "192.0.2.7"]);
    resolver.serve(Source::Own, Some(Arc::clone(&own)));
    let leaf = resolver.current();
    let shown =
        |name, address: Option<&str>| resolver.choose(name, address.map(|address| address.parse().unwrap()));
    for name in ["desk.example", "Desk.Example", "a.desk.example"] {
        assert!(Arc::ptr_eq(&shown(Some(name), None), &own.key), "{name}");
    }
    for name in [
        "localhost",
        "a.b.desk.example",
        "notdesk.example",
        IDENTITY_SERVER_NAME,
    ] {
        assert!(
            Arc::ptr_eq(&shown(Some(name), Some("192.0.2.7")), &leaf),
            "{name}"
        );
    }
    assert!(Arc::ptr_eq(&shown(None, Some("192.0.2.7")), &own.key));
    assert!(Arc::ptr_eq(&shown(None, Some("192.0.2.8")), &leaf));
    assert!(Arc::ptr_eq(&shown(None, None), &leaf));
}

#[test]
fn of_two_pairs_for_a_name_the_users_own_is_shown() {
    let (_home, resolver) = resolver();
    let (own, tailnet) = (pair(&["desk.example"]), pair(&["desk.example", "box.ts.net"]));
    resolver.serve(Source::Tailnet, Some(Arc::clone(&tailnet)));
    resolver.serve(Source::Own, Some(Arc::clone(&own)));
    let shown = |name| resolver.choose(Some(name), None);
    assert!(Arc::ptr_eq(&shown("desk.example"), &own.key));
    assert!(Arc::ptr_eq(&shown("box.ts.net"), &tailnet.key));
    resolver.serve(Source::Own, None);
    assert!(Arc::ptr_eq(&shown("desk.example"), &tailnet.key));
}

#[test]
fn the_identitys_name_shows_its_leaf_whatever_a_pair_says() {
    let (_home, resolver) = resolver();
    resolver.serve(Source::Own, Some(pair(&[IDENTITY_SERVER_NAME])));
    let shown = resolver.choose(Some(IDENTITY_SERVER_NAME), None);
    assert!(Arc::ptr_eq(&shown, &resolver.current()));
}
