//! A session leaves nothing behind. One test alone in its process, so that it can count.

use std::fs;
use std::time::Duration;

use terminal::{
    Command, Keeper, KeeperOptions, Mode, Options, Session, SessionId, Size, Start, Update, keep,
};

/// Not a test: the keeper of the one below.
#[test]
#[ignore = "it is the keeper of the other test"]
fn keeper_process() {
    keep(["test".into(), "--no-cgroups".into()]);
}

async fn run_once(keeper: &Keeper) {
    let command = Command {
        program: "sh".into(),
        args: vec!["-c".into(), "printf x; exit 7".into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        size: Size::default(),
        descriptor_limit: None,
    };
    let id = SessionId::from_bytes([7; 8]);
    let held = keeper.spawn(command, id, 0).await.expect("sh can be started");
    let session = Session::adopt(held, Options::default()).expect("its terminal can be watched");
    let mut state = session.state();
    let exit = state
        .wait_for(|state| state.exit().is_some())
        .await
        .expect("the session is there")
        .exit()
        .expect("it was waited for");
    assert_eq!(exit.code, Some(7));
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    let mut seen = Vec::new();
    while let Some(update) = attachment.next().await {
        match update {
            Update::Output { bytes, .. } => seen.extend(bytes),
            Update::Exit(seen) => assert_eq!(seen, exit),
            update => panic!("{update:?}"),
        }
    }
    assert_eq!(seen, b"x");
    keeper.forget(id).await.expect("the keeper held it");
    // A reaper ends a moment after its program; once the keeper does not list the session, it was waited for.
    while !keeper.list().await.expect("the keeper answers").is_empty() {
        tokio::task::yield_now().await;
    }
}

fn descriptors(process: u32) -> usize {
    let path = format!("/proc/{process}/fd");
    fs::read_dir(path).map_or(0, Iterator::count)
}

/// Children of a process, zombies included.
fn children(process: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("/proc is mounted");
    tasks
        .map(|task| {
            fs::read_to_string(task.expect("a task can be listed").path().join("children"))
                .unwrap_or_default()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_programs_leave_every_byte_and_code_and_no_zombie_and_no_descriptor() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let options = KeeperOptions {
        socket: folder.path().join("keeper.sock"),
        program: std::env::current_exe().expect("/proc is mounted"),
        arguments: ["--exact", "keeper_process", "--ignored"]
            .map(Into::into)
            .to_vec(),
    };
    let all = async {
        let keeper = Keeper::connect_or_start(&options)
            .await
            .expect("it can be started");
        let processes = [std::process::id(), keeper.process_id()];
        run_once(&keeper).await;
        let before = processes.map(descriptors);
        for _ in 0..100 {
            run_once(&keeper).await;
            assert_eq!(processes.map(children), ["", ""]);
        }
        assert_eq!(processes.map(descriptors), before);
    };
    tokio::time::timeout(Duration::from_secs(120), all)
        .await
        .expect("it is done within two minutes");
}
