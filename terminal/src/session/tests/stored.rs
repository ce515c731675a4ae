//! Sessions served from the disk, and recordings.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode as FileMode};
use tempfile::TempDir;

use super::super::{Ended, Event, Options};
use super::{Mode, Offset, Session, Size, Start, Update, exit, read_to_end, read_until, shell, soon};
use crate::checkpoint::Checkpoint;
use crate::journal::UnixMs;
use crate::keeper;

/// A session that ended and was settled, as another process would find it, and what it wrote.
async fn stored(script: &str, directory: &TempDir) -> (Session, Vec<u8>) {
    let options = Options {
        directory: Some(directory.path().into()),
        ..Options::default()
    };
    let session = keeper::tests::run_with(shell(script), options).await.unwrap();
    let written = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    soon(session.settled()).await;
    let ended = Ended {
        exit: Some(exit(&session).await),
        end: session.end(),
        size: session.size(),
        began: session.began(),
    };
    let stored = Session::stored(directory.path().into(), ended).unwrap();
    assert_eq!(
        stored.text_lines().concat(),
        "",
        "nothing is drawn before somebody asks"
    );
    (stored, written)
}

#[tokio::test]
async fn an_ended_session_has_its_output_its_screen_and_its_end() {
    let directory = TempDir::new().unwrap();
    let (session, written) = stored(r"printf '\033]0;title\007'; seq 1 2000; exit 7", &directory).await;
    soon(session.settled()).await;
    assert_eq!(exit(&session).await.code, Some(7));
    let output = soon(session.output(Offset(0), usize::MAX)).await.unwrap();
    assert!(output.bytes == written && !output.truncated);
    soon(session.rebuilt()).await;
    assert_eq!(
        (session.title(), session.last_line()),
        ("title".into(), "2000".into())
    );
    let mut attachment = session.attach(Mode::View, Start::Screen);
    assert!(matches!(soon(attachment.next()).await, Some(Update::Snapshot(_))));
    assert!(matches!(soon(attachment.next()).await, Some(Update::Exit(_))));
    let lossless = read_to_end(session.attach(Mode::Lossless, Start::Screen)).await;
    assert!(lossless == written);
    session.stop().await;
    assert!(!session.resize(Size::new(1, 1)));
    assert_eq!(session.process_id(), None);
}

#[tokio::test]
async fn an_ended_session_whose_directory_is_gone_says_so() {
    let directory = TempDir::new().unwrap();
    let (session, written) = stored("printf gone", &directory).await;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let output = soon(session.output(Offset(0), 10)).await.unwrap();
    let end = Offset(written.len() as u64);
    assert_eq!(
        (output.bytes.len(), output.offset, output.truncated),
        (0, end, true)
    );
    soon(session.rebuilt()).await;
    assert_eq!(session.text_lines().concat(), "");
}

#[tokio::test]
async fn a_screen_whose_records_are_gone_has_the_last_size() {
    let directory = TempDir::new().unwrap();
    let ended = Ended {
        exit: None,
        end: Offset(10),
        size: Size::new(20, 5),
        began: UnixMs::now(),
    };
    let checkpoint = Checkpoint {
        ground: Offset(4),
        sizes: 0,
        size: Size::new(40, 10),
        first_size: Size::new(40, 10),
        numbering: None,
        is_whole: true,
        bytes: b"kept".to_vec(),
    };
    checkpoint.write(directory.path()).unwrap();
    let session = Session::stored(directory.path().into(), ended).unwrap();
    soon(session.rebuilt()).await;
    assert_eq!(session.snapshot().size, Size::new(20, 5));
    assert_eq!(session.last_line(), "kept");
}

/// The only segment of a session's directory.
fn segment(directory: &TempDir) -> PathBuf {
    directory.path().join(format!("{:020}.seg", 0))
}

/// Has the next read of the segment fail, from here on, and those after it succeed; what comes back ends when that one has begun.
fn fail_once(directory: &TempDir) -> impl Future<Output = ()> {
    let (path, aside) = (segment(directory), directory.path().join("aside"));
    std::fs::rename(&path, &aside).unwrap();
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, FileMode::RUSR | FileMode::WUSR, 0).unwrap();
    let failed = tokio::task::spawn_blocking(move || {
        // Opened as soon as somebody reads, and closed without a byte.
        let pipe = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::fs::rename(&aside, &path).unwrap();
        drop(pipe);
    });
    async { soon(failed).await.unwrap() }
}

#[tokio::test]
async fn a_screen_is_drawn_from_records_that_could_not_be_read_at_first() {
    let directory = TempDir::new().unwrap();
    let (session, _) = stored("seq 1 2000", &directory).await;
    std::fs::remove_file(directory.path().join("checkpoint")).unwrap();
    soon(session.output(Offset(0), 1)).await.unwrap();
    let failing = fail_once(&directory);
    tokio::join!(soon(session.rebuilt()), failing);
    assert_eq!(session.last_line(), "2000");
}

#[tokio::test]
async fn a_lossless_reader_gets_what_could_not_be_read_at_first() {
    let directory = TempDir::new().unwrap();
    let (session, written) = stored("seq 1 2000", &directory).await;
    soon(session.output(Offset(0), 1)).await.unwrap();
    let failing = fail_once(&directory);
    let reading = read_to_end(session.attach(Mode::Lossless, Start::Screen));
    let (read, ()) = tokio::join!(reading, failing);
    assert!(read == written, "{} bytes", read.len());
}

#[tokio::test]
async fn output_that_cannot_be_read_is_an_error_and_not_gone() {
    let directory = TempDir::new().unwrap();
    let (session, written) = stored("seq 1 2000", &directory).await;
    soon(session.output(Offset(0), 1)).await.unwrap();
    let failing = fail_once(&directory);
    let (output, ()) = tokio::join!(session.output(Offset(0), usize::MAX), failing);
    assert!(output.is_err(), "{output:?}");
    let again = soon(session.output(Offset(0), usize::MAX)).await.unwrap();
    assert!(again.bytes == written && !again.truncated);
}

#[tokio::test]
async fn an_ended_session_that_nobody_looks_at_goes_with_its_last_handle() {
    let directory = TempDir::new().unwrap();
    let (session, _) = stored("seq 1 2000", &directory).await;
    soon(session.output(Offset(0), usize::MAX)).await.unwrap();
    let shared = Arc::downgrade(&session.shared);
    drop(session);
    assert!(shared.upgrade().is_none());
}

#[tokio::test]
async fn a_recording_has_every_byte_and_size_with_its_time() {
    let directory = TempDir::new().unwrap();
    let options = Options {
        scrollback_memory: 0,
        directory: Some(directory.path().into()),
        ..Options::default()
    };
    let session = keeper::tests::run_with(shell("echo first; read a; seq 1 250000; read b"), options)
        .await
        .unwrap();
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "first").await;
    session.resize(Size::new(50, 5));
    let writer = session.writer(std::sync::Arc::new(super::Right::default()));
    soon(writer.write(b"\n\n")).await.unwrap();
    let written = exit_with_all(&session).await;
    assert_eq!(soon(session.first_size()).await, Size::new(40, 10));
    let (mut bytes, mut sizes, mut time) = (Vec::new(), Vec::new(), 0);
    let mut recording = session.recording();
    while let Some(record) = soon(recording.next()).await.unwrap() {
        assert!(record.time_ms >= time, "time goes on");
        time = record.time_ms;
        match record.event {
            Event::Output(more) => {
                assert_eq!(record.offset, Offset(bytes.len() as u64));
                bytes.extend(more);
            }
            Event::Size(size) => sizes.push((record.offset, size)),
        }
    }
    assert!(bytes == written);
    assert_eq!(sizes, [(Offset(7), Size::new(50, 5))]);
}

/// Waits for the end of a session and its disk; gives all it wrote.
async fn exit_with_all(session: &Session) -> Vec<u8> {
    soon(session.settled()).await;
    let output = soon(session.output(Offset(0), usize::MAX)).await.unwrap();
    assert!(!output.truncated && output.next_offset == output.end);
    output.bytes
}
