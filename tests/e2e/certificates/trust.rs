//! `transom certs trust` and `certs export`.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use harness::{RawRequest, TerminalOf, TestDaemon, accepts, scan, shown};
use protocol::certificates::{CertificateSource, Certificates};
use rustls::pki_types::{CertificateDer, pem::PemObject};

async fn exported(daemon: &TestDaemon) -> CertificateDer<'static> {
    let pem = daemon.cli(&["certs", "export"]).await;
    assert_eq!(pem.code, 0, "{pem:?}");
    CertificateDer::from_pem_slice(pem.stdout.as_bytes()).unwrap()
}

fn in_store(daemon: &TestDaemon) -> String {
    certutil(&["-L"], &daemon.folder().join(".pki/nssdb"))
}

/// What certutil says of a store.
fn certutil(words: &[&str], store: &Path) -> String {
    let store = format!("sql:{}", store.display());
    let done = Command::new("certutil")
        .args(words)
        .args(["-d", &store])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
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
async fn a_profile_of_firefox_trusts_the_root_until_it_is_removed() {
    let daemon = TestDaemon::start().await;
    let profile = daemon.folder().join(".mozilla/firefox/a.default");
    fs::create_dir_all(&profile).unwrap();
    certutil(&["-N", "--empty-password"], &profile);
    let name = format!("transom-{}", daemon.ready().instance);
    let made = daemon.cli(&["certs", "trust"]).await;
    assert!(made.stdout.contains("Firefox: trusts it now"), "{made:?}");
    assert!(certutil(&["-L"], &profile).contains(&name));
    let removed = daemon.cli(&["certs", "trust", "--remove"]).await;
    assert!(removed.stdout.contains("Firefox: forgotten"), "{removed:?}");
    assert!(!certutil(&["-L"], &profile).contains(&name));
}

#[tokio::test]
async fn the_systems_store_has_the_root_where_that_is_asked_for_until_it_is_removed() {
    let daemon = TestDaemon::start().await;
    // In the place of what makes the system's roots known: it says what it found.
    let tools = daemon.folder().join("tools");
    fs::create_dir(&tools).unwrap();
    let update = tools.join("update-ca-certificates");
    fs::write(
        &update,
        "#!/bin/sh\ncat /usr/local/share/ca-certificates/* >>\"$HOME/updates\" 2>&1\nexit 0\n",
    )
    .unwrap();
    fs::set_permissions(&update, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "mount -t tmpfs none /usr/local/share && mkdir /usr/local/share/ca-certificates && \
        \"$0\" certs trust --system && \"$0\" certs export && \"$0\" certs trust --system --remove";
    let done = Command::new("unshare")
        .args(["-m", "sh", "-c", script])
        .arg(harness::binary())
        .env("HOME", daemon.folder())
        .env("TRANSOM_DIR", daemon.folder())
        .env(
            "PATH",
            format!("{}:{}", tools.display(), std::env::var("PATH").unwrap()),
        )
        .output()
        .unwrap();
    assert!(done.status.success(), "this test needs root: {done:?}");
    let said = String::from_utf8(done.stdout).unwrap();
    let file = format!(
        "(/usr/local/share/ca-certificates/transom-{}.crt)",
        daemon.ready().instance
    );
    for words in ["system: trusts it now", "system: forgotten"] {
        assert!(said.contains(&format!("{words} {file}")), "{said}");
    }
    let updates = fs::read_to_string(daemon.folder().join("updates")).unwrap();
    let (root, rest) = updates.split_once("-----END CERTIFICATE-----\n").unwrap();
    assert!(said.contains(root), "{said}");
    assert!(rest.contains("No such file"), "{rest}");
}

#[tokio::test]
async fn a_terminal_shows_the_code_by_which_a_phone_gets_the_root() {
    let daemon = TestDaemon::start().await;
    let terminal = TerminalOf::start(&daemon.command(&["certs", "trust"]), 120, 80).await;
    let lines = terminal.until_shows("Android").await;
    // Drawn in light ink, for a camera that reads it the other way round.
    let turned = |line: &String| {
        let turned = line.chars().map(|cell| match cell {
            '█' => ' ',
            ' ' => '█',
            '▀' => '▄',
            '▄' => '▀',
            other => other,
        });
        turned.collect::<String>()
    };
    let lines: Vec<String> = lines.iter().map(turned).collect();
    let read = (0..lines.len()).find_map(|from| scan(&lines[from..]));
    let told: Certificates = daemon.owner().get("/v1/certificates").await.ok();
    // Scheme and host are in capitals, which make a smaller code.
    let read = read.expect("no code that a camera reads");
    let (origin, path) = read.split_at(read.find("/v1/").unwrap());
    assert_eq!(Some(origin.to_lowercase() + path), told.root.unwrap().url);
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
