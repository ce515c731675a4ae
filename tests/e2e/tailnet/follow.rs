//! What tailscaled says is followed: it hangs, dies and comes back, and addresses and owners change.

use harness::{TestDaemon, TlsClient, Tunnel, until};
use protocol::{access::TailnetState, attach::Mode, condition::TailnetProblemKind};
use serde_json::json;

use super::{BOB, NODE, PHONE, attached_phone, listener_at, paired, says, shut_out, status, tailnet};

/// Waits until the status says this of the tailnet.
async fn until_it_is(daemon: &TestDaemon, state: TailnetState) {
    let look = || async { (status(daemon).await.tailnet.unwrap().state == state).then_some(()) };
    until("the state of the tailnet", look).await;
}

/// Whether who comes through the tunnel gets an answer.
async fn comes_in(daemon: &TestDaemon, tunnel: &Tunnel) -> bool {
    let client = TlsClient::new(tunnel.address(), daemon.pin());
    client
        .at(&tunnel.address().to_string(), "/v1/health")
        .send()
        .await
        .is_ok()
}

async fn until_it_comes_in(daemon: &TestDaemon, tunnel: &Tunnel) {
    until("somebody to come in", || async {
        comes_in(daemon, tunnel).await.then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_that_hangs_lets_nobody_new_in_and_nobody_else_notices() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let mut phone = attached_phone(&daemon, Mode::Write).await;
    tailscaled.hang(true);
    shut_out(BOB, phone.at).await;
    phone.attached.send_input(b"still here\n").await;
    phone.attached.until("still here").await;
    let local = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(local.get("/v1/health", None).await.verdict(), "200");
    tailscaled.hang(false);
    until_it_comes_in(&daemon, &phone.tunnel).await;
    phone.attached.send_input(b"and after\n").await;
    phone.attached.until("and after").await;
}

#[tokio::test]
async fn one_that_dies_and_starts_again_leaves_the_listener_and_who_is_attached() {
    let mut tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let mut phone = attached_phone(&daemon, Mode::Write).await;
    tailscaled.kill().await;
    until_it_is(&daemon, TailnetState::Unknown).await;
    shut_out(PHONE, phone.at).await;
    assert!(says(&daemon, TailnetProblemKind::Away).await);
    assert!(says(&daemon, TailnetProblemKind::WhoIs).await);
    phone.attached.send_input(b"still here\n").await;
    phone.attached.until("still here").await;
    // It knows nothing of itself at first.
    tailscaled.is_now("NoState");
    tailscaled.start_again();
    until_it_is(&daemon, TailnetState::Starting).await;
    phone.attached.send_input(b"while it starts\n").await;
    phone.attached.until("while it starts").await;
    tailscaled.is_now("Running");
    until_it_is(&daemon, TailnetState::Running).await;
    assert_eq!(listener_at(&daemon, NODE).await, phone.at);
    until_it_comes_in(&daemon, &phone.tunnel).await;
    assert!(!says(&daemon, TailnetProblemKind::WhoIs).await);
    phone.attached.send_input(b"and after\n").await;
    phone.attached.until("and after").await;
}

#[tokio::test]
async fn what_is_said_of_peers_who_could_not_be_asked_about_ends_without_another_one() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    let is_deaf = async || says(&daemon, TailnetProblemKind::WhoIs).await;
    tailscaled.hang(true);
    shut_out(BOB, at).await;
    assert!(is_deaf().await);
    tailscaled.hang(false);
    until("the end of it", async || (!is_deaf().await).then_some(())).await;
}

#[tokio::test]
async fn without_one_the_rest_starts_and_says_so_and_it_is_found_when_it_comes() {
    let mut tailscaled = tailnet();
    tailscaled.kill().await;
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let warnings = daemon.ready().warnings.join(" ");
    assert!(warnings.contains("no listener of the tailnet"), "{warnings}");
    let local = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(local.get("/v1/health", None).await.verdict(), "200");
    tailscaled.start_again();
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    assert!(comes_in(&daemon, &phone).await);
}

#[tokio::test]
async fn addresses_that_come_and_go_take_their_listeners_and_connections_with_them() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let first = listener_at(&daemon, NODE).await;
    let device = paired(&daemon, &Tunnel::from(PHONE, first).await).await;
    let phone = Tunnel::from(PHONE, first).await;
    let staying = TlsClient::http2(daemon.address(), daemon.pin());
    assert_eq!(staying.get("/v1/health", None).await.verdict(), "200");
    tailscaled.move_to(&[NODE, "127.0.0.7"]);
    let second = listener_at(&daemon, "127.0.0.7").await;
    assert!(comes_in(&daemon, &phone).await, "the first is there still");
    tailscaled.move_to(&["127.0.0.7"]);
    let gone = || async { (status(&daemon).await.tailnet.unwrap().listeners.len() == 1).then_some(()) };
    until("the first to go", gone).await;
    assert!(!comes_in(&daemon, &phone).await);
    let moved = Tunnel::from(PHONE, second).await;
    assert!(comes_in(&daemon, &moved).await);
    assert_eq!(staying.get("/v1/health", None).await.verdict(), "200");
    let names = &status(&daemon).await.tls[0].names;
    assert!(names.contains(&"127.0.0.7".to_owned()), "{names:?}");
    assert!(names.contains(&tailscaled.name().to_owned()), "{names:?}");
    drop(device);
}

#[tokio::test]
async fn when_the_machine_changes_hands_the_former_owners_streams_end_and_no_others() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self", "carol@example.com"]"#).await;
    tailscaled.user_at("127.0.0.8", "nCarol", 44, "carol@example.com");
    let at = listener_at(&daemon, NODE).await;
    let (alice, carol) = (Tunnel::from(PHONE, at).await, Tunnel::from("127.0.0.8", at).await);
    let (alices, carols) = (paired(&daemon, &alice).await, paired(&daemon, &carol).await);
    let session = daemon.owner().shell("cat").await;
    let mut former = alices.attach(&session.id, Mode::Write, "0").await;
    let mut other = carols.attach(&session.id, Mode::Write, "0").await;
    tailscaled.belongs_to(43, "bob@example.com");
    former.until_closed().await;
    other.send_input(b"not mine\n").await;
    other.until("not mine").await;
    shut_out(PHONE, at).await;
    let bob = Tunnel::from(BOB, at).await;
    assert!(comes_in(&daemon, &bob).await);
}

#[tokio::test]
async fn a_lock_down_closes_its_listener_too_and_the_end_of_it_opens_it_where_it_was() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let mut phone = attached_phone(&daemon, Mode::View).await;
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    phone.attached.until_closed().await;
    // What comes meanwhile is not opened before it is lifted.
    tailscaled.move_to(&[NODE, "127.0.0.7"]);
    assert!(!comes_in(&daemon, &phone.tunnel).await);
    let listeners = status(&daemon).await.tailnet.unwrap().listeners;
    assert!(listeners.is_empty(), "{listeners:?}");
    assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
    until_it_comes_in(&daemon, &phone.tunnel).await;
    assert_eq!(listener_at(&daemon, NODE).await, phone.at);
    let other = Tunnel::from(PHONE, listener_at(&daemon, "127.0.0.7").await).await;
    assert!(comes_in(&daemon, &other).await);
    assert_eq!(phone.device.get("/v1/whoami").await.verdict(), "200");
}

#[tokio::test]
async fn who_is_invited_by_login_comes_in_as_a_guest_until_the_end() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    let bob = Tunnel::from(BOB, at).await;
    assert!(!comes_in(&daemon, &bob).await);
    let session = daemon.owner().shell("cat").await;
    let wish = json!({ "sessions": [session.id], "expires_in": 3600, "login": "bob@example.com" });
    let made: Vec<serde_json::Value> = daemon.owner().post("/v1/guests", &wish).await.ok();
    assert!(comes_in(&daemon, &bob).await);
    // As a guest, and as nothing else.
    let client = TlsClient::new(bob.address(), daemon.pin());
    let wish = json!({ "label": "bob", "commitment": "A".repeat(43) });
    let refused = client.post("/v1/pairing/requests", None, &wish).await;
    assert_eq!(refused.verdict(), "403 guests_only");
    let path = format!("/v1/guests/{}", made[0]["id"].as_str().unwrap());
    let ended = daemon.owner().request("DELETE", &path, None::<&()>).await;
    assert_eq!(ended.verdict(), "200");
    assert!(!comes_in(&daemon, &bob).await);
}
