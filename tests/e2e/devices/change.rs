//! `PATCH /v1/devices/{id}` and `/v1/devices/self`; the notice of a new device.

use harness::{DaemonOptions, Gate, Pairing, TestDaemon, until};
use pairing::Role;
use protocol::{
    access::{DeviceChanges, DeviceRecord, NewLabel},
    attach::{Mode, ServerMessage},
    events::Event,
};
use serde_json::json;

use super::revoke::reads_only_once_told;

async fn change(daemon: &TestDaemon, id: pairing::DeviceId, changes: &DeviceChanges) -> DeviceRecord {
    let path = format!("/v1/devices/{id}");
    daemon.owner().request("PATCH", &path, Some(changes)).await.ok()
}

fn role(role: Role) -> DeviceChanges {
    DeviceChanges {
        role: Some(role),
        ..DeviceChanges::default()
    }
}

#[tokio::test]
async fn who_may_only_look_from_now_on_becomes_a_viewer_where_it_types_and_is_told() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo ready; cat").await;
    let device = daemon.device(Role::Operator).await;
    let mut attached = device.attach(&session.id, Mode::Write, "screen").await;
    attached.until("ready").await;
    attached.send_input(b"before\n").await;
    attached.until("before").await;
    assert_eq!(
        change(&daemon, device.id(), &role(Role::Viewer)).await.role,
        Role::Viewer
    );
    loop {
        let message = attached.next().await.unwrap();
        if matches!(&message, ServerMessage::Hello(hello) if hello.mode == Mode::View) {
            break;
        }
    }
    attached.send_input(b"after\n").await;
    let mut owner = daemon.owner().attach(&session.id, Mode::Write, "screen").await;
    owner.send_input(b"of the owner\n").await;
    // It still looks, and what it typed is nowhere.
    attached.until("of the owner").await;
    assert!(!attached.text().contains("after"), "{}", attached.text());
    let refused = device.try_attach(&session.id, Mode::Write, "screen").await;
    let code = refused.unwrap().until_closed().await;
    assert_eq!(code, protocol::attach::CLOSE_NOT_PERMITTED);
}

#[tokio::test]
async fn input_that_a_writer_left_in_queues_before_it_might_only_look_never_reaches_the_program() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let gate = Gate::at(daemon.folder().join("go"));
    let session = owner.shell(&reads_only_once_told(gate.path())).await;
    let device = daemon.device(Role::Operator).await;
    let mut writer = device.attach(&session.id, Mode::Write, "0").await;
    writer.until("ready").await;
    // The terminal takes a part, the daemon's queue another, and the rest waits in buffers of the sockets.
    for _ in 0..128 {
        writer.send_input(&[b'x'; 4096]).await;
    }
    change(&daemon, device.id(), &role(Role::Viewer)).await;
    while !matches!(writer.next().await.unwrap(), ServerMessage::Hello(hello) if hello.mode == Mode::View) {}
    let mut own = owner.attach(&session.id, Mode::Write, "0").await;
    own.send_input(b"Z").await;
    assert!(gate.pass("go"));
    own.until("bytes").await;
    let text = own.text();
    let count: usize = text.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
    // What the kernel's queue of a terminal held before: at most 64 KiB and a line's buffer.
    assert!(count <= 80 * 1024, "{text}");
}

#[tokio::test]
async fn who_may_type_from_now_on_attaches_anew_and_types() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo ready; cat").await;
    let device = daemon.device(Role::Viewer).await;
    let mut attached = device.attach(&session.id, Mode::View, "screen").await;
    attached.until("ready").await;
    change(&daemon, device.id(), &role(Role::Operator)).await;
    assert_eq!(attached.until_closed().await, 1001);
    let mut attached = device.attach(&session.id, Mode::Write, "screen").await;
    attached.send_input(b"typed\n").await;
    attached.until("typed").await;
}

#[tokio::test]
async fn a_change_stands_after_a_restart_and_in_the_list() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    let changes = DeviceChanges {
        label: Some("tablet".to_owned()),
        role: Some(Role::Operator),
        can_revoke: Some(true),
        ..DeviceChanges::default()
    };
    change(&daemon, device.id(), &changes).await;
    daemon.kill_and_restart().await;
    device.follow(&daemon);
    let record = &daemon.owner().devices().await[0];
    assert_eq!(
        (record.label.as_str(), record.role, record.can_revoke),
        ("tablet", Role::Operator, true)
    );
    assert_eq!(device.get("/v1/devices").await.status, 200, "it may revoke");
    let renamed = device
        .request(
            "PATCH",
            "/v1/devices/self",
            Some(&NewLabel {
                label: "mine".to_owned(),
            }),
        )
        .await;
    assert_eq!(renamed.ok::<DeviceRecord>().label, "mine");
    let own = json!({ "role": "viewer" });
    let refused = device.request("PATCH", "/v1/devices/self", Some(&own)).await;
    assert_eq!(refused.status, 400, "nobody widens or changes itself");
}

#[tokio::test]
async fn who_may_revoke_ends_guests_and_those_that_may_not_and_itself_alone_of_the_others() {
    let daemon = TestDaemon::start().await;
    let revoker = async || {
        Pairing::with_terms(&daemon, Role::Viewer, true)
            .await
            .finish(&daemon)
            .await
    };
    let (one, two) = (revoker().await, revoker().await);
    let plain = daemon.device(Role::Operator).await;
    let revoke = async |target: pairing::DeviceId| one.delete(&format!("/v1/devices/{target}")).await.status;
    assert_eq!(revoke(two.id()).await, 403);
    assert_eq!(revoke(plain.id()).await, 200);
    assert_eq!(plain.get("/v1/whoami").await.verdict(), "401 revoked");
    assert_eq!(revoke(one.id()).await, 200);
    assert_eq!(two.get("/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn every_other_device_and_the_owner_are_told_of_a_new_one() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let mut readers = [device.events(None).await, daemon.owner().events(None).await];
    for reader in &mut readers {
        assert!(matches!(reader.next().await, Some((_, Event::Gap))));
    }
    let newcomer = daemon.device(Role::Operator).await;
    for reader in &mut readers {
        let (_, event) = reader.next().await.unwrap();
        let expected = Event::DevicePaired {
            device_id: newcomer.id(),
            label: "a test's phone".to_owned(),
            role: Role::Operator,
        };
        assert_eq!(event, expected);
    }
}

#[tokio::test]
async fn the_command_changes_roles_and_names() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let id = device.id().to_string();
    let done = daemon
        .cli(&["devices", "role", &id, "operator", "--can-revoke"])
        .await;
    assert!(done.code == 0, "{}", done.stderr);
    assert!(
        done.stdout.contains("operator") && done.stdout.contains("revoke"),
        "{}",
        done.stdout
    );
    let done = daemon.cli(&["devices", "rename", &id, "couch tablet"]).await;
    assert!(done.code == 0, "{}", done.stderr);
    let record = &daemon.owner().devices().await[0];
    assert_eq!(record.label, "couch tablet");
    assert!(record.can_revoke && record.role == Role::Operator);
}

#[tokio::test]
async fn the_command_renews_a_device_until_another_time_which_holds_after_a_restart() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    let id = device.id().to_string();
    let refused = daemon.cli(&["devices", "renew", &id, "--json"]).await;
    assert_eq!(
        (refused.code, &refused.json()["code"]),
        (1, &"no_expiry".into()),
        "it would take something from a device that has no end"
    );
    let lives = async |arguments: &[&str], expected: i64| {
        let done = daemon
            .cli(&[&["devices", "renew", &id, "--json"], arguments].concat())
            .await;
        let record: DeviceRecord = serde_json::from_value(done.json()).unwrap();
        let lives = record
            .expires_at
            .unwrap()
            .duration_since(server::clock::timestamp(server::clock::now()));
        assert!((expected - 60..=expected).contains(&lives.as_secs()), "{lives:?}");
    };
    lives(&["--for", "12h"], 12 * 3600).await;
    lives(&[], 90 * 86_400).await;
    lives(&["--for", "1h"], 3600).await;
    let done = daemon.cli(&["devices", "renew", &id, "--for", "2h"]).await;
    assert!(done.stdout.contains("trusted until"), "{}", done.stdout);
    daemon.kill_and_restart().await;
    device.follow(&daemon);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    let kept = daemon.owner().devices().await[0].expires_at.unwrap();
    assert!(kept > server::clock::timestamp(server::clock::now()));
    let rows = daemon
        .cli(&["audit", "--action", "device_renewed", "--json"])
        .await;
    assert_eq!(rows.json().as_array().unwrap().len(), 4, "{rows:?}");
    let done = daemon.cli(&["devices", "renew", &id, "--for", "1s"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    until("its end", || async {
        daemon.owner().devices().await.is_empty().then_some(())
    })
    .await;
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 expired");
}

#[tokio::test]
async fn a_device_without_a_key_is_renewed_for_ninety_days_at_most() {
    let daemon = TestDaemon::start().await;
    let added = super::add(&daemon, Role::Viewer).await;
    let path = format!("/v1/devices/{}", added.device_id);
    for (expires_in, verdict) in [
        (90 * 86_400, "200"),
        (90 * 86_400 + 1, "400 lives_too_long"),
        (0, "400 malformed_request"),
    ] {
        let changes = json!({ "expires_in": expires_in });
        let answer = daemon.owner().request("PATCH", &path, Some(&changes)).await;
        assert_eq!(answer.verdict(), verdict);
    }
}

#[tokio::test]
async fn the_command_lets_a_device_move_to_another_node_or_binds_it_to_none() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    super::bind_to_a_node(&mut daemon, device.id()).await;
    device.follow(&daemon);
    let id = device.id().to_string();
    assert_eq!(device.get("/v1/whoami").await.verdict(), "403 unknown_node");
    let refused = daemon.cli(&["devices", "rebind", &id]).await;
    assert_eq!(
        refused.code, 1,
        "there is no other node to come from: {refused:?}"
    );
    assert!(
        refused.stderr.contains("no tailnet") && refused.stderr.contains("--unbind"),
        "{refused:?}"
    );
    let tailscaled = harness::Tailscaled::start(&["127.0.0.2"]);
    let options = DaemonOptions {
        config: tailscaled.config("[\"self\"]"),
        ..DaemonOptions::default()
    };
    std::fs::write(daemon.folder().join("config.toml"), &options.config).unwrap();
    daemon.kill().await;
    daemon.start_again_with(&options).await;
    device.follow(&daemon);
    let done = daemon.cli(&["devices", "rebind", &id]).await;
    assert!(
        done.code == 0 && done.stdout.contains("until then to n1"),
        "{done:?}"
    );
    let listed = daemon.cli(&["devices"]).await;
    assert!(listed.stdout.contains("n1, may rebind"), "{listed:?}");
    assert_eq!(
        device.get("/v1/whoami").await.verdict(),
        "403 unknown_node",
        "a way in that knows no nodes is none to bind it to"
    );
    let done = daemon
        .cli(&["devices", "rebind", &id, "--unbind", "--json"])
        .await;
    assert_eq!(done.json()["tailnet_node"], serde_json::Value::Null, "{done:?}");
    daemon.kill_and_restart().await;
    device.follow(&daemon);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    let rows = daemon
        .cli(&["audit", "--action", "device_rebound", "--json"])
        .await;
    assert_eq!(
        rows.json()[0]["detail"],
        "bound to no node instead of phone (n1) of alice"
    );
}
