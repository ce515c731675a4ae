//! Sessions over the end of a daemon.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use harness::{DaemonOptions, TestDaemon};
use pairing::UnixMillis;
use protocol::{
    access::Status,
    attach::Mode,
    sessions::{Output, Session, SessionState},
};
use serde_json::json;

async fn ended(daemon: &TestDaemon, script: &str) -> Session {
    let session = daemon.owner().shell(script).await;
    let path = format!("/v1/sessions/{}/wait", session.id);
    daemon.owner().get(&path).await;
    kept(daemon, &session.id).await;
    daemon.owner().session(&session.id).await
}

/// Waits until the session's record on disk says how it ended.
async fn kept(daemon: &TestDaemon, id: &str) {
    let file = daemon.folder().join("sessions").join(id).join("session.json");
    harness::until("the record on disk", || async {
        let text = fs::read_to_string(&file).unwrap_or_default();
        text.contains("\"last_line\"").then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_ended_session_is_whole_after_the_daemon_was_killed() {
    let mut daemon = TestDaemon::start().await;
    let session = ended(&daemon, "seq 1 100; printf '\\033]2;my title\\a'; exit 3").await;
    let path = format!("/v1/sessions/{}", session.id);
    let changes = json!({ "name": "build", "labels": { "a": "b" } });
    let before: Session = daemon.owner().request("PATCH", &path, Some(&changes)).await.ok();
    let note = json!({ "text": "look" });
    let noted = daemon.owner().post(&format!("{path}/note"), &note).await;
    assert_eq!(noted.status, 200);
    daemon.kill_and_restart().await;
    let after = daemon.owner().session(&session.id).await;
    assert_eq!((after.name.as_str(), after.labels["a"].as_str()), ("build", "b"));
    assert_eq!(after.note.as_ref().unwrap().text, "look");
    assert_eq!((after.state, &after.exit), (SessionState::Exited, &before.exit));
    assert_eq!(
        (after.end, &after.title, &after.last_line),
        (before.end, &before.title, &before.last_line)
    );
    assert_eq!(after.ended_at, before.ended_at);
    let output: Output = daemon.owner().get(&format!("{path}/output")).await.ok();
    assert!(output.data.0.starts_with(b"1\r\n2\r\n"));
    assert_eq!(output.end, before.end);
    let screen = daemon
        .owner()
        .get(&format!("{path}/screen?lines=1000"))
        .await
        .body;
    assert!(
        screen.starts_with("1\n2\n") && screen.ends_with("\n100\n"),
        "{screen}"
    );
}

#[tokio::test]
async fn a_deletion_its_deadline_and_a_restoration_outlive_the_daemon() {
    let mut daemon = TestDaemon::start().await;
    let session = ended(&daemon, "echo hello").await;
    let path = format!("/v1/sessions/{}", session.id);
    let deleted: Session = daemon.owner().request("DELETE", &path, None::<&()>).await.ok();
    daemon.kill_and_restart().await;
    let listed: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    assert!(listed.is_empty(), "{listed:?}");
    let listed: Vec<Session> = daemon.owner().get("/v1/sessions?deleted=true").await.ok();
    assert_eq!(listed[0].purge_at, deleted.purge_at);
    daemon.owner().post(&format!("{path}/restore"), &json!({})).await;
    daemon.kill_and_restart().await;
    let output: Output = daemon.owner().get(&format!("{path}/output")).await.ok();
    assert_eq!(output.data.0, b"hello\r\n");
}

#[tokio::test]
async fn a_deleted_session_is_gone_at_its_deadline() {
    let mut daemon = TestDaemon::start().await;
    let deleted = ended(&daemon, "echo deleted").await;
    let other = ended(&daemon, "echo other").await;
    let path = |session: &Session| format!("/v1/sessions/{}", session.id);
    for session in [&deleted, &other] {
        let answer = daemon
            .owner()
            .request("DELETE", &path(session), None::<&()>)
            .await;
        assert_eq!(answer.status, 200);
    }
    daemon.kill().await;
    // As if it had been deleted a day before, less what the daemon needs to start.
    let folder = daemon.folder().join("sessions").join(&deleted.id);
    let file = folder.join("session.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let soon = SystemTime::now() + Duration::from_secs(3);
    let soon = soon.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let soon = server::clock::timestamp(UnixMillis(i64::try_from(soon).unwrap()));
    record["purge_at"] = json!(soon.to_string());
    fs::write(&file, record.to_string()).unwrap();
    daemon.start_again().await;
    let owner = daemon.owner();
    harness::until("its deadline", || async {
        let listed: Vec<Session> = owner.get("/v1/sessions?deleted=true").await.ok();
        let is_there = |session: &Session| listed.iter().any(|listed| listed.id == session.id);
        assert!(is_there(&other), "it has its time");
        (!is_there(&deleted)).then_some(())
    })
    .await;
    let now = server::clock::timestamp(server::clock::now());
    assert!(now >= soon, "it went at {now}, before {soon}");
    harness::until("its folder to go", || async { (!folder.exists()).then_some(()) }).await;
    let restore = format!("{}/restore", path(&deleted));
    let gone = owner.post(&restore, &json!({})).await;
    assert_eq!(gone.verdict(), "404 session_not_found");
}

#[tokio::test]
async fn a_purged_session_leaves_nothing_on_disk() {
    let daemon = TestDaemon::start().await;
    let session = ended(&daemon, "echo hello").await;
    let folder = daemon.folder().join("sessions").join(&session.id);
    assert!(folder.exists());
    let path = format!("/v1/sessions/{}?purge=true", session.id);
    daemon.owner().request("DELETE", &path, None::<&()>).await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_folder_without_a_record_goes_and_one_that_is_not_ours_stays() {
    let mut daemon = TestDaemon::start().await;
    let session = ended(&daemon, "echo hello").await;
    let sessions = daemon.folder().join("sessions");
    fs::remove_file(sessions.join(&session.id).join("session.json")).unwrap();
    fs::create_dir(sessions.join("mine")).unwrap();
    daemon.kill_and_restart().await;
    assert!(!sessions.join(&session.id).exists());
    assert!(sessions.join("mine").exists());
}

#[tokio::test]
async fn a_running_session_without_a_record_gets_one_and_keeps_it() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("echo hello; read x; exit 3").await;
    let mut attached = daemon.owner().attach(&session.id, Mode::View, "0").await;
    attached.until("hello").await;
    daemon.kill().await;
    // As of a daemon that died before it wrote one, or had no room for it.
    let folder = daemon.folder().join("sessions").join(&session.id);
    fs::remove_file(folder.join("session.json")).unwrap();
    daemon.start_again().await;
    let path = format!("/v1/sessions/{}", session.id);
    let changes = json!({ "name": "found" });
    let changed = daemon.owner().request("PATCH", &path, Some(&changes)).await;
    assert_eq!(changed.status, 200);
    let mut attached = daemon.owner().attach(&session.id, Mode::Write, "0").await;
    attached.send_input(b"\n").await;
    attached.until_exit().await;
    kept(&daemon, &session.id).await;
    daemon.kill_and_restart().await;
    let seen = daemon.owner().session(&session.id).await;
    assert_eq!((seen.name.as_str(), seen.exit.unwrap().code), ("found", Some(3)));
    let output: Output = daemon.owner().get(&format!("{path}/output")).await.ok();
    assert!(output.data.0.starts_with(b"hello\r\n"));
}

#[tokio::test]
async fn a_record_of_a_newer_daemon_or_a_damaged_one_stays_as_it_is_and_costs_no_other() {
    let mut daemon = TestDaemon::start().await;
    let good = ended(&daemon, "echo good").await;
    let newer = ended(&daemon, "echo newer").await;
    let damaged = ended(&daemon, "echo damaged").await;
    let file = |session: &Session| {
        daemon
            .folder()
            .join("sessions")
            .join(&session.id)
            .join("session.json")
    };
    let texts = ["{\"version\": 99}", "{\"vers"];
    let files = [file(&newer), file(&damaged)];
    for (file, text) in files.iter().zip(texts) {
        fs::write(file, text).unwrap();
    }
    daemon.kill_and_restart().await;
    let listed: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    let ids: Vec<&str> = listed.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, [good.id.as_str()]);
    for (file, text) in files.iter().zip(texts) {
        assert_eq!(fs::read_to_string(file).unwrap(), text);
    }
}

#[tokio::test]
async fn the_oldest_ended_sessions_go_where_the_disk_has_no_room() {
    let config = "[sessions]\nscrollback_disk = \"4MiB\"\ndisk = \"5MiB\"\n".to_owned();
    let daemon = TestDaemon::start_with(DaemonOptions {
        config,
        ..DaemonOptions::default()
    })
    .await;
    let mebibytes = "head -c 2000000 /dev/zero | tr '\\0' x";
    let first = ended(&daemon, mebibytes).await;
    let second = ended(&daemon, mebibytes).await;
    let third = ended(&daemon, mebibytes).await;
    harness::until("room", || async {
        let sessions: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
        let ids: Vec<String> = sessions.into_iter().map(|session| session.id).collect();
        let is_gone = !ids.contains(&first.id);
        (is_gone && ids.contains(&third.id)).then_some(())
    })
    .await;
    assert!(!daemon.folder().join("sessions").join(&first.id).exists());
    daemon.owner().shell("sleep 600").await;
    let new = json!({ "command": "sh" });
    let refused = daemon.owner().post("/v1/sessions", &new).await;
    assert_eq!(refused.verdict(), "507 no_room");
    let status: Status = daemon.owner().get("/v1/status").await.ok();
    assert_eq!(status.sessions_running, 1);
    let _ = second;
}
