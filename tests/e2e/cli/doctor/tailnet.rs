//! What `transom doctor` says of a tailnet, and of what phones see in it.

use std::time::Duration;

use harness::{DaemonOptions, Tailscaled, TestDaemon, until};
use protocol::access::{Status, TailnetCertificate};

use super::{Found, doctor};

const NODE: &str = "127.0.0.2";
const QUARTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);

#[tokio::test]
async fn of_a_tailnet_that_is_well_it_says_who_this_machine_is_and_which_phone_may_come() {
    let tailscaled = Tailscaled::start(&[NODE]);
    tailscaled.has_phone("pixel", 42, "alice@example.com", true);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 0, "{:#?}", found.0);
    let (tailnet, _) = found.one("tailnet", "ok");
    assert!(
        tailnet.contains(tailscaled.name()) && tailnet.contains(NODE),
        "{tailnet}"
    );
    assert!(found.one("whois", "ok").0.contains("alice@example.com"));
    assert!(found.one("nodes", "ok").0.contains("pixel"));
    let (https, hint) = found.one("https", "warning");
    assert!(
        https.contains("not switched on") && hint.contains("HTTPS Certificates"),
        "{https} {hint}"
    );
    let listeners = found.0.iter().filter(|check| check["check"] == "listener");
    assert!(listeners.clone().count() == 2 && listeners.clone().all(|check| check["state"] == "ok"));
    let (phone, hint) = found.one("phone", "warning");
    assert!(
        phone.contains(&format!("https://{}:", tailscaled.name())),
        "{phone}"
    );
    assert!(
        phone.contains("the daemon's own") && hint.contains("HTTPS"),
        "{phone} {hint}"
    );
}

#[tokio::test]
async fn a_phone_is_warned_of_nothing_where_the_certificate_is_one_that_this_machine_trusts() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let pem = tailscaled.certify(QUARTER);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    until("the certificate", || async {
        let status: Status = daemon.owner().get("/v1/status").await.ok();
        let certificate = status.tailnet.unwrap().certificate;
        matches!(certificate, TailnetCertificate::Served { .. }).then_some(())
    })
    .await;
    let roots = daemon.folder().join("roots.pem");
    std::fs::write(&roots, pem).unwrap();
    let mut command = daemon.command(&["doctor", "--json"]);
    command.env("SSL_CERT_FILE", &roots);
    let found = Found::of(&harness::Finished::of(&mut command).await);
    found.one("https", "ok");
    let (phone, _) = found.one("phone", "ok");
    assert!(
        phone.contains(tailscaled.name()) && phone.contains("no warning"),
        "{phone}"
    );
    let other = daemon.folder().join("others.pem");
    std::fs::write(&other, harness::Authority::new().root()).unwrap();
    let mut command = daemon.command(&["doctor", "--json"]);
    command.env("SSL_CERT_FILE", &other);
    let found = Found::of(&harness::Finished::of(&mut command).await);
    let (phone, _) = found.one("phone", "warning");
    assert!(
        phone.contains(tailscaled.name()) && phone.contains("unless the phone trusts"),
        "{phone}"
    );
}

#[tokio::test]
async fn a_tailnet_that_is_off_signed_out_hangs_or_is_gone_has_four_hints() {
    let mut tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    for (phase, says, advice) in [
        ("Stopped", "switched off", "`sudo tailscale up` switches it on"),
        ("NeedsLogin", "not signed in", "`sudo tailscale up` signs it in"),
    ] {
        tailscaled.is_now(phase);
        let (code, found) = doctor(&daemon).await;
        assert_eq!(code, 1);
        let (detail, hint) = found.one("tailnet", "failed");
        assert!(detail.contains(says) && hint.contains(advice), "{detail} {hint}");
    }
    tailscaled.hang(true);
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    let (detail, hint) = found.one("tailnet", "failed");
    assert!(
        detail.contains("does not answer") && hint.contains("restart tailscaled"),
        "{detail} {hint}"
    );
    tailscaled.hang(false);
    tailscaled.kill().await;
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    let (detail, hint) = found.one("tailnet", "failed");
    assert!(
        detail.contains("cannot be reached") && hint.contains("start tailscaled"),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_list_that_refuses_ones_own_nodes_is_told_and_one_that_refuses_everybody_fails() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon(r#"["bob@example.com"]"#).await;
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 0, "{:#?}", found.0);
    let (detail, hint) = found.one("whois", "warning");
    assert!(
        detail.contains("alice@example.com") && detail.contains("bob@example.com"),
        "{detail}"
    );
    assert!(hint.contains("\"self\""), "{hint}");
    std::fs::write(daemon.folder().join("config.toml"), tailscaled.config("[]")).unwrap();
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    assert!(found.one("whois", "failed").0.contains("nobody may come"));
    tailscaled.tag("tag:box");
    std::fs::write(
        daemon.folder().join("config.toml"),
        tailscaled.config(r#"["self"]"#),
    )
    .unwrap();
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("whois", "failed");
    assert!(
        detail.contains("tag:box") && hint.contains("logins or tags"),
        "{detail} {hint}"
    );
}

#[tokio::test]
async fn a_phone_that_is_offline_somebody_elses_or_not_there_is_told_apart() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("nodes", "warning");
    assert!(
        detail.contains("no phone") && hint.contains("sign in as alice@example.com"),
        "{detail} {hint}"
    );
    tailscaled.has_phone("bobs", 43, "bob@example.com", true);
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("nodes", "warning");
    assert!(
        detail.contains("bobs") && hint.contains("\"bob@example.com\""),
        "{detail} {hint}"
    );
    tailscaled.has_phone("pixel", 42, "alice@example.com", false);
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("nodes", "warning");
    assert!(
        detail.contains("pixel") && detail.contains("not online") && hint.contains("switch it on"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_port_of_the_tailnet_that_another_program_has_is_told_with_that_program() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let taken = std::net::TcpListener::bind((NODE, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let daemon = TestDaemon::start_with(DaemonOptions {
        config: tailscaled.config(r#"["self"]"#),
        arguments: vec!["--tls".to_owned(), format!("tailnet:{}", address.port())],
        ..DaemonOptions::default()
    })
    .await;
    let (code, found) = doctor(&daemon).await;
    assert_eq!(code, 1);
    found.only_failed(&["listener"]);
    let (detail, hint) = found.one("listener", "failed");
    assert!(detail.starts_with(&format!("{address} is in use by")), "{detail}");
    assert!(
        detail.contains(&format!("process {}", std::process::id())),
        "{detail}"
    );
    assert!(hint.contains("listen.tls"), "{hint}");
}

#[tokio::test]
async fn a_tailnet_that_waits_for_a_restart_and_one_without_a_listener_are_told() {
    let tailscaled = Tailscaled::start(&[NODE]);
    let mut daemon = TestDaemon::start().await;
    let config = tailscaled.config(r#"["self"]"#);
    std::fs::write(daemon.folder().join("config.toml"), &config).unwrap();
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("listener", "warning");
    assert!(
        detail.contains("began without it") && hint.contains("`transom restart`"),
        "{detail} {hint}"
    );
    let phone = found.one("phone", "skipped").1;
    assert!(
        phone.contains("`transom restart`") && !phone.contains("tailnet.mode"),
        "{phone}"
    );
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    daemon.start_again().await;
    let (_, found) = doctor(&daemon).await;
    let (detail, hint) = found.one("listener", "warning");
    assert!(
        detail.contains("does not listen in it") && hint.contains("tailnet:7443"),
        "{detail} {hint}"
    );
    let phone = found.one("phone", "skipped").1;
    assert!(
        phone.contains("tailnet:7443") && !phone.contains("tailnet.mode"),
        "{phone}"
    );
}
