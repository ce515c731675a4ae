//! `GET /v1/audit` and `transom audit`.

use std::{path::Path, time::Duration};

use harness::{DaemonOptions, SmallDisk, TestDaemon, until, within};
use pairing::Role;
use protocol::{
    attach::{Mode, ServerMessage},
    audit::AuditRecord,
};
use rusqlite::Connection;
use serde_json::json;

#[tokio::test]
async fn what_happens_to_a_device_and_to_a_session_stands_in_the_trail() {
    let daemon = TestDaemon::start().await;
    let (owner, device) = (daemon.owner(), daemon.device(Role::Operator).await);
    let session = owner.shell("cat").await;
    let mut writer = device.attach(&session.id, Mode::Write, "screen").await;
    writer.send_input(b"hello\r").await;
    writer.until("hello").await;
    owner.revoke(device.id()).await;
    writer.until_closed().await;
    let id = device.id().to_string();
    let rows = until("the end of the attachment", || async {
        let rows = rows(&daemon, &["--device", &id]).await;
        rows.iter().any(|row| row.action == "detached").then_some(rows)
    })
    .await;
    let mut actions: Vec<&str> = rows.iter().map(|row| row.action.as_str()).collect();
    actions.sort_unstable();
    let expected = [
        "attached",
        "detached",
        "device_revoked",
        "input",
        "pairing_committed",
    ];
    assert_eq!(actions, expected);
    let input = rows.iter().find(|row| row.action == "input").unwrap();
    assert!(
        input.detail.as_deref().unwrap().starts_with("6 bytes from "),
        "{input:?}"
    );
    assert!(!format!("{rows:?}").contains("hello"), "never what was typed");
    owner
        .request("DELETE", &format!("/v1/sessions/{}", session.id), None::<&()>)
        .await;
    let about: Vec<_> = rows_of(&daemon, &["--session", &session.id]).await;
    assert_eq!(about.first().unwrap().as_str(), "session_created");
    assert_eq!(about.last().unwrap().as_str(), "session_deleted");
}

#[tokio::test]
async fn who_may_only_look_and_asks_to_type_stands_in_the_trail() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("cat").await;
    device
        .attach(&session.id, Mode::Write, "screen")
        .await
        .until_closed()
        .await;
    let id = device.id().to_string();
    let refused = until("the row", || async {
        let rows = rows(&daemon, &["--device", &id, "--action", "attached"]).await;
        rows.into_iter().next()
    })
    .await;
    assert_eq!(
        (refused.outcome.as_str(), refused.target.as_str()),
        ("not_permitted", session.id.as_str())
    );
}

#[tokio::test]
async fn a_whole_trail_is_verified_and_a_tampered_one_is_not_also_without_a_daemon() {
    let mut daemon = TestDaemon::start().await;
    for _ in 0..3 {
        daemon.device(Role::Viewer).await;
    }
    let whole = daemon.cli(&["audit", "--verify"]).await;
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!(
        whole.stdout.starts_with("the audit trail is whole: 18 rows"),
        "{whole:?}"
    );
    daemon.kill_and_restart().await;
    assert_eq!(daemon.cli(&["audit", "--verify"]).await.code, 0, "after a kill");
    tamper(
        daemon.folder(),
        "UPDATE audit SET outcome = 'denied' WHERE sequence = 4",
    );
    let changed = daemon.cli(&["audit", "--verify", "--json"]).await;
    assert_eq!(
        (changed.code, changed.json()["faults"][0]["kind"].as_str()),
        (1, Some("changed"))
    );
    tamper(
        daemon.folder(),
        "DELETE FROM audit WHERE sequence BETWEEN 8 AND 9",
    );
    daemon.kill().await;
    let gone = daemon.cli(&["audit", "--verify"]).await;
    assert_eq!(gone.code, 1);
    assert!(
        gone.stdout.contains("row 4 is not") && gone.stdout.contains("rows 8 to 9 are missing"),
        "{gone:?}"
    );
    let listed = daemon.cli(&["audit", "-n", "2", "--json"]).await;
    assert_eq!(listed.json().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_trail_that_was_cut_off_keeps_the_daemon_from_starting() {
    let mut daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    daemon.signal(rustix::process::Signal::TERM);
    daemon.ended().await;
    let folder = daemon.keep_folder();
    let older = std::fs::read(folder.path().join("transom.db")).unwrap();
    let mut daemon = TestDaemon::start_in(folder, &DaemonOptions::default()).await;
    daemon.owner().revoke(device.id()).await;
    until("the epoch of the revocation", || async {
        let epoch = std::fs::read_to_string(daemon.folder().join("keys/epoch")).unwrap();
        epoch.ends_with(" 1\n").then_some(())
    })
    .await;
    daemon.kill().await;
    for journal in ["transom.db-wal", "transom.db-shm"] {
        std::fs::remove_file(daemon.folder().join(journal)).ok();
    }
    std::fs::write(daemon.folder().join("transom.db"), &older).unwrap();
    let refused = daemon.cli(&["up", "--json", "--tls", "127.0.0.1:0"]).await;
    assert_eq!(refused.code, 1);
    let words = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(words.contains("transom.db") && words.contains("older"), "{words}");
    assert!(
        refused.json()["hint"]
            .as_str()
            .unwrap()
            .contains("--accept-older-store")
    );
    let cut = daemon.cli(&["audit", "--verify", "--json"]).await;
    assert_eq!(cut.json()["faults"][0]["kind"], "cut_off", "{cut:?}");
    let accepting = DaemonOptions {
        arguments: vec!["--accept-older-store".to_owned()],
        ..DaemonOptions::default()
    };
    daemon.start_again_with(&accepting).await;
    assert_eq!(rows_of(&daemon, &["-n", "1"]).await, ["older_store_accepted"]);
    assert_eq!(daemon.cli(&["audit", "--verify"]).await.code, 0);
    daemon.kill_and_restart().await;
}

#[tokio::test]
async fn followed_rows_come_as_they_are_written() {
    let daemon = TestDaemon::start().await;
    let mut command = daemon.command(&["audit", "--follow", "--json", "--action", "offer_made"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(output));
    // Whenever it has begun, an offer that comes behind it is told.
    let row: AuditRecord = within("a row", async {
        loop {
            daemon.owner().offer(Role::Viewer, false).await;
            if let Ok(line) = tokio::time::timeout(Duration::from_millis(500), lines.next_line()).await {
                return serde_json::from_str(&line.unwrap().unwrap()).unwrap();
            }
        }
    })
    .await;
    assert_eq!(
        (row.action.as_str(), row.principal.as_str()),
        ("offer_made", "owner")
    );
}

#[tokio::test]
async fn every_row_is_exported_as_a_line_of_json_and_no_file_is_overwritten() {
    let daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    let file = daemon.folder().join("trail.ndjson");
    let path = file.to_str().unwrap();
    assert_eq!(daemon.cli(&["audit", "--export", path]).await.code, 0);
    let text = std::fs::read_to_string(&file).unwrap();
    let rows: Vec<AuditRecord> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        rows.iter().map(|row| row.sequence).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(daemon.cli(&["audit", "--export", path]).await.code, 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn on_a_full_disk_nobody_is_let_in_and_everybody_can_be_put_out() {
    let folder = std::sync::Arc::new(tempfile::Builder::new().prefix("transom").tempdir().unwrap());
    let disk = SmallDisk::over(folder.path().to_owned());
    let daemon = TestDaemon::start_in(folder.clone(), &DaemonOptions::default()).await;
    let (owner, lost) = (daemon.owner(), daemon.device(Role::Viewer).await);
    let mut pairing = daemon.pairing(Role::Viewer).await;
    pairing.ask().await;
    disk.fill();
    until("the store to be full", || async {
        let answer = owner.post("/v1/pairing/offers", &json!({})).await;
        (answer.verdict() == "503 store_failed").then_some(())
    })
    .await;
    assert_eq!(owner.approve(pairing.id()).await.verdict(), "503 store_failed");
    let revoked = owner
        .request("DELETE", &format!("/v1/devices/{}", lost.id()), None::<&()>)
        .await;
    assert_eq!(revoked.verdict(), "500 revoked_in_memory_only");
    assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
    let locked = owner.post("/v1/lockdown", &json!({})).await;
    assert!(
        ["200", "500 locked_in_memory_only"].contains(&locked.verdict().as_str()),
        "{locked:?}"
    );
    assert!(std::net::TcpStream::connect(daemon.address()).is_err());
    let lifted = owner.request("DELETE", "/v1/lockdown", None::<&()>).await;
    assert_eq!(lifted.verdict(), "503 store_failed");
    disk.make_room();
    assert_eq!(
        owner
            .request("DELETE", "/v1/lockdown", None::<&()>)
            .await
            .verdict(),
        "200"
    );
    assert_eq!(daemon.cli(&["audit", "--verify"]).await.code, 0);
    drop(daemon);
}

#[tokio::test]
async fn a_store_that_somebody_locks_delays_no_end_of_a_connection() {
    let daemon = TestDaemon::start().await;
    let (owner, lost) = (daemon.owner(), daemon.device(Role::Viewer).await);
    let session = owner.shell("cat").await;
    let mut attached = lost.attach(&session.id, Mode::View, "screen").await;
    attached.next().await.unwrap();
    let other = Connection::open(daemon.folder().join("transom.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (revoking, id) = (owner.clone(), lost.id());
    let answer = tokio::spawn(async move { revoking.revoke(id).await });
    attached.until_closed().await;
    assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
    assert!(!answer.is_finished(), "it is not stored yet");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(answer.await.unwrap().closed >= 1);
    assert_eq!(rows_of(&daemon, &["--action", "device_revoked"]).await.len(), 1);
}

#[tokio::test]
async fn a_writer_whose_rows_cannot_be_written_becomes_a_viewer_and_is_told() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("cat").await;
    let device = daemon.device(Role::Operator).await;
    let mut writer = device.attach(&session.id, Mode::Write, "screen").await;
    // Its own row is written.
    assert!(matches!(writer.next().await, Ok(ServerMessage::Hello(_))));
    let other = Connection::open(daemon.folder().join("transom.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    writer.send_input(b"typed\r").await;
    let told = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            if let ServerMessage::Hello(hello) = writer.next().await.unwrap()
                && hello.mode == Mode::View
            {
                return hello;
            }
        }
    });
    assert_eq!(told.await.unwrap().writers, 0);
    other.execute_batch("ROLLBACK").unwrap();
    writer.send_input(b"too late\r").await;
    let screen = daemon
        .owner()
        .get(&format!("/v1/sessions/{}/screen", session.id))
        .await;
    assert!(!screen.body.contains("too late"), "{screen:?}");
}

async fn rows(daemon: &TestDaemon, arguments: &[&str]) -> Vec<AuditRecord> {
    let all = [&["audit", "--json"], arguments].concat();
    let finished = daemon.cli(&all).await;
    assert_eq!(finished.code, 0, "{finished:?}");
    serde_json::from_value::<Vec<AuditRecord>>(finished.json()).unwrap()
}

async fn rows_of(daemon: &TestDaemon, arguments: &[&str]) -> Vec<String> {
    let rows = rows(daemon, arguments).await;
    rows.into_iter().map(|row| row.action).collect()
}

/// Does what only somebody does who goes round the daemon: the triggers are no wall.
fn tamper(folder: &Path, sql: &str) {
    let store = Connection::open(folder.join("transom.db")).unwrap();
    let triggers =
        "DROP TRIGGER IF EXISTS audit_rows_never_change; DROP TRIGGER IF EXISTS audit_rows_never_go;";
    store.execute_batch(triggers).unwrap();
    store.execute_batch(sql).unwrap();
}
