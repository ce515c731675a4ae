use std::{
    fs,
    net::IpAddr,
    os::unix::fs::{MetadataExt, PermissionsExt},
    time::Duration,
};

use rustls_pki_types::UnixTime;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::Identity;
use crate::{CertsError, IDENTITY_SERVER_NAME, Names, SpkiPin, files::FileError};

const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));
const DAY: i64 = 24 * 60 * 60;

fn identity() -> (tempfile::TempDir, Identity) {
    let home = tempfile::tempdir().unwrap();
    let identity = Identity::load_or_create(&home.path().join("keys")).unwrap();
    (home, identity)
}

fn leaf(identity: &Identity, names: &Names) -> Vec<u8> {
    identity.certificate(names, NOW).unwrap().key.cert[0].to_vec()
}

#[test]
fn a_leaf_starts_a_day_early_and_lasts_at_most_397_days() {
    let (_home, identity) = identity();
    let der = leaf(&identity, &Names::new("0011223344556677"));
    let validity = X509Certificate::from_der(&der).unwrap().1.validity().clone();
    assert_eq!(validity.not_before.timestamp(), NOW.as_secs() as i64 - DAY);
    assert!(validity.not_after.timestamp() - validity.not_before.timestamp() <= 397 * DAY);
    assert!(validity.not_after.timestamp() > NOW.as_secs() as i64 + 390 * DAY);
}

#[test]
fn a_leaf_is_for_servers_and_no_authority() {
    let (_home, identity) = identity();
    let der = leaf(&identity, &Names::new("0011223344556677"));
    let certificate = X509Certificate::from_der(&der).unwrap().1;
    let usage = certificate.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.server_auth && !usage.client_auth && !usage.any);
    assert!(!certificate.is_ca());
}

#[test]
fn a_leaf_names_everything_that_the_daemon_can_be_reached_by() {
    let (_home, identity) = identity();
    let names = Names::new("0011223344556677")
        .host("box.tail1234.ts.net")
        .address("100.64.0.7".parse().unwrap());
    let der = leaf(&identity, &names);
    let certificate = X509Certificate::from_der(&der).unwrap().1;
    let mut found: Vec<String> = certificate
        .subject_alternative_name()
        .unwrap()
        .unwrap()
        .value
        .general_names
        .iter()
        .map(shown)
        .collect();
    found.sort();
    let mut expected = vec![
        IDENTITY_SERVER_NAME,
        "localhost",
        "0011223344556677.localhost",
        "box.tail1234.ts.net",
        "100.64.0.7",
        "127.0.0.1",
        "::1",
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
}

fn shown(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => IpAddr::from(<[u8; 4]>::try_from(*bytes).unwrap()).to_string(),
            _ => IpAddr::from(<[u8; 16]>::try_from(*bytes).unwrap()).to_string(),
        },
        other => format!("{other:?}"),
    }
}

#[test]
fn two_leaves_share_the_pin_and_not_the_number() {
    let (_home, identity) = identity();
    let names = Names::new("0011223344556677");
    let (first, second) = (leaf(&identity, &names), leaf(&identity, &names));
    assert_eq!(
        SpkiPin::of_certificate(&first.as_slice().into()).unwrap(),
        identity.pin()
    );
    assert_eq!(
        SpkiPin::of_certificate(&second.as_slice().into()).unwrap(),
        identity.pin()
    );
    let number = |der: &[u8]| X509Certificate::from_der(der).unwrap().1.raw_serial().to_vec();
    assert_ne!(number(&first), number(&second));
}

#[test]
fn the_key_is_made_once_and_private() {
    let (home, identity) = identity();
    let again = Identity::load_or_create(&home.path().join("keys")).unwrap();
    assert_eq!(again.pin(), identity.pin());
    assert_eq!(
        fs::metadata(home.path().join("keys/identity.pem"))
            .unwrap()
            .mode()
            & 0o7777,
        0o600
    );
}

#[test]
fn a_crash_between_key_and_certificate_recovers_under_the_same_key() {
    let (home, before) = identity();
    let partial = home.path().join("keys/identity.pem.partial");
    fs::write(&partial, "half a key").unwrap();
    let after = Identity::load_or_create(&home.path().join("keys")).unwrap();
    let der = leaf(&after, &Names::new("0011223344556677"));
    assert_eq!(
        SpkiPin::of_certificate(&der.as_slice().into()).unwrap(),
        before.pin()
    );
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let (home, _) = identity();
    let path = home.path().join("keys/identity.pem");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = Identity::load_or_create(&home.path().join("keys"));
    assert!(matches!(refused, Err(CertsError::File(FileError::Mode { .. }))));
}

#[test]
fn a_file_without_a_key_is_refused_by_name_and_left_alone() {
    let (home, _) = identity();
    let path = home.path().join("keys/identity.pem");
    fs::write(&path, "").unwrap();
    let refused = Identity::load_or_create(&home.path().join("keys")).unwrap_err();
    assert!(refused.to_string().contains("identity.pem"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn debug_shows_the_pin_and_no_key() {
    let (_home, identity) = identity();
    assert_eq!(format!("{identity:?}"), format!("Identity({})", identity.pin()));
}

#[test]
fn the_next_key_takes_the_place_of_the_former_and_is_made_where_nobody_announced_it() {
    let (home, former) = identity();
    let keys = home.path().join("keys");
    let announced = Identity::make_next(&keys).unwrap().pin();
    assert_eq!(Identity::load_next(&keys).unwrap().unwrap().pin(), announced);
    assert_eq!(Identity::load_or_create(&keys).unwrap().pin(), former.pin());
    assert_eq!(Identity::rotate(&keys).unwrap().pin(), announced);
    assert_eq!(Identity::load_or_create(&keys).unwrap().pin(), announced);
    assert!(Identity::load_next(&keys).unwrap().is_none());
    assert_ne!(Identity::rotate(&keys).unwrap().pin(), announced);
}
