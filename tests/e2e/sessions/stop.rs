//! `POST /v1/sessions/{id}/stop`.

use harness::{DaemonOptions, Device, TestDaemon, descendants, until};
use pairing::Role;
use protocol::{
    access::DeviceChanges,
    attach::Mode,
    sessions::{Session, SessionState, Stopped},
};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

#[tokio::test]
async fn stopping_ends_the_program_with_what_it_started_and_says_how_it_ended() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("sleep 999 & sleep 998 & echo started; wait").await;
    owner
        .attach(&session.id, Mode::View, "0")
        .await
        .until("started")
        .await;
    let stopped: Stopped = owner
        .post(
            &format!("/v1/sessions/{}/stop", session.id),
            &serde_json::json!({}),
        )
        .await
        .ok();
    let exit = stopped.session.exit.expect("it has ended");
    assert!(exit.signal.is_some() || exit.code.is_some());
    until("no process to be left", || async {
        daemon.programs().is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn stopping_one_session_leaves_another_alone() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let other = owner.shell("read line; echo got $line").await;
    let session = owner.shell("sleep 999").await;
    owner
        .post(
            &format!("/v1/sessions/{}/stop", session.id),
            &serde_json::json!({}),
        )
        .await;
    let mut writer = owner.attach(&other.id, Mode::Write, "0").await;
    writer.send_input(b"it\r").await;
    writer.until("got it").await;
}

#[tokio::test]
async fn who_is_revoked_while_the_row_of_its_stop_is_written_stops_nothing() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let device = daemon.device(Role::Operator).await;
    let session = owner.shell("echo ready; cat").await;
    let mut own = owner.attach(&session.id, Mode::Write, "0").await;
    own.until("ready").await;
    let token = device.access().await;
    let other = Connection::open(daemon.folder().join("transom.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = connections_of(&daemon, &device).await;
    let path = format!("/v1/sessions/{}/stop", session.id);
    let client = device.client();
    let stopping = tokio::spawn(async move {
        let request = client.build("POST", &path, Some(&token), Some(&serde_json::json!({})));
        request.send().await.map(|answer| answer.status().as_u16())
    });
    until("the stop to be let in", || async {
        (connections_of(&daemon, &device).await > before).then_some(())
    })
    .await;
    let (revoking, id) = (owner.clone(), device.id());
    let revoking = tokio::spawn(async move { revoking.revoke(id).await });
    // Its connection is cut before anything is stored.
    let answered = stopping.await.unwrap();
    assert!(!matches!(answered, Ok(200)), "{answered:?}");
    other.execute_batch("ROLLBACK").unwrap();
    revoking.await.unwrap();
    own.send_input(b"alive\n").await;
    own.until("alive").await;
    assert_eq!(owner.session(&session.id).await.state, SessionState::Running);
}

#[tokio::test]
async fn a_stop_whose_row_waits_for_the_disk_happens_before_the_disk_goes_on() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("cat").await;
    let other = Connection::open(daemon.folder().join("transom.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let path = format!("/v1/sessions/{}/stop", session.id);
    let stopped: Stopped = owner.post(&path, &serde_json::json!({})).await.ok();
    assert!(stopped.session.exit.is_some());
    // The store itself gives up later.
    let log = daemon.log();
    assert!(
        log.contains("the row of a session's end waits for the disk"),
        "{log}"
    );
}

#[tokio::test]
async fn a_stop_whose_right_is_taken_away_happens_wholly_or_not_at_all() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    for _ in 0..8 {
        let device = daemon.device(Role::Operator).await;
        let session = owner.shell("echo ready; cat").await;
        let mut own = owner.attach(&session.id, Mode::Write, "0").await;
        own.until("ready").await;
        device.access().await;
        let changes = DeviceChanges {
            role: Some(Role::Viewer),
            ..DeviceChanges::default()
        };
        let (stop, change) = (
            format!("/v1/sessions/{}/stop", session.id),
            format!("/v1/devices/{}", device.id()),
        );
        let nothing = serde_json::json!({});
        let (stopped, changed) = tokio::join!(
            device.post(&stop, &nothing),
            owner.request("PATCH", &change, Some(&changes))
        );
        assert_eq!(changed.status, 200);
        match stopped.status {
            200 => assert!(stopped.ok::<Stopped>().session.exit.is_some()),
            // It had lost the scope when it asked, or before the stop began.
            401 | 403 => {
                own.send_input(b"alive\n").await;
                own.until("alive").await;
                assert_eq!(owner.session(&session.id).await.state, SessionState::Running);
            }
            _ => panic!("{stopped:?}"),
        }
    }
}

#[tokio::test]
async fn a_session_that_is_not_there_is_an_error() {
    let daemon = TestDaemon::start().await;
    let path = "/v1/sessions/ses_00000000000000ff";
    assert_eq!(daemon.owner().get(path).await.verdict(), "404 session_not_found");
    let stop = daemon
        .owner()
        .post(&format!("{path}/stop"), &serde_json::json!({}))
        .await;
    assert_eq!(stop.verdict(), "404 session_not_found");
}

#[tokio::test]
async fn what_an_ended_program_left_running_is_ended_also_after_the_daemon_was_replaced() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let mut ids = Vec::new();
    for _ in 0..4 {
        let session = owner
            // The hang-up that comes with the leader's end may find it before it has left.
            .shell("trap '' HUP; setsid -f sleep 600 >/dev/null 2>&1 </dev/null")
            .await;
        assert_eq!(owner.ended(&session.id).await.exit.unwrap().code, Some(0));
        let file = daemon.folder().join("sessions").join(&session.id);
        until("the record on disk", || async {
            let text = std::fs::read_to_string(file.join("session.json")).ok()?;
            text.contains("\"last_line\"").then_some(())
        })
        .await;
        ids.push(session.id);
    }
    for _ in 0..2 {
        daemon.kill_and_restart().await;
    }
    assert_eq!(daemon.programs().len(), 4, "nobody asked for their end");
    let owner = daemon.owner();
    let path = |at: usize| format!("/v1/sessions/{}", ids[at]);
    let stop = |at: usize| format!("{}/stop", path(at));
    assert_eq!(owner.post(&stop(0), &()).await.status, 200);
    assert_eq!(daemon.programs().len(), 3);
    // It is read from the disk for who looks at it.
    assert_eq!(owner.get(&format!("{}/screen", path(1))).await.status, 200);
    assert_eq!(owner.post(&stop(1), &()).await.status, 200);
    assert_eq!(daemon.programs().len(), 2);
    assert_eq!(owner.request("DELETE", &path(2), None::<&()>).await.status, 200);
    assert_eq!(daemon.programs().len(), 1);
    let purge = format!("{}?purge=true", path(3));
    assert_eq!(owner.request("DELETE", &purge, None::<&()>).await.status, 200);
    assert_eq!(daemon.programs(), Vec::<u32>::new());
}

#[tokio::test]
async fn who_stops_or_deletes_a_session_is_told_where_its_end_cannot_be_seen() {
    let daemon = TestDaemon::start_with(DaemonOptions {
        arguments: vec!["--no-cgroups".to_owned()],
        ..DaemonOptions::default()
    })
    .await;
    let owner = daemon.owner();
    let session = owner.shell("sleep 600").await;
    let below = descendants(daemon.keeper().unwrap());
    let reaper = below.iter().find(|process| !daemon.programs().contains(process));
    let reaper = Pid::from_raw(reaper.unwrap().cast_signed()).unwrap();
    // As where another user's processes are hidden: nobody is seen, and nobody says that all is over.
    kill_process(reaper, Signal::STOP).unwrap();
    let path = format!("/v1/sessions/{}", session.id);
    let stop = format!("{path}/stop");
    let (stopped, deleted, purged) = tokio::join!(
        owner.post(&stop, &()),
        async { owner.request("DELETE", &path, None::<&()>).await },
        async {
            owner
                .request("DELETE", &format!("{path}?purge=true"), None::<&()>)
                .await
        },
    );
    for refused in [stopped, deleted, purged] {
        assert_eq!(refused.verdict(), "409 not_stopped");
    }
    let seen: Session = owner.session(&session.id).await;
    assert_eq!((seen.state, seen.purge_at), (SessionState::Running, None));
    kill_process(reaper, Signal::CONT).unwrap();
    assert_eq!(owner.post(&stop, &()).await.status, 200);
    assert!(owner.ended(&session.id).await.exit.is_some());
}

/// How many connections of a device live.
async fn connections_of(daemon: &TestDaemon, device: &Device) -> u64 {
    let devices = daemon.owner().devices().await;
    let record = devices.iter().find(|record| record.id == device.id());
    record.map_or(0, |record| record.connections)
}
