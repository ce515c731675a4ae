//! `transom certs trust` and `certs export`.

use std::process::Command;

use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use harness::{RawRequest, TestDaemon, accepts, shown};
use protocol::certificates::{CertificateSource, Certificates};
use rustls::pki_types::{CertificateDer, pem::PemObject};

async fn exported(daemon: &TestDaemon) -> CertificateDer<'static> {
    let pem = daemon.cli(&["certs", "export"]).await;
    assert_eq!(pem.code, 0, "{pem:?}");
    CertificateDer::from_pem_slice(pem.stdout.as_bytes()).unwrap()
}

fn in_store(daemon: &TestDaemon) -> String {
    let folder = format!("sql:{}", daemon.folder().join(".pki/nssdb").display());
    let listed = Command::new("certutil")
        .args(["-L", "-d", &folder])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8(listed.stdout).unwrap()
}

#[tokio::test]
async fn whoever_trusts_the_root_may_come_by_every_name_and_native_clients_see_the_same_key() {
    let mut daemon = TestDaemon::start().await;
    let leaf = shown(daemon.address(), IDENTITY_SERVER_NAME).await;
    assert_eq!(
        exported(&daemon).await,
        leaf,
        "without a root it is the leaf that can be trusted"
    );
    let made = daemon.cli(&["certs", "trust", "--json"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let root = exported(&daemon).await;
    assert_ne!(root, leaf);
    let instance = format!("{}.localhost", daemon.ready().instance);
    for name in ["localhost", &instance, "127.0.0.1"] {
        assert_eq!(accepts(daemon.address(), name, &root).await, Ok(()), "{name}");
        let shown = shown(daemon.address(), name).await;
        assert_eq!(SpkiPin::of_certificate(&shown).unwrap().to_string(), daemon.pin());
    }
    assert_eq!(shown(daemon.address(), IDENTITY_SERVER_NAME).await, leaf);
    let again = daemon.cli(&["certs", "trust", "--json"]).await.json();
    assert_eq!(again["root"], made.json()["root"], "a root that is good is kept");
    daemon.kill_and_restart().await;
    assert_eq!(
        accepts(daemon.address(), "localhost", &root).await,
        Ok(()),
        "it outlives a restart"
    );
}

#[tokio::test]
async fn the_root_is_in_the_browsers_store_until_it_is_removed() {
    let daemon = TestDaemon::start().await;
    let name = format!("transom-{}", daemon.ready().instance);
    let made = daemon.cli(&["certs", "trust"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.stdout.contains("Chromium: trusts it now"), "{made:?}");
    assert!(
        made.stdout.contains("iPhone") && made.stdout.contains("Android"),
        "{made:?}"
    );
    let line = in_store(&daemon)
        .lines()
        .find(|line| line.starts_with(&name))
        .map(str::to_owned);
    assert!(
        line.is_some_and(|line| line.trim_end().ends_with("C,,")),
        "{}",
        in_store(&daemon)
    );
    let removed = daemon.cli(&["certs", "trust", "--remove"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(!in_store(&daemon).contains(&name));
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    assert_eq!((told.root, told.certificates.len()), (None, 1));
    assert!(!daemon.folder().join("keys/ca.pem").exists());
}

#[tokio::test]
async fn a_phone_gets_the_root_from_the_daemon_and_nothing_where_there_is_none() {
    let daemon = TestDaemon::start().await;
    let host = daemon.address().to_string();
    let get = RawRequest::get("/v1/certificates/root").header("Host", &host);
    let none = get.over_tls(daemon.address(), daemon.pin()).await;
    assert_eq!(none.verdict(), "404 not_found");
    daemon.cli(&["certs", "trust", "--json"]).await;
    let got = get.over_tls(daemon.address(), daemon.pin()).await;
    assert_eq!(
        (got.status, got.headers["content-type"].to_str().unwrap()),
        (200, "application/x-x509-ca-cert")
    );
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    assert_eq!(told.certificates[1].source, CertificateSource::Trusted);
    let url = told.root.unwrap().url.unwrap();
    assert!(url.ends_with("/v1/certificates/root"), "{url}");
}

#[tokio::test]
async fn an_authority_is_written_down_where_one_is_made_and_not_where_there_is_one() {
    let daemon = TestDaemon::start().await;
    for _ in 0..2 {
        assert_eq!(daemon.cli(&["certs", "trust", "--json"]).await.code, 0);
    }
    let rows = daemon
        .cli(&["audit", "--action", "authority_made", "--json"])
        .await;
    assert_eq!(rows.json().as_array().map(Vec::len), Some(1), "{rows:?}");
}
