//! A session leaves nothing behind. One test alone in its process, so that it can count.

use std::fs;
use std::time::Duration;

use terminal::{Command, Mode, Options, Session, Size, Start, Update};

async fn run_once() {
    let command = Command {
        program: "sh".into(),
        args: vec!["-c".into(), "printf x; exit 7".into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        size: Size::default(),
        descriptor_limit: None,
    };
    let session = Session::spawn(command, Options::default())
        .await
        .expect("sh can be started");
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
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc is mounted").count()
}

/// Children of this process, zombies included.
fn children() -> String {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc is mounted");
    tasks
        .map(|task| {
            fs::read_to_string(task.expect("a task can be listed").path().join("children"))
                .unwrap_or_default()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_programs_leave_every_byte_and_code_and_no_zombie_and_no_descriptor() {
    let all = async {
        run_once().await;
        let before = descriptors();
        for _ in 0..100 {
            run_once().await;
            assert_eq!(children(), "");
        }
        assert_eq!(descriptors(), before);
    };
    tokio::time::timeout(Duration::from_secs(120), all)
        .await
        .expect("it is done within two minutes");
}
