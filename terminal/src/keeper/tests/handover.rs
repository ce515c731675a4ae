//! Daemons come and go; programs, their output and their ends stay.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, prlimit};

use super::{Listing, TestKeeper, exit, id, is_unknown, listed, output, shell, soon, until};
use crate::keeper::{Keeper, KeeperError};
use crate::session::Options;

#[tokio::test]
async fn a_program_under_the_keeper_writes_into_the_journal_and_its_end_is_told() {
    let keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "exit 7").await;
    let end = exit(&held).await.unwrap();
    assert_eq!((end.code, end.signal), (Some(7), None));
    assert!(end.peak_memory_bytes > 100_000, "{end:?}");
}

#[tokio::test]
async fn without_a_daemon_the_output_goes_on_at_its_offsets() {
    let mut keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    // Far more than a terminal holds: the program gets to its end only if it is read.
    let script = format!("seq 1 40000; touch {}; read line", done.display());
    keeper.spawn(1, &script).await;
    keeper.hang_up();
    until("the program has written all", || done.exists()).await;
    keeper.connect().await;
    assert_eq!(
        listed(&keeper.client().list().await.unwrap(), 1),
        Listing::Running
    );
    let held = soon(keeper.client().adopt(id(1))).await.unwrap();
    let expected: String = (1..=40_000).map(|number| format!("{number}\r\n")).collect();
    // The last bytes may still be in the terminal, which a daemon reads after the journal.
    let output = output(&held);
    assert!(expected.starts_with(&output) && output.len() + 4096 > expected.len());
}

#[tokio::test]
async fn a_program_that_ends_without_a_daemon_leaves_every_byte_and_its_code() {
    let mut keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "read line; seq 1 20000; exit 3").await;
    let leader = held.tree.leader();
    rustix::io::write(&held.master, b"\n").unwrap();
    drop(held);
    keeper.hang_up();
    until("the program has ended", || !super::is_alive(leader)).await;
    keeper.connect().await;
    let held = soon(keeper.client().adopt(id(1))).await.unwrap();
    assert_eq!(exit(&held).await.unwrap().code, Some(3));
    let session = crate::Session::adopt(held, Options::default()).unwrap();
    let mut state = session.state();
    soon(state.wait_for(|state| !state.is_running())).await.unwrap();
    let expected: usize = (1..=20_000).map(|number: u32| number.to_string().len() + 2).sum();
    assert_eq!(session.end().0 as usize, expected + 2, "and the echo of the line");
}

#[tokio::test]
async fn a_second_daemon_waits_for_the_end_of_the_first() {
    let mut keeper = TestKeeper::start().await;
    keeper.spawn(1, "read line").await;
    let socket = keeper.options.socket.clone();
    let second = tokio::spawn(async move { Keeper::connect(&socket).await.unwrap().unwrap() });
    // The first one is answered meanwhile, the second one is not.
    for _ in 0..20 {
        assert_eq!(keeper.client().list().await.unwrap().len(), 1);
        assert!(!second.is_finished());
    }
    keeper.hang_up();
    let second = soon(second).await.unwrap();
    assert_eq!(second.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_keeper_without_sessions_retires_when_its_daemon_leaves() {
    let mut keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "exit 0").await;
    exit(&held).await;
    assert!(keeper.options.socket.exists());
    keeper.client().forget(id(1)).await.unwrap();
    assert!(is_unknown(&keeper.client().forget(id(1)).await));
    let process = keeper.client().process_id();
    keeper.hang_up();
    until("the keeper ends", || !super::is_alive(process)).await;
    assert!(!keeper.options.socket.exists());
    assert!(Keeper::connect(&keeper.options.socket).await.unwrap().is_none());
}

#[tokio::test]
async fn what_lives_of_a_forgotten_session_keeps_the_keeper() {
    let mut keeper = TestKeeper::start().await;
    let held = keeper
        .spawn(1, "trap '' HUP; sleep 999 </dev/null >/dev/null 2>&1 & exit 0")
        .await;
    exit(&held).await;
    keeper.client().forget(id(1)).await.unwrap();
    keeper.hang_up();
    keeper.connect().await;
    let sessions = keeper.client().list().await.unwrap();
    assert!(sessions[0].is_forgotten, "{sessions:?}");
    assert!(is_unknown(&keeper.client().adopt(id(1)).await));
    held.tree.kill().await;
    until("the rest of it ends", || !held.tree.has_reaper()).await;
    // The keeper is told of its reaper's end a moment after others can see it.
    soon(async { while !keeper.client().list().await.unwrap().is_empty() {} }).await;
}

#[tokio::test]
async fn an_environment_longer_than_a_message_reaches_the_program() {
    let keeper = TestKeeper::start().await;
    let mut command = shell("echo ${#LONG} ${#1}; exit");
    let long = "x".repeat(100_000);
    command.env.push(("LONG".into(), long.clone().into()));
    command.args.extend(["sh".into(), long.into()]);
    let held = soon(keeper.client().spawn(command, id(1), 0)).await.unwrap();
    exit(&held).await;
    let session = crate::Session::adopt(held, Options::default()).unwrap();
    let mut state = session.state();
    soon(state.wait_for(|state| !state.is_running())).await.unwrap();
    assert_eq!(session.last_line(), "100000 100000");
}

#[tokio::test]
async fn a_keeper_of_another_build_is_driven_in_the_version_that_both_speak() {
    use crate::keeper::message::Versions;
    let folder = tempfile::tempdir().unwrap();
    let options = super::options(
        folder.path().join("keeper.sock"),
        "keeper_process_of_versions_3_to_4",
    );
    crate::keeper::start::start(&options).unwrap();
    let newer = Versions { min: 1, max: 3 };
    let keeper = Keeper::connect_as(newer, &options.socket)
        .await
        .unwrap()
        .expect("it is there");
    let session = soon(keeper.spawn(shell("exit 3"), id(2), 0)).await.unwrap();
    drop(keeper);
    let ours = Keeper::connect(&options.socket).await;
    assert!(matches!(ours, Err(KeeperError::Version)), "{ours:?}");
    let keeper = Keeper::connect_as(newer, &options.socket)
        .await
        .unwrap()
        .expect("it is there");
    keeper.forget(id(2)).await.unwrap();
    drop(session);
    let held = soon(keeper.spawn(shell("exit 4"), id(1), 0)).await.unwrap();
    assert_eq!(exit(&held).await.unwrap().code, Some(4));
    keeper.forget(id(1)).await.unwrap();
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_any_more_leaves_nothing() {
    let keeper = TestKeeper::start().await;
    let mut taken = Vec::new();
    for number in 1..=40_u8 {
        let spawning = keeper.client().spawn(shell("sleep 999"), id(number), 0);
        let patience = Duration::from_micros(u64::from(number) * 250);
        if let Ok(held) = tokio::time::timeout(patience, spawning).await {
            taken.push((id(number), held.unwrap()));
        }
    }
    soon(async {
        loop {
            let listed = keeper.client().list().await.unwrap();
            if listed.len() == taken.len() {
                assert!(taken.iter().all(|(id, _)| listed.iter().any(|one| one.id == *id)));
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_daemon_does_not_adopt_is_read_on() {
    let mut keeper = TestKeeper::start().await;
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let held = keeper
        .spawn(
            1,
            &format!("read line; seq 1 40000; touch {}; read line", done.display()),
        )
        .await;
    keeper.hang_up();
    keeper.connect().await;
    assert_eq!(keeper.client().list().await.unwrap().len(), 1);
    rustix::io::write(&held.master, b"\n").unwrap();
    until("the program has written all", || done.exists()).await;
    let held = soon(keeper.client().adopt(id(1))).await.unwrap();
    // The last bytes may still be in the terminal.
    assert!(output(&held).len() > 200_000);
}

#[tokio::test]
async fn a_keeper_that_has_no_descriptor_left_refuses_that_session_alone() {
    let keeper = TestKeeper::start().await;
    let held = keeper.spawn(1, "read line; exit 5").await;
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    let scarce = Rlimit {
        current: Some(9),
        maximum,
    };
    // Its standard three, listener, child events, daemon, and three of the session.
    let former = prlimit(Some(keeper.process), Resource::Nofile, scarce).unwrap();
    let refused = soon(keeper.client().spawn(shell("sleep 999"), id(2), 0)).await;
    assert!(refused.is_err(), "{refused:?}");
    prlimit(Some(keeper.process), Resource::Nofile, former).unwrap();
    assert_eq!(keeper.client().list().await.unwrap().len(), 1);
    let other = keeper.spawn(3, "exit 6").await;
    assert_eq!(exit(&other).await.unwrap().code, Some(6));
    rustix::io::write(&held.master, b"\n").unwrap();
    assert_eq!(exit(&held).await.unwrap().code, Some(5));
}
