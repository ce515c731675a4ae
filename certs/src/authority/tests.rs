use std::{fs, sync::Arc, time::Duration};

use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::Authority;
use crate::{IDENTITY_SERVER_NAME, Identity, Names, Pair, SpkiPin};

const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));
const INSTANCE: &str = "0011223344556677";
const DAY: u64 = 24 * 60 * 60;

fn names() -> Names {
    Names::new(INSTANCE)
        .host("desk.example")
        .address("192.0.2.7".parse().unwrap())
}

struct Home {
    folder: tempfile::TempDir,
    identity: Identity,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity = Identity::load_or_create(&folder.path().join("keys")).unwrap();
        Self { folder, identity }
    }

    fn keys(&self) -> std::path::PathBuf {
        self.folder.path().join("keys")
    }

    fn authority(&self) -> Authority {
        Authority::make(&self.keys(), INSTANCE, &names(), NOW).unwrap()
    }
}

/// What a browser that trusts the root says of a pair.
fn accepts(root: &CertificateDer<'static>, pair: &Pair, name: &str, now: UnixTime) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let chain = &pair.key.cert;
    verifier
        .verify_server_cert(&chain[0], &chain[1..], &name, &[], now)
        .is_ok()
}

#[test]
fn a_leaf_of_the_authority_is_accepted_for_every_name_and_shares_the_pin() {
    let home = Home::new();
    let authority = home.authority();
    let pair = authority.issue(&home.identity, &names(), NOW).unwrap();
    for name in ["localhost", "desk.example", "127.0.0.1", "::1", "192.0.2.7"] {
        assert!(accepts(authority.root(), &pair, name, NOW), "{name}");
    }
    assert_eq!(
        SpkiPin::of_certificate(&pair.key.cert[0]).unwrap(),
        home.identity.pin()
    );
    assert!(!pair.names.has_host(IDENTITY_SERVER_NAME));
}

#[test]
fn it_speaks_for_the_daemons_own_names_only_and_says_so_critically() {
    let home = Home::new();
    let authority = home.authority();
    let more = names().host("bank.example").address("192.0.2.8".parse().unwrap());
    let pair = authority.issue(&home.identity, &more, NOW).unwrap();
    assert!(!pair.names.has_host("bank.example") && !pair.names.has_address("192.0.2.8".parse().unwrap()));
    // Even if its key were stolen, what it issues for others is worth nothing.
    let mut params = Identity::leaf_params(&Names::default().host("bank.example")).unwrap();
    params.not_before = rcgen::date_time_ymd(2026, 11, 1);
    params.not_after = rcgen::date_time_ymd(2027, 6, 1);
    let stolen = params.signed_by(home.identity.key(), &authority.issuer).unwrap();
    let chain = vec![stolen.der().clone(), authority.intermediate.clone()];
    let stolen = Pair::from_der(chain, home.identity.secret(), NOW).unwrap();
    assert!(!accepts(authority.root(), &stolen, "bank.example", NOW));
    for der in [&authority.intermediate, &authority.root] {
        let certificate = X509Certificate::from_der(der).unwrap().1;
        assert!(certificate.name_constraints().unwrap().unwrap().critical);
        let days = (certificate.validity().not_after.timestamp() - NOW.as_secs() as i64) / DAY as i64;
        assert_eq!(days, 730);
    }
}

#[test]
fn what_is_kept_is_private_and_holds_one_key_which_is_not_the_roots() {
    let home = Home::new();
    let authority = home.authority();
    let text = fs::read_to_string(home.keys().join("ca.pem")).unwrap();
    assert_eq!(text.matches("PRIVATE KEY").count(), 2, "one key has two lines");
    let key = rcgen::KeyPair::from_pem(&text).unwrap();
    let public = |der: &CertificateDer<'_>| {
        let certificate = X509Certificate::from_der(der).unwrap().1;
        certificate.public_key().subject_public_key.data.to_vec()
    };
    assert_eq!(public(&authority.intermediate), key.public_key_raw());
    assert_ne!(public(&authority.root), key.public_key_raw());
    let again = Authority::load(&home.keys(), INSTANCE).unwrap().unwrap();
    assert_eq!(
        (again.root(), again.names()),
        (authority.root(), authority.names())
    );
    let pair = again.issue(&home.identity, &names(), NOW).unwrap();
    assert!(accepts(authority.root(), &pair, "localhost", NOW));
    Authority::forget(&home.keys()).unwrap();
    assert!(Authority::load(&home.keys(), INSTANCE).unwrap().is_none());
}

#[test]
fn it_is_good_for_the_names_it_was_made_for_until_30_days_before_its_end() {
    let home = Home::new();
    let authority = home.authority();
    let at = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(NOW.as_secs() + days * DAY));
    assert!(authority.is_good_for(&names(), NOW));
    assert!(!authority.is_good_for(&names().host("lab.example"), NOW));
    assert!(authority.is_good_for(&names(), at(699)) && !authority.is_good_for(&names(), at(700)));
    let late = authority.issue(&home.identity, &names(), at(600)).unwrap();
    assert_eq!(late.not_after, authority.not_after());
    assert!(authority.issue(&home.identity, &names(), at(731)).is_err());
}
