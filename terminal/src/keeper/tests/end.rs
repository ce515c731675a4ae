//! What happens to programs when the processes above them are killed, and when a session is stopped.

use rustix::process::{Pid, Signal, kill_process};

use super::{Listing, TestKeeper, exit, id, is_alive, listed, pid_in, soon, until};
use crate::session::{Options, Session, SessionState};

/// Leaves a process in a session of its own whose parents are dead, and writes its number into a file.
fn escaping(file: &std::path::Path) -> String {
    let file = file.display();
    format!("setsid sh -c '(trap \"\" HUP TERM; exec sleep 999) & echo $! > {file}; exit' ; sleep 999")
}

#[tokio::test]
async fn when_the_keeper_is_killed_nothing_survives_and_the_session_is_lost() {
    let keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let held = keeper.spawn(1, &escaping(&folder.path().join("pid"))).await;
    let escaped = pid_in(&folder.path().join("pid")).await;
    let leader = held.tree.leader();
    let session = Session::adopt(held, Options::default()).unwrap();
    keeper.kill();
    soon(keeper.client().lost()).await;
    soon(session.kill()).await;
    assert_eq!(*session.state().borrow(), SessionState::Lost);
    until("all of it ends", || !is_alive(leader) && !is_alive(escaped)).await;
}

#[tokio::test]
async fn without_a_daemon_too_nothing_survives_the_keeper() {
    let mut keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let leader = keeper
        .spawn(1, &escaping(&folder.path().join("pid")))
        .await
        .tree
        .leader();
    let escaped = pid_in(&folder.path().join("pid")).await;
    keeper.hang_up();
    keeper.kill();
    until("all of it ends", || !is_alive(leader) && !is_alive(escaped)).await;
}

#[tokio::test]
async fn when_a_reaper_is_killed_its_session_is_lost_and_others_are_not() {
    let keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let held = keeper.spawn(1, &escaping(&folder.path().join("pid"))).await;
    let escaped = pid_in(&folder.path().join("pid")).await;
    let other = keeper.spawn(2, "read line; exit 5").await;
    kill_process(held.tree.reaper().id, Signal::KILL).unwrap();
    assert_eq!(exit(&held).await, None);
    until("all of it ends", || {
        !is_alive(held.tree.leader()) && !is_alive(escaped)
    })
    .await;
    let sessions = keeper.client().list().await.unwrap();
    assert_eq!(listed(&sessions, 1), Listing::Lost);
    rustix::io::write(&other.master, b"\n").unwrap();
    assert_eq!(exit(&other).await.unwrap().code, Some(5));
}

#[tokio::test]
async fn a_reaper_is_deaf_to_signals() {
    let keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "read line; exit 6").await;
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        kill_process(held.tree.reaper().id, signal).unwrap();
        kill_process(
            Pid::from_raw(keeper.client().process_id().cast_signed()).unwrap(),
            Signal::HUP,
        )
        .unwrap();
    }
    rustix::io::write(&held.master, b"\n").unwrap();
    assert_eq!(exit(&held).await.unwrap().code, Some(6));
}

#[tokio::test]
async fn stopping_in_a_cgroup_ends_all_of_it_and_tells_how_the_program_ended() {
    let keeper = TestKeeper::start_as("keeper_process_with_cgroups").await;
    let folder = tempfile::tempdir().unwrap();
    let held = keeper.spawn(1, &escaping(&folder.path().join("pid"))).await;
    let escaped = pid_in(&folder.path().join("pid")).await;
    let session = Session::adopt(held, Options::default()).unwrap();
    soon(session.stop()).await;
    assert!(!is_alive(escaped));
    let end = session.state().borrow().exit().expect("its reaper told");
    assert_eq!(end.signal, Some(libc::SIGHUP));
    keeper.client().forget(id(1)).await.unwrap();
    until("the session is gone", || {
        session.process_id().is_none_or(|id| !is_alive(id))
    })
    .await;
}

#[tokio::test]
async fn programs_have_no_descriptor_and_no_variable_of_the_keepers() {
    let keeper = TestKeeper::start().await;
    let held = keeper
        .spawn(
            1,
            "ls -l /proc/self/fd; cat /proc/self/environ | tr '\\0' '\\n'; exit",
        )
        .await;
    exit(&held).await;
    let session = Session::adopt(held, Options::default()).unwrap();
    let mut state = session.state();
    soon(state.wait_for(|state| !state.is_running())).await.unwrap();
    let text = session.text_lines().join("\n");
    assert!(!text.contains("memfd") && !text.contains("socket"), "{text}");
    assert!(text.contains("PATH=") && !text.contains("CARGO"), "{text}");
    let environment = std::fs::read(format!("/proc/{}/environ", keeper.client().process_id()));
    // Only root may look at a process that hides its memory.
    assert!(environment.map_or_else(|_| true, |text| text.is_empty()));
}

#[tokio::test]
async fn when_keeper_and_reaper_are_killed_together_the_program_is_killed_too() {
    let keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "trap '' HUP TERM; sleep 999 & wait").await;
    let (leader, reaper) = (held.tree.leader(), held.tree.reaper());
    let session = Session::adopt(held, Options::default()).unwrap();
    // Stopped, it does nothing about the reaper's end.
    kill_process(keeper.process, Signal::STOP).unwrap();
    kill_process(reaper.id, Signal::KILL).unwrap();
    keeper.kill();
    soon(keeper.client().lost()).await;
    assert!(is_alive(leader));
    soon(session.kill()).await;
    assert!(!is_alive(leader));
}

#[tokio::test]
async fn what_outlives_its_leader_is_asked_to_end_before_it_is_killed() {
    let keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (ready, asked) = (folder.path().join("ready"), folder.path().join("asked"));
    let script = format!(
        "trap '' HUP; sh -c 'trap \"echo > {}; exit\" TERM; echo > {}; while :; do sleep 0.1; done' >/dev/null 2>&1 & exit 0",
        asked.display(),
        ready.display()
    );
    let held = keeper.spawn(1, &script).await;
    exit(&held).await;
    until("it can be asked", || ready.exists()).await;
    assert!(soon(held.tree.stop()).await);
    assert!(asked.exists());
}
