//! The certificate for the MagicDNS name: by SNI, renewed before it ends, and never in the way of the identity's own.

use std::{net::SocketAddr, time::Duration};

use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use harness::{TestDaemon, TlsClient, Tunnel, shown, until};
use protocol::{access::TailnetCertificate, condition::TailnetProblemKind};
use rustix::process::Signal;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use super::{NODE, PHONE, listener_at, paired, status, tailnet};

const QUARTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);

async fn pin_at(address: SocketAddr, name: &str) -> String {
    SpkiPin::of_certificate(&shown(address, name).await)
        .unwrap()
        .to_string()
}

fn pin_of(pem: &str) -> String {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    SpkiPin::of_certificate(&certificate).unwrap().to_string()
}

async fn until_shown(address: SocketAddr, name: &str, pin: &str) {
    let look = || async { (pin_at(address, name).await == pin).then_some(()) };
    until("another certificate", look).await;
}

async fn certificate(daemon: &TestDaemon) -> TailnetCertificate {
    status(daemon).await.tailnet.unwrap().certificate
}

#[tokio::test]
async fn who_asks_by_the_name_is_shown_its_certificate_and_native_clients_the_identitys() {
    let tailscaled = tailnet();
    let pem = tailscaled.certify(QUARTER);
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    until_shown(phone.address(), tailscaled.name(), &pin_of(&pem)).await;
    assert!(matches!(
        certificate(&daemon).await,
        TailnetCertificate::Served { .. }
    ));
    for name in [IDENTITY_SERVER_NAME, "localhost", "other.tail1234.ts.net"] {
        assert_eq!(pin_at(phone.address(), name).await, daemon.pin(), "{name}");
    }
    assert_eq!(tailscaled.asked("cert/"), 1);
    // And when the tailnet hands out none any more, it is shown no more.
    tailscaled.uncertify();
    until_shown(phone.address(), tailscaled.name(), daemon.pin()).await;
    assert_eq!(certificate(&daemon).await, TailnetCertificate::Disabled);
}

#[tokio::test]
async fn the_identitys_own_is_the_same_after_a_restart_whether_tailscaled_answers_or_not() {
    let mut tailscaled = tailnet();
    let options = tailscaled.options(r#"["self"]"#);
    let mut daemon = TestDaemon::start_with(options.clone()).await;
    listener_at(&daemon, NODE).await;
    let first = shown(daemon.address(), "localhost").await;
    daemon.signal(Signal::KILL);
    daemon.start_again_with(&options).await;
    listener_at(&daemon, NODE).await;
    assert_eq!(shown(daemon.address(), "localhost").await, first);
    tailscaled.kill().await;
    daemon.signal(Signal::KILL);
    daemon.start_again_with(&options).await;
    assert_eq!(shown(daemon.address(), "localhost").await, first);
    tailscaled.start_again();
    listener_at(&daemon, NODE).await;
    assert_eq!(shown(daemon.address(), "localhost").await, first);
}

#[tokio::test]
async fn failing_to_get_it_is_a_warning_and_the_identitys_own_serves() {
    let tailscaled = tailnet();
    tailscaled.certify_not(403, "cert access denied\n");
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    let failed = || async {
        let tailnet = status(&daemon).await.tailnet.unwrap();
        (tailnet.certificate == TailnetCertificate::Failed).then_some(tailnet.problems)
    };
    let problems = until("the certificate to fail", failed).await;
    let [problem] = &problems[..] else {
        panic!("{problems:?}")
    };
    assert_eq!(problem.kind, TailnetProblemKind::Certificate);
    let hint = problem.hint.as_deref().unwrap();
    assert!(
        problem.detail.contains("cert access denied") && hint.contains("--operator"),
        "{problem:?}"
    );
    assert_eq!(pin_at(phone.address(), tailscaled.name()).await, daemon.pin());
}

#[tokio::test]
async fn what_could_not_be_had_is_asked_for_at_once_when_it_is_enabled_anew() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    let is = |wanted: TailnetCertificate| {
        let daemon = &daemon;
        move || async move { (certificate(daemon).await == wanted).then_some(()) }
    };
    // By itself it would be asked for again after a minute, after two, and so on.
    for times in 1..4 {
        tailscaled.certify_not(500, "the authority does not answer\n");
        until("the certificate to fail", is(TailnetCertificate::Failed)).await;
        assert_eq!(tailscaled.asked("cert/"), times);
        tailscaled.uncertify();
        until("it to be off", is(TailnetCertificate::Disabled)).await;
    }
    let pem = tailscaled.certify(QUARTER);
    until_shown(phone.address(), tailscaled.name(), &pin_of(&pem)).await;
}

#[tokio::test]
async fn it_is_renewed_before_it_ends() {
    let tailscaled = tailnet();
    // It is asked for anew after a quarter of this, and still good until then on a busy machine as well.
    let first = tailscaled.certify(Duration::from_secs(40));
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    until_shown(phone.address(), tailscaled.name(), &pin_of(&first)).await;
    let second = tailscaled.certify(QUARTER);
    until_shown(phone.address(), tailscaled.name(), &pin_of(&second)).await;
}

/// What an access token is worth on a new connection, whatever key is served there by now.
async fn worth(phone: &Tunnel, access: &str) -> String {
    let pin = pin_at(phone.address(), IDENTITY_SERVER_NAME).await;
    let client = TlsClient::new(phone.address(), &pin);
    client.get("/v1/whoami", Some(access)).await.verdict()
}

#[tokio::test]
async fn access_tokens_of_the_tailnet_end_where_another_certificate_is_served_on_purpose() {
    for verb in [&["certs", "trust", "--json"][..], &["certs", "rotate", "--yes"]] {
        let tailscaled = tailnet();
        let daemon = tailscaled.daemon(r#"["self"]"#).await;
        let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
        let access = paired(&daemon, &phone).await.access().await;
        assert_eq!(worth(&phone, &access).await, "200");
        let done = daemon.cli(verb).await;
        assert_eq!(done.code, 0, "{done:?}");
        assert_eq!(worth(&phone, &access).await, "401 access_ended", "{verb:?}");
    }
}

#[tokio::test]
async fn access_tokens_end_where_the_tailnets_certificate_comes() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    let access = paired(&daemon, &phone).await.access().await;
    assert_eq!(worth(&phone, &access).await, "200");
    let pem = tailscaled.certify(QUARTER);
    until_shown(phone.address(), tailscaled.name(), &pin_of(&pem)).await;
    let has_ended = || async { (worth(&phone, &access).await == "401 access_ended").then_some(()) };
    until("the access token to end", has_ended).await;
}
