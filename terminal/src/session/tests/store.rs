//! What a session keeps on disk.

use tempfile::TempDir;

use super::super::{Options, Output};
use super::{Mode, Offset, Session, Start, exit, read_to_end, shell, soon};
use crate::checkpoint::Checkpoint;
use crate::keeper;
use crate::tail::stored_bytes;

/// A session that keeps little in memory and everything on disk.
async fn run(script: &str, directory: &TempDir) -> Session {
    let options = Options {
        scrollback_memory: 0,
        directory: Some(directory.path().into()),
        ..Options::default()
    };
    keeper::tests::run_with(shell(script), options).await.unwrap()
}

/// Numbers, as many at a time as the disk certainly keeps up with.
async fn numbers(directory: &TempDir) -> (Session, String) {
    let session = run("for i in 1 2 3 4 5 6; do seq 1 60000; read line; done", directory).await;
    let writer = session.writer(std::sync::Arc::new(super::Right::default()));
    let block: String = (1..=60_000).map(|number| format!("{number}\r\n")).collect();
    let mut expected = String::new();
    for _ in 1..=6 {
        expected += &block;
        while session.end() < Offset(expected.len() as u64) || !is_on_disk(&session) {
            tokio::task::yield_now().await;
        }
        soon(writer.write(b"\n")).await.unwrap();
        // Its echo.
        expected += "\r\n";
    }
    exit(&session).await;
    (session, expected)
}

fn is_on_disk(session: &Session) -> bool {
    let store = session.shared.store.as_ref().unwrap();
    store
        .tail
        .bounds()
        .unwrap()
        .is_some_and(|(_, end)| end >= session.end())
}

async fn output(session: &Session, from: u64, limit: usize) -> Output {
    soon(session.output(Offset(from), limit)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_byte_is_read_wherever_it_is() {
    let directory = TempDir::new().unwrap();
    let (session, expected) = numbers(&directory).await;
    assert!(session.start() > Offset(500_000), "the journal has only the rest");
    let all = output(&session, 0, usize::MAX).await;
    assert!(all.bytes == expected.as_bytes());
    assert_eq!(
        (all.offset, all.next_offset, all.truncated),
        (Offset(0), session.end(), false)
    );
    let some = output(&session, 12_345, 1_000_000).await;
    assert!(some.bytes == expected.as_bytes()[12_345..1_012_345]);
    let none = output(&session, u64::MAX, 10).await;
    assert_eq!(
        (none.bytes.len(), none.offset, none.end),
        (0, session.end(), session.end())
    );
    let lossless = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert!(lossless == expected.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_gone_is_said_to_be() {
    let session = keeper::tests::run_with(
        shell("seq 1 300000"),
        Options {
            scrollback_memory: 0,
            ..Options::default()
        },
    );
    let session = session.await.unwrap();
    exit(&session).await;
    let rest = output(&session, 10, 100).await;
    assert_eq!(
        (rest.offset, rest.truncated, rest.bytes.len()),
        (session.start(), true, 100)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_session_has_output_and_screen_on_disk_when_it_is_settled() {
    let directory = TempDir::new().unwrap();
    let session = run("printf 'one\r\ntwo'", &directory).await;
    soon(session.settled()).await;
    assert!(session.state().borrow().exit().is_some());
    assert!(is_on_disk(&session));
    let checkpoint = Checkpoint::last(directory.path(), session.end(), |_| Ok(false))
        .unwrap()
        .unwrap();
    assert_eq!(checkpoint.ground, session.end());
    assert!(stored_bytes(directory.path()).unwrap() > 60);
    let mode = std::fs::metadata(directory.path().join("checkpoint"))
        .unwrap()
        .permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
}

#[tokio::test]
async fn an_ended_session_without_a_disk_is_settled_too() {
    let session = super::run("printf x").await;
    soon(session.settled()).await;
    assert!(session.state().borrow().exit().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_takes_nothing_stops_nobody() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let options = Options {
        directory: Some(file.join("session")),
        ..Options::default()
    };
    let session = keeper::tests::run_with(shell("seq 1 50000"), options)
        .await
        .unwrap();
    soon(session.settled()).await;
    let all = output(&session, 0, usize::MAX).await;
    assert!(all.bytes.ends_with(b"\n50000\r\n") && !all.truncated);
}
