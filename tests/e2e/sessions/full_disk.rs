//! A disk that is full.

use std::{fs, sync::Arc};

use harness::{DaemonOptions, SmallDisk, TerminalOf, TestDaemon, until};
use pairing::Role;
use protocol::{
    attach::{CLOSE_NOT_PERMITTED, Mode, ServerMessage, UNWRITTEN},
    sessions::{Output, Session, SessionState, Stopped},
};
use serde_json::json;

#[tokio::test]
async fn a_full_disk_costs_old_output_and_nothing_else_and_is_used_again_when_it_has_room() {
    let mut daemon = TestDaemon::start().await;
    let disk = SmallDisk::over(daemon.folder().join("sessions"));
    let owner = daemon.owner();
    let script = "stty -echo; echo ready; read x; seq 1 900000; echo the-end; read x; echo recovered; exit 4";
    let session = owner.shell(script).await;
    let path = format!("/v1/sessions/{}", session.id);
    let mut writer = owner.attach(&session.id, Mode::Write, "0").await;
    writer.until("ready").await;
    disk.fill();
    writer.send_input(b"\r").await;
    writer.until("the-end").await;
    let gone: Output = owner
        .get(&format!("{path}/output?from=1000000&limit=10"))
        .await
        .ok();
    assert!(
        gone.truncated && gone.offset > 1_000_000 && gone.data.0.len() == 10,
        "{gone:?}"
    );

    let other = owner.shell("echo hello; read x").await;
    owner
        .attach(&other.id, Mode::View, "screen")
        .await
        .until("hello")
        .await;
    let stopped: Stopped = owner
        .post(&format!("/v1/sessions/{}/stop", other.id), &json!({}))
        .await
        .ok();
    assert_eq!(stopped.session.state, SessionState::Exited);
    let deleted = owner
        .request("DELETE", &format!("/v1/sessions/{}", other.id), None::<&()>)
        .await;
    assert_eq!(
        deleted.verdict(),
        "503 not_saved",
        "it is so until the daemon ends"
    );
    let short = owner.shell("echo made while it was full; exit 3").await;
    assert_eq!(owner.ended(&short.id).await.exit.unwrap().code, Some(3));

    disk.make_room();
    writer.send_input(b"\r").await;
    assert_eq!(writer.until_exit().await.code, Some(4));
    until("everything to be on the disk", || async {
        let has_all = disk.holds(&session.id, "recovered\r\n") && disk.holds(&short.id, "full\r\n");
        let is_saved = |id: &str| disk.holds(id, "\"offset\"");
        (has_all && is_saved(&session.id) && is_saved(&short.id)).then_some(())
    })
    .await;
    daemon.kill_and_restart().await;
    let owner = daemon.owner();
    let read: Output = owner.get(&format!("{path}/output?from=1000000")).await.ok();
    assert!(read.truncated, "what was not written stays gone");
    let seen: Session = owner.session(&session.id).await;
    assert_eq!(
        (seen.last_line.as_str(), seen.exit.unwrap().code),
        ("recovered", Some(4))
    );
    let last: Output = owner
        .get(&format!("{path}/output?from={}", seen.end - 11))
        .await
        .ok();
    assert_eq!(last.data.0, b"recovered\r\n");
    assert_eq!(owner.session(&short.id).await.exit.unwrap().code, Some(3));
}

#[tokio::test]
async fn a_disk_that_is_full_under_all_state_stops_no_program_and_no_viewer_and_is_used_again() {
    let mut builder = tempfile::Builder::new();
    let folder = builder.prefix("transom").tempdir().unwrap();
    let disk = SmallDisk::over(folder.path().to_owned());
    let daemon = TestDaemon::start_in(Arc::new(folder), &DaemonOptions::default()).await;
    let owner = daemon.owner();
    let script =
        "stty -echo; echo ready; read x; seq 1 900000; echo the-end; read x; echo heard-$x; read x; exit 4";
    let session = owner.shell(script).await;
    let device = daemon.device(Role::Viewer).await;
    let mut writer = owner.attach(&session.id, Mode::Write, "0").await;
    let mut viewer = device.attach(&session.id, Mode::View, "0").await;
    writer.until("ready").await;
    viewer.until("ready").await;
    let mut pairing = daemon.pairing(Role::Viewer).await;
    pairing.ask().await;
    let request = pairing.id();
    disk.fill();

    writer.send_input(b"\r").await;
    writer.until("the-end").await;
    viewer.until("the-end").await;
    writer.send_input(b"it\r").await;
    writer.until("heard-it").await;
    viewer.until("heard-it").await;
    let output = format!("/v1/sessions/{}/output?from=1000000&limit=10", session.id);
    let gone: Output = owner.get(&output).await.ok();
    assert!(gone.truncated && gone.offset > 1_000_000, "{gone:?}");
    let listed: Vec<Session> = device.get("/v1/sessions").await.ok();
    assert_eq!((listed.len(), listed[0].state), (1, SessionState::Running));
    let screen = owner.get(&format!("/v1/sessions/{}/screen", session.id)).await;
    assert!(screen.body.contains("heard-it"), "{screen:?}");

    // Nobody comes in of whom the audit trail would say nothing.
    let mut late = owner.attach(&session.id, Mode::View, "screen").await;
    let closed = late.until_closed_for().await;
    assert_eq!(closed, (CLOSE_NOT_PERMITTED, UNWRITTEN.to_owned()));
    assert_eq!(owner.approve(request).await.verdict(), "503 store_failed");
    // Of whom there were no rows for too long, nothing more is typed.
    while !matches!(writer.next().await.expect("it stays"), ServerMessage::Hello(hello) if hello.mode == Mode::View)
    {
    }

    disk.make_room();
    let mut again = until("the audit trail to go on", || async {
        let mut again = owner.attach(&session.id, Mode::Write, "screen").await;
        again.next().await.is_ok().then_some(again)
    })
    .await;
    assert_eq!(owner.approve(request).await.status, 200);
    again.send_input(b"\r").await;
    for attached in [&mut again, &mut writer, &mut viewer] {
        assert_eq!(attached.until_exit().await.code, Some(4));
    }
}

#[tokio::test]
async fn who_attaches_while_the_disk_is_full_is_told_why_and_what_to_do_and_can_look_by_other_ways() {
    let mut builder = tempfile::Builder::new();
    let folder = builder.prefix("transom").tempdir().unwrap();
    let disk = SmallDisk::over(folder.path().to_owned());
    let daemon = TestDaemon::start_in(Arc::new(folder), &DaemonOptions::default()).await;
    let session = daemon.owner().shell("echo ready; read x").await;
    let ready = ["wait", &session.name, "--text", "ready"];
    assert_eq!(daemon.cli(&ready).await.code, 0);
    disk.fill();
    for verb in ["attach", "view"] {
        let terminal = TerminalOf::start(&daemon.command(&[verb, &session.name]), 160, 20).await;
        terminal
            .until_shows("error: the daemon cannot write its audit trail")
            .await;
        terminal.until_shows("full or read-only: make room").await;
        assert_eq!(
            terminal.exit().await.code,
            Some(1),
            "not a matter of scopes, and not of the link"
        );
    }
    let screen = daemon.cli(&["screen", &session.name]).await;
    assert!(screen.code == 0 && screen.stdout.contains("ready"), "{screen:?}");
    let started = daemon.cli(&["new", "--json", "--", "true"]).await;
    assert_eq!(
        (started.code, started.json()["code"].as_str()),
        (1, Some("store_failed"))
    );
    disk.make_room();
    until("the audit trail to go on", || async {
        let mut attached = daemon.owner().attach(&session.id, Mode::View, "screen").await;
        attached.next().await.ok()
    })
    .await;
}

#[tokio::test]
async fn a_start_on_a_full_disk_blames_the_disk_and_nothing_that_is_on_it() {
    let mut builder = tempfile::Builder::new();
    let folder = builder.prefix("transom").tempdir().unwrap();
    let disk = SmallDisk::over(folder.path().to_owned());
    let mut daemon = TestDaemon::start_in(Arc::new(folder), &DaemonOptions::default()).await;
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    daemon.ended().await;
    disk.fill();
    let blamed = async |what: &str| {
        let refused = daemon.cli(&["up", "--tls", "127.0.0.1:0"]).await;
        assert_eq!(refused.code, 1, "{what}: {refused:?}");
        for words in ["no space is left on the disk of", "hint: make room there"] {
            assert!(refused.stderr.contains(words), "{what}: {refused:?}");
        }
    };
    blamed("a store that is there").await;
    let left = [
        "transom.db",
        "transom.db-wal",
        "transom.db-shm",
        "keys/epoch",
        "keys/identity.pem",
    ];
    for left in left {
        fs::remove_file(daemon.folder().join(left)).ok();
    }
    disk.fill();
    blamed("none at all").await;
}
