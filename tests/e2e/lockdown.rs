//! `POST` and `DELETE /v1/lockdown`, and `transom lockdown`.

use std::os::unix::net::UnixStream;

use harness::{TerminalOf, TestDaemon, until};
use pairing::Role;
use protocol::{access::Status, attach::Mode};
use rustix::process::Signal;
use serde_json::json;

#[tokio::test]
async fn a_lock_down_survives_a_kill_and_ends_with_the_owners_word_only() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Operator).await;
    let session = daemon.owner().shell("cat").await;
    let mut attached = device.attach(&session.id, Mode::Write, "screen").await;
    attached.next().await.unwrap();
    let locked = daemon.cli(&["lockdown"]).await;
    assert_eq!(locked.code, 0, "{locked:?}");
    assert!(locked.stdout.starts_with("locked down: "), "{locked:?}");
    attached.until_closed().await;
    assert!(is_shut(&daemon));
    daemon.kill_and_restart().await;
    assert!(daemon.ready().locked_down && daemon.ready().tls.is_empty());
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert!(status.locked_down && status.tls.is_empty());
    assert_eq!(status.sessions_running, 1, "sessions run on");
    let said = daemon.cli(&["status"]).await;
    assert!(said.stdout.contains("locked down"), "{said:?}");
    let offered = daemon.cli(&["pair", "--json", "--yes"]).await;
    assert_eq!(offered.json()["code"], "locked_down", "{offered:?}");
    let lifted = daemon.cli(&["lockdown", "--lift", "--json"]).await;
    assert_eq!((lifted.code, lifted.json()["listeners"].as_u64()), (0, Some(1)));
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert!(!status.locked_down);
    device.go_by(status.tls[0].address.parse().unwrap());
    assert_eq!(
        device.get("/v1/whoami").await.verdict(),
        "200",
        "its trust stayed"
    );
    assert_eq!(daemon.owner().offer(Role::Viewer, false).await.expires_in, 300);
    daemon.kill_and_restart().await;
    assert!(!daemon.ready().locked_down);
}

#[tokio::test]
async fn whatever_stands_where_the_lock_down_is_written_locks() {
    let mut daemon = TestDaemon::start().await;
    daemon.kill().await;
    std::os::unix::fs::symlink("/nowhere", daemon.folder().join("lockdown")).unwrap();
    daemon.start_again().await;
    assert!(daemon.ready().locked_down);
}

#[tokio::test]
async fn without_a_daemon_the_next_one_is_locked_down() {
    let mut daemon = TestDaemon::start().await;
    daemon.kill().await;
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    daemon.start_again().await;
    assert!(daemon.ready().locked_down);
    daemon.kill().await;
    let lifted = daemon.cli(&["lockdown", "--lift"]).await;
    assert_eq!(lifted.code, 0, "{lifted:?}");
    daemon.start_again().await;
    assert!(!daemon.ready().locked_down);
    let verified = daemon.cli(&["audit", "--verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[tokio::test]
async fn a_lock_down_while_the_daemon_drains_holds_in_its_next_life() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("yes").await;
    // It never reads, so the daemon drains for as long as it may.
    let _slow = device.attach(&session.id, Mode::View, "screen").await;
    let before: Status = daemon.owner().get("/v1/status").await.ok();
    daemon.owner().post("/v1/restart", &json!({})).await;
    until("it to drain", || async {
        UnixStream::connect(daemon.socket()).is_err().then_some(())
    })
    .await;
    let locked = daemon.cli(&["lockdown"]).await;
    assert_eq!(locked.code, 0, "{locked:?}");
    let after = until("the next life", || async {
        let status: Status = daemon.owner().try_get("/v1/status").await?.ok();
        (status.life != before.life).then_some(status)
    })
    .await;
    assert!(after.locked_down && after.tls.is_empty(), "{after:?}");
    let verified = daemon.cli(&["audit", "--verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    let rows = daemon.cli(&["audit", "--action", "locked_down", "--json"]).await;
    assert_eq!(rows.json().as_array().unwrap().len(), 1, "{rows:?}");
}

#[tokio::test]
async fn a_lock_down_of_a_daemon_that_hangs_is_written_down_and_not_said_to_be_done() {
    let mut daemon = TestDaemon::start().await;
    daemon.signal(Signal::STOP);
    let locked = daemon.cli(&["lockdown", "--json"]).await;
    assert_eq!(locked.code, 5, "{locked:?}");
    let hint = locked.json()["hint"].to_string();
    assert!(hint.contains("transom restart --force"), "{locked:?}");
    daemon.kill_and_restart().await;
    assert!(daemon.ready().locked_down && daemon.ready().tls.is_empty());
}

#[tokio::test]
async fn a_daemon_that_wakes_serves_no_device_after_a_lock_down_that_it_slept_through() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Operator).await;
    let session = daemon.owner().shell("cat").await;
    let mut attached = device.attach(&session.id, Mode::Write, "screen").await;
    attached.next().await.unwrap();
    daemon.signal(Signal::STOP);
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 5);
    attached.send_input(b"typed while it slept\r").await;
    daemon.signal(Signal::CONT);
    attached.until_closed().await;
    let status = until("the lock-down", || async {
        let status: Status = daemon.owner().get("/v1/status").await.ok();
        status.locked_down.then_some(status)
    })
    .await;
    assert_eq!(status.sessions_running, 1, "sessions run on");
    until("the listener's end", || async { is_shut(&daemon).then_some(()) }).await;
    let session = daemon.owner().session(&session.id).await;
    assert_eq!(session.last_line, "", "nothing was typed");
    assert_eq!(daemon.cli(&["lockdown", "--lift"]).await.code, 0);
}

#[tokio::test]
async fn a_daemon_starts_while_a_person_is_asked_and_then_revokes() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    daemon.kill().await;
    let id = device.id().to_string();
    let terminal = TerminalOf::start(&daemon.command(&["revoke", &id]), 90, 20).await;
    terminal.until_shows("[y/N]").await;
    daemon.start_again().await;
    device.follow(&daemon);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    terminal.types(b"y\r").await;
    assert_eq!(terminal.exit().await.code, Some(0));
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
}

#[tokio::test]
async fn a_device_is_revoked_without_a_daemon() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Viewer).await;
    let kept = daemon.device(Role::Viewer).await;
    let id = device.id().to_string();
    daemon.kill().await;
    let revoked = daemon.cli(&["revoke", "--yes", "--json", &id[..12]]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert_eq!(revoked.json()[0]["device_id"], id);
    let epoch = std::fs::read_to_string(daemon.folder().join("keys/epoch")).unwrap();
    assert!(epoch.ends_with(" 1\n"), "{epoch}");
    daemon.start_again().await;
    device.follow(&daemon);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
    let left: Vec<_> = daemon
        .owner()
        .devices()
        .await
        .iter()
        .map(|device| device.id)
        .collect();
    assert_eq!(left, [kept.id()]);
    let rows = daemon
        .cli(&["audit", "--action", "device_revoked", "--json"])
        .await;
    assert_eq!(rows.json()[0]["detail"], "without a daemon");
    assert_eq!(daemon.cli(&["audit", "--verify"]).await.code, 0);
}

#[tokio::test]
async fn every_device_is_revoked_at_once_and_what_it_typed_into_is_stopped() {
    let daemon = TestDaemon::start().await;
    let (first, second) = (
        daemon.device(Role::Operator).await,
        daemon.device(Role::Viewer).await,
    );
    let (typed, other) = (
        daemon.owner().shell("cat").await,
        daemon.owner().shell("cat").await,
    );
    let mut writer = first.attach(&typed.id, Mode::Write, "screen").await;
    writer.send_input(b"x\r").await;
    writer.until("x").await;
    let revoked = daemon
        .cli(&["revoke", "--all", "--stop-sessions", "--yes", "--json"])
        .await;
    assert_eq!(
        (revoked.code, revoked.json().as_array().unwrap().len()),
        (0, 2),
        "{revoked:?}"
    );
    for device in [&first, &second] {
        assert_eq!(device.get("/v1/whoami").await.verdict(), "401 revoked");
    }
    assert!(daemon.owner().session(&typed.id).await.exit.is_some());
    assert!(daemon.owner().session(&other.id).await.exit.is_none());
}

#[tokio::test]
async fn a_disconnected_device_may_come_again() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("cat").await;
    let mut attached = device.attach(&session.id, Mode::View, "screen").await;
    attached.next().await.unwrap();
    let closed = daemon
        .cli(&["disconnect", "--json", &device.id().to_string()])
        .await;
    assert!(closed.json()[0]["closed"].as_u64().unwrap() >= 1, "{closed:?}");
    attached.until_closed().await;
    until("the device to be in again", || async {
        (device.get("/v1/whoami").await.verdict() == "200").then_some(())
    })
    .await;
}

fn is_shut(daemon: &TestDaemon) -> bool {
    std::net::TcpStream::connect(daemon.address()).is_err()
}
