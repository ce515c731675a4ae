use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls_pki_types::UnixTime;

use super::{Pair, PairError};
use crate::SpkiPin;

const DAY: u64 = 24 * 60 * 60;
const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));

/// The parameters of a certificate for these names that is good from a day before until 90 days after.
fn params(names: &[&str], now: UnixTime) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.as_secs() - DAY);
    params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.as_secs() + 90 * DAY);
    params
}

/// A self-signed pair for these names.
pub(crate) fn made_for(names: &[&str], now: UnixTime) -> Pair {
    let (chain, key) = pem(&params(names, now));
    Pair::from_pem(chain.as_bytes(), key.as_bytes(), now).unwrap()
}

fn pem(params: &CertificateParams) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn refused(chain: &str, key: &str) -> PairError {
    Pair::from_pem(chain.as_bytes(), key.as_bytes(), NOW).unwrap_err()
}

#[test]
fn a_pair_says_its_names_its_issuer_and_its_time() {
    let pair = made_for(&["desk.example", "*.lab.example", "192.0.2.7"], NOW);
    assert_eq!(
        pair.names.hosts().collect::<Vec<_>>(),
        ["*.lab.example", "desk.example"]
    );
    assert!(pair.names.has_address("192.0.2.7".parse().unwrap()));
    assert_eq!(pair.issuer, "CN=rcgen self signed cert");
    assert_eq!(pair.not_before.as_secs(), NOW.as_secs() - DAY);
    assert_eq!(pair.not_after.as_secs(), NOW.as_secs() + 90 * DAY);
    SpkiPin::of_certificate(&pair.key.cert[0]).unwrap();
}

#[test]
fn a_chain_is_taken_in_order_only() {
    let (root_key, leaf_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut root = params(&[], NOW);
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.distinguished_name.push(rcgen::DnType::CommonName, "a root");
    let root_pem = root.self_signed(&root_key).unwrap().pem();
    let leaf = params(&["desk.example"], NOW)
        .signed_by(&leaf_key, &Issuer::new(root, root_key))
        .unwrap()
        .pem();
    let key = leaf_key.serialize_pem();
    let pair = Pair::from_pem(format!("{leaf}{root_pem}").as_bytes(), key.as_bytes(), NOW).unwrap();
    assert_eq!((pair.key.cert.len(), pair.issuer.contains("a root")), (2, true));
    let stranger = pem(&params(&["desk.example"], NOW)).0;
    assert_eq!(refused(&format!("{leaf}{stranger}"), &key), PairError::Order);
}

#[test]
fn what_cannot_be_served_is_refused_by_what_is_wrong() {
    let (chain, key) = pem(&params(&["desk.example"], NOW));
    let other_key = KeyPair::generate().unwrap().serialize_pem();
    assert!(matches!(refused(&chain, &other_key), PairError::KeyMismatch(_)));
    assert_eq!(refused("", &key), PairError::NoCertificate);
    assert_eq!(refused(&chain, ""), PairError::NoKey);
    assert_eq!(refused(&chain, &chain), PairError::NoKey);
    let half = &chain[..chain.len() / 2];
    assert!(matches!(
        refused(half, &key),
        PairError::Unreadable | PairError::NoCertificate
    ));
    let (nameless, key) = pem(&params(&[], NOW));
    assert_eq!(refused(&nameless, &key), PairError::Nameless);
}

#[test]
fn a_pair_is_good_at_its_own_time_and_for_servers_only() {
    let at = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(NOW.as_secs() + days * DAY));
    let (old, old_key) = pem(&params(
        &["desk.example"],
        UnixTime::since_unix_epoch(Duration::from_secs(DAY)),
    ));
    assert_eq!(refused(&old, &old_key), PairError::Expired);
    let (early, early_key) = pem(&params(&["desk.example"], at(300)));
    assert_eq!(refused(&early, &early_key), PairError::Early(at(299)));
    let mut clients = params(&["desk.example"], NOW);
    clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let (clients, key) = pem(&clients);
    assert_eq!(refused(&clients, &key), PairError::NotForServers);
    let pair = made_for(&["desk.example"], NOW);
    assert!(pair.is_good(at(90)) && !pair.is_good(at(91)));
    assert!(!pair.is_due(at(59)) && pair.is_due(at(60)));
}

#[test]
fn files_are_read_by_links_and_a_key_that_everybody_may_open_is_refused() {
    use std::{fs, os::unix::fs::PermissionsExt};
    let home = tempfile::tempdir().unwrap();
    let at = |name| home.path().join(name);
    let (chain, key) = pem(&params(&["desk.example"], NOW));
    fs::write(at("chain.pem"), chain).unwrap();
    fs::write(at("key.pem"), key).unwrap();
    std::os::unix::fs::symlink("chain.pem", at("live.pem")).unwrap();
    fs::set_permissions(at("key.pem"), fs::Permissions::from_mode(0o640)).unwrap();
    assert!(Pair::read(&at("live.pem"), &at("key.pem"), NOW).is_ok());
    let swapped = Pair::read(&at("live.pem"), &at("chain.pem"), NOW).unwrap_err();
    assert!(swapped.to_string().contains("chain.pem"), "{swapped}");
    fs::set_permissions(at("key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let open = Pair::read(&at("live.pem"), &at("key.pem"), NOW).unwrap_err();
    assert!(open.to_string().contains("key.pem"), "{open}");
    assert!(Pair::read(&at("none.pem"), &at("key.pem"), NOW).is_err());
}
