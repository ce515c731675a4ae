//! `GET /v1/certificates`, `transom certs`, and what the listeners show.

mod addresses;
mod rotate;
mod trust;

use std::time::Duration;

use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use harness::{Authority, DaemonOptions, TerminalOf, TestDaemon, WallClock, accepts, shown, until};
use protocol::{
    access::Status,
    certificates::{CertificateSource, Certificates},
    condition::DegradedKind,
};

async fn certificates(daemon: &TestDaemon) -> Certificates {
    daemon.owner().get("/v1/certificates").await.ok()
}

fn options(config: String) -> DaemonOptions {
    DaemonOptions {
        config,
        ..DaemonOptions::default()
    }
}

#[tokio::test]
async fn whoever_trusts_the_leaf_may_come_by_every_name_and_address_of_the_daemon() {
    let config = "[listen]\nnames = [\"desk.example\"]\n".to_owned();
    let daemon = TestDaemon::start_with(options(config)).await;
    let leaf = shown(daemon.address(), "localhost").await;
    let instance = format!("{}.localhost", daemon.ready().instance);
    for name in ["localhost", &instance, "127.0.0.1", "::1", "desk.example"] {
        assert_eq!(accepts(daemon.address(), name, &leaf).await, Ok(()), "{name}");
    }
    assert!(accepts(daemon.address(), "other.example", &leaf).await.is_err());
}

#[tokio::test]
async fn certs_shows_the_leaf_its_pin_and_when_it_is_made_anew() {
    let mut daemon = TestDaemon::start().await;
    let told = certificates(&daemon).await;
    let leaf = shown(daemon.address(), IDENTITY_SERVER_NAME).await;
    assert_eq!(told.pin, daemon.pin());
    assert_eq!(told.pin, SpkiPin::of_certificate(&leaf).unwrap().to_string());
    let [identity] = &told.certificates[..] else {
        panic!("{told:?}")
    };
    assert_eq!(identity.source, CertificateSource::Identity);
    assert!(identity.renews_at.unwrap() < identity.not_after);
    let json = daemon.cli(&["certs", "show", "--json"]).await.json();
    assert_eq!(json, serde_json::to_value(&told).unwrap());
    let terminal = TerminalOf::start(&daemon.command(&["certs"]), 80, 24).await;
    terminal.until_shows(daemon.pin()).await;
    terminal.until_shows("made anew on").await;
    daemon.kill_and_restart().await;
    assert_eq!(
        shown(daemon.address(), "localhost").await,
        leaf,
        "the leaf outlives a restart"
    );
}

#[tokio::test]
async fn the_users_own_pair_is_shown_for_its_names_and_the_pinned_leaf_to_native_clients() {
    let authority = Authority::new();
    let files = authority.issue("desk", &["desk.example"]);
    let config = format!("{}names = [\"desk.example\"]\n", files.config());
    let daemon = TestDaemon::start_with(options(config)).await;
    assert_eq!(authority.accepts(daemon.address(), "desk.example").await, Ok(()));
    assert!(authority.accepts(daemon.address(), "localhost").await.is_err());
    for name in [IDENTITY_SERVER_NAME, "localhost", "127.0.0.1"] {
        let leaf = shown(daemon.address(), name).await;
        assert_eq!(
            SpkiPin::of_certificate(&leaf).unwrap().to_string(),
            daemon.pin(),
            "{name}"
        );
    }
    let told = certificates(&daemon).await;
    let own = &told.certificates[1];
    assert_eq!(own.source, CertificateSource::Own);
    assert_eq!(own.file.as_deref(), files.certificate.to_str());
    daemon.device(pairing::Role::Viewer).await;
}

#[tokio::test]
async fn a_pair_that_has_ended_or_not_begun_costs_nothing_but_itself_and_is_said() {
    let authority = Authority::new();
    let names = &["desk.example"];
    let ended = authority.issue_for_days("ended", names, -1);
    let ahead = authority.issue_ahead("ahead", names, Duration::from_secs(24 * 60 * 60));
    for (file, files, why) in [
        ("ended", ended, "has expired"),
        ("ahead", ahead, "is not valid yet"),
    ] {
        let config = format!("{}names = [\"desk.example\"]\n", files.config());
        let daemon = TestDaemon::start_with(options(config)).await;
        let warnings = daemon.ready().warnings.join(" ");
        assert!(warnings.contains(why), "{warnings}");
        let leaf = shown(daemon.address(), "desk.example").await;
        assert_eq!(SpkiPin::of_certificate(&leaf).unwrap().to_string(), daemon.pin());
        let status: Status = daemon.owner().get("/v1/status").await.ok();
        let degraded = &status.degraded[0];
        assert_eq!(degraded.kind, DegradedKind::OwnCertificate, "{status:?}");
        assert!(degraded.detail.contains(why), "{status:?}");
        authority.issue(file, names);
        until("the renewed pair", async || {
            authority.accepts(daemon.address(), "desk.example").await.ok()
        })
        .await;
        until("the end of what was said", async || {
            let status: Status = daemon.owner().get("/v1/status").await.ok();
            status.degraded.is_empty().then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_pair_is_served_from_its_beginning_on_though_no_file_changes() {
    let authority = Authority::new();
    let ahead = Duration::from_secs(60 * 60);
    let files = authority.issue_ahead("ahead", &["desk.example"], ahead);
    let clock = WallClock::new();
    let daemon = TestDaemon::start_with(DaemonOptions {
        environment: clock.environment(),
        ..options(format!("{}names = [\"desk.example\"]\n", files.config()))
    })
    .await;
    let is_own = async || {
        let leaf = shown(daemon.address(), "desk.example").await;
        SpkiPin::of_certificate(&leaf).unwrap().to_string() != daemon.pin()
    };
    assert!(!is_own().await);
    clock.put_ahead(ahead * 2);
    // As time would, whatever happens beside the files has it look at the clock; by itself that changes nothing.
    std::fs::write(daemon.folder().join("beside"), "").unwrap();
    until("the pair", async || is_own().await.then_some(())).await;
    until("the end of what was said", async || {
        let status: Status = daemon.owner().get("/v1/status").await.ok();
        status.degraded.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_pair_that_ends_soon_is_a_warning_of_the_status() {
    let authority = Authority::new();
    let files = authority.issue_for_days("desk", &["desk.example"], 14);
    let config = format!("{}names = [\"desk.example\"]\n", files.config());
    let daemon = TestDaemon::start_with(options(config)).await;
    let said = daemon.cli(&["status"]).await;
    let file = files.certificate.display().to_string();
    let warning = format!("warning    the certificate {file} ends on ");
    assert!(said.stdout.contains(&warning), "{said:?}");
}

#[tokio::test]
async fn a_pair_that_cannot_be_served_keeps_the_daemon_from_starting() {
    let authority = Authority::new();
    let files = authority.issue("desk", &["desk.example"]);
    let other = authority.issue("other", &["desk.example"]);
    std::fs::copy(other.key, &files.key).unwrap();
    let mut daemon = TestDaemon::start().await;
    daemon.kill().await;
    std::fs::write(daemon.folder().join("config.toml"), files.config()).unwrap();
    let refused = daemon.cli(&["up", "--tls", "127.0.0.1:0"]).await;
    assert_eq!(refused.code, 64, "{refused:?}");
    let path = files.certificate.to_str().unwrap();
    assert!(refused.stderr.contains(path), "{refused:?}");
}
