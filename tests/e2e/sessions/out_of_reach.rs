//! Sessions that a daemon cannot take over at its start.

use std::{
    cell::Cell,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use harness::{DaemonOptions, Owner, Running, TestDaemon, binary, open_files, until};
use protocol::{
    attach::{CLOSE_RESTARTING, Mode},
    sessions::{NewSession, Session, SessionState},
};
use rustix::process::Signal;
use tokio::process::Command;

#[tokio::test]
async fn sessions_for_which_descriptors_are_short_are_listed_and_come_when_there_are_more() {
    let mut daemon = TestDaemon::start().await;
    // Two for the keeper, and for some of the sessions.
    let limit = open_files(daemon.pid()).len() + 2 + 40;
    for _ in 0..12 {
        daemon.owner().shell("echo ready; read x; exit 6").await;
    }
    let options = DaemonOptions {
        program: Some(with_limit(&daemon, limit)),
        ..DaemonOptions::default()
    };
    daemon.signal(Signal::KILL);
    daemon.start_again_with(&options).await;
    let owner = daemon.owner();
    let (near, looks) = (Cell::new(0), Cell::new(0));
    until("as many of the sessions as there is room for", || async {
        let now = listed(&owner, |session| session.out_of_reach.is_none())
            .await
            .len();
        looks.set(if near.replace(now) == now {
            looks.get() + 1
        } else {
            0
        });
        (now > 0 && looks.get() > 50).then_some(())
    })
    .await;
    let far = listed(&owner, |session| session.out_of_reach.is_some()).await;
    assert!(far.len() >= 2, "{near:?} were taken over");
    for session in &far {
        assert_eq!((session.state, &session.exit), (SessionState::Running, &None));
        let why = session.out_of_reach.as_ref().unwrap();
        assert!(why.contains("Too many open files"), "{why}");
    }
    let shown = daemon.cli(&["ls"]).await.stdout;
    assert!(shown.contains("out of reach"), "{shown}");
    let path = |id: &str, what: &str| format!("/v1/sessions/{id}/{what}");
    let refused = owner.get(&path(&far[0].id, "screen")).await.problem();
    assert_eq!((refused.status, refused.code.as_str()), (503, "out_of_reach"));
    let mut waiting = owner.attach(&far[0].id, Mode::Write, "0").await;
    assert_eq!(waiting.until_closed().await, CLOSE_RESTARTING);
    let programs = daemon.programs().len();
    let stopped = owner.post(&path(&far[0].id, "stop"), &()).await;
    assert_eq!((stopped.status, daemon.programs().len()), (200, programs - 1));
    let last = &far[far.len() - 1].id;
    // Nobody knows which of the others come first where there is room.
    for session in listed(&owner, |session| session.id != *last).await {
        assert_eq!(owner.post(&path(&session.id, "stop"), &()).await.status, 200);
    }
    assert_eq!(owner.ended(&far[0].id).await.state, SessionState::Exited);
    until("the last session", || async {
        let session = owner.session(last).await;
        session.out_of_reach.is_none().then_some(())
    })
    .await;
    let mut attached = owner.attach(last, Mode::Write, "0").await;
    attached.until("ready").await.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(6));
}

#[tokio::test]
async fn a_program_that_has_not_begun_delays_no_other_and_comes_when_it_has() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let other = owner.shell("echo ready; read x; exit 6").await;
    let slow = daemon.folder().join("slow");
    fs::copy("/bin/sleep", &slow).unwrap();
    let mut leased = Running::start(Command::new("perl").arg("-e").arg(LEASE).arg(&slow));
    leased.line_with("held").await;
    let starting = tokio::spawn({
        let owner = daemon.owner();
        let new = NewSession {
            command: slow.display().to_string(),
            args: vec!["600".to_owned()],
            ..NewSession::default()
        };
        // Its daemon is killed.
        async move { owner.post("/v1/sessions", &new).await.status }
    });
    until("the program's process", || async {
        (daemon.programs().len() == 2).then_some(())
    })
    .await;
    let begun = Instant::now();
    daemon.kill_and_restart().await;
    assert!(begun.elapsed() < Duration::from_secs(9), "it was waited for");
    starting.abort();
    let owner = daemon.owner();
    let mut attached = owner.attach(&other.id, Mode::Write, "0").await;
    attached.until("ready").await.send_input(b"\n").await;
    assert_eq!(attached.until_exit().await.code, Some(6));
    drop(leased);
    let slow = until("the slow session", || async {
        let listed: Vec<Session> = owner.get("/v1/sessions").await.ok();
        listed.into_iter().find(|session| session.id != other.id)
    })
    .await;
    assert_eq!((slow.state, slow.out_of_reach), (SessionState::Running, None));
    assert_eq!(daemon.programs().len(), 1, "it goes on");
}

/// The binary under test with so many descriptors at most.
fn with_limit(daemon: &TestDaemon, limit: usize) -> PathBuf {
    let path = daemon.folder().join("limited");
    let script = format!(
        "#!/bin/sh\nulimit -n {limit}\nexec {} \"$@\"\n",
        binary().display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    path
}

async fn listed(owner: &Owner, is_wanted: impl Fn(&Session) -> bool) -> Vec<Session> {
    let mut listed: Vec<Session> = owner.get("/v1/sessions").await.ok();
    listed.retain(is_wanted);
    listed
}

/// Takes a lease of the file (fcntl(2), `F_SETLEASE`): who executes it waits until that is given back, 45 s at most. The
/// signal that tells the holder so is one that is ignored.
const LEASE: &str = r#"
    $| = 1; open(my $file, "<", $ARGV[0]) or die;
    fcntl($file, 10, 17) or die; fcntl($file, 1024, 1) or die; print "held\n"; sleep 600;"#;
