//! `transom pair`, `approve`, `reject`, `devices`, `revoke`.

use harness::{TerminalOf, TestDaemon, until};
use pairing::Role;
use protocol::{
    access::Status,
    pairing::{Poll, PollStatus},
};

#[tokio::test]
async fn approve_and_reject_take_the_code_that_the_device_shows() {
    let daemon = TestDaemon::start().await;
    let mut first = daemon.pairing(Role::Viewer).await;
    let mut second = daemon.pairing(Role::Viewer).await;
    let (yes, no) = (first.ask().await, second.ask().await);
    let approved = daemon
        .cli(&["approve", &yes.grouped(), "--role", "operator"])
        .await;
    assert_eq!(approved.code, 0, "{approved:?}");
    let rejected = daemon.cli(&["reject", &no.to_string()]).await;
    assert_eq!(rejected.code, 0, "{rejected:?}");
    let poll: Poll = second.poll(0).await.ok();
    assert_eq!(poll.status, PollStatus::AccessDenied);
    let exchanged = first.exchange().await;
    assert_eq!(exchanged.role, Role::Operator);
    let unknown = daemon.cli(&["approve", "000-000"]).await;
    assert_eq!(unknown.code, 1, "{unknown:?}");
}

#[tokio::test]
async fn revoke_works_by_a_unique_prefix_and_says_what_it_closed() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let id = device.id().to_string();
    let session = daemon.owner().shell("read x").await;
    let mut attached = device
        .attach(&session.id, protocol::attach::Mode::View, "screen")
        .await;
    attached.next().await.unwrap();
    let listed = daemon.cli(&["devices"]).await;
    assert!(
        listed.stdout.contains("a test's phone") && listed.stdout.contains("viewer"),
        "{listed:?}"
    );
    let revoked = daemon.cli(&["revoke", "--yes", "--json", &id[..9]]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    let json = revoked.json();
    let object = json.get(0).unwrap_or(&json);
    assert_eq!(object["device_id"], id);
    assert!(object["closed"].as_u64().unwrap() >= 1, "{json}");
    attached.until_closed().await;
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn devices_add_prints_a_token_this_once_that_is_a_viewer_unless_said_dangerously() {
    let daemon = TestDaemon::start().await;
    let client = harness::TlsClient::new(daemon.address(), daemon.pin());
    let plain = daemon.cli(&["devices", "add", "a script"]).await;
    assert_eq!(plain.code, 0, "{plain:?}");
    let token = plain.stdout.trim_end();
    assert!(
        token.starts_with("tsm_dev_") && !token.contains('\n'),
        "{plain:?}"
    );
    assert!(plain.stderr.contains("viewer") && !plain.stderr.contains("tsm_dev_"));
    let make = |token: String| {
        let client = client.clone();
        async move {
            client
                .post(
                    "/v1/sessions",
                    Some(&token),
                    &serde_json::json!({ "command": "true" }),
                )
                .await
        }
    };
    assert_eq!(client.get("/v1/sessions", Some(token)).await.verdict(), "200");
    assert_eq!(make(token.to_owned()).await.verdict(), "403 not_permitted");
    let arguments = [
        "devices",
        "add",
        "ci",
        "--dangerous-operator",
        "--expires",
        "1h",
        "--json",
    ];
    let json = daemon.cli(&arguments).await.json();
    let mut keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["device_id", "expires_at", "role", "token"]);
    assert_eq!(json["role"], "operator");
    let token = json["token"].as_str().unwrap();
    // A connection belongs to the first that authenticates on it.
    let client = harness::TlsClient::new(daemon.address(), daemon.pin());
    let command = serde_json::json!({ "command": "true" });
    let made = client.post("/v1/sessions", Some(token), &command).await;
    assert_eq!(made.status / 100, 2);
    let too_long = daemon
        .cli(&["devices", "add", "ci", "--expires", "91d", "--json"])
        .await;
    assert_ne!(too_long.code, 0);
    assert_eq!(too_long.json()["code"], "lives_too_long");
    let looker = daemon.cli(&["devices", "add", "looker", "--json"]).await.json();
    assert_eq!(looker["role"], "viewer");
    let listed = daemon.cli(&["devices"]).await;
    assert!(listed.stdout.contains("looker") && !listed.stdout.contains("tsm_"));
}

#[tokio::test]
async fn a_late_yes_to_revoke_revokes_all_the_same() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let id = device.id().to_string();
    let terminal = TerminalOf::start(&daemon.command(&["revoke", &id]), 100, 24).await;
    terminal.until_shows("[y/N]").await;
    // Late is when the daemon has closed every connection that the question left idle.
    until("only this test's own connection", || async {
        let status: Status = daemon.owner().get("/v1/status").await.ok();
        (status.connections == 1).then_some(())
    })
    .await;
    terminal.types(b"y\r").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
}
