//! Much output, and viewers who do not keep up.

use std::sync::Arc;
use std::time::Duration;

use super::{Attachment, Mode, Offset, Right, Start, Update, exit, read_to_end, read_until, run, soon};
use crate::screen::{Emulator, Screen};

/// Lines with a number, colours and wide characters.
fn mixed(lines: u32) -> String {
    format!(
        r#"perl -e 'for $i (1..{lines}) {{ printf "%08d \033[3%dm%s\033[0m \033[1;4mbold\033[0m 漢字 %s\n", $i, $i % 8, "x" x ($i % 40), "y" x ($i % 17) }}'"#
    )
}

/// Follows as a browser does: draws, acknowledges, and starts over with each snapshot.
async fn watch(mut attachment: Attachment, mut screen: Emulator) -> (Vec<String>, usize) {
    let mut snapshots = 0;
    let mut end = attachment.offset();
    while let Some(update) = soon(attachment.next()).await {
        match update {
            Update::Snapshot(snapshot) => {
                snapshots += 1;
                screen = Emulator::new(snapshot.size);
                screen.feed(&snapshot.bytes);
                attachment.acked(snapshot.ground);
                end = snapshot.ground;
            }
            Update::Output { offset, bytes } => {
                assert_eq!(offset, end, "nothing is lost, doubled or moved");
                end = offset.plus(bytes.len());
                screen.feed(&bytes);
                attachment.acked(end);
            }
            Update::Size { size, .. } => screen.resize(size),
            Update::Truncated { .. } | Update::Unreadable => panic!("a viewer gets a snapshot instead"),
            Update::Exit(_) => {}
        }
    }
    (screen.text_lines(), snapshots)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_that_stands_still_delays_nobody_and_costs_nothing() {
    let session = run(&mixed(285_000)).await;
    let fresh = || Emulator::new(session.size());
    let mut still = session.attach(Mode::View, Start::Offset(Offset::START));
    let watching = tokio::spawn(watch(session.attach(Mode::View, Start::Screen), fresh()));
    let mut received = 0;
    while received < 16 * 1024 {
        let Some(Update::Output { bytes, .. }) = soon(still.next()).await else {
            panic!("the window is open")
        };
        received += bytes.len();
    }
    assert!(
        tokio::time::timeout(Duration::ZERO, still.next()).await.is_err(),
        "nothing comes without a word"
    );
    assert_eq!(exit(&session).await.code, Some(0));
    assert!(session.end() > Offset(20_000_000));
    assert!(session.end().since(session.start()) <= 4 * 1024 * 1024);
    let (lines, _) = soon(watching).await.unwrap();
    assert!(lines[8].starts_with("00285000 "), "{lines:?}");
    still.acked(still.offset());
    assert_eq!(
        watch(still, fresh()).await,
        (lines.clone(), 1),
        "one snapshot instead of the backlog"
    );
    let mut changes = session.changes();
    while session.text_lines() != lines {
        soon(changes.changed()).await;
    }
}

#[tokio::test]
async fn a_lossless_reader_that_keeps_up_gets_every_byte() {
    let session = run("perl -e 'print pack(q(N), $_) for 1..100_000' | od -An -v -tx4 --endian=big").await;
    let seen = String::from_utf8(read_to_end(session.attach(Mode::Lossless, Start::Screen)).await).unwrap();
    let numbers = seen
        .split_ascii_whitespace()
        .map(|word| u32::from_str_radix(word, 16).unwrap());
    assert!(numbers.eq(1..=100_000));
}

#[tokio::test]
async fn a_lossless_reader_that_falls_off_is_told_what_is_missing() {
    let session = run("yes | head -c 6000000").await;
    exit(&session).await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    let Some(Update::Truncated { from, to }) = soon(attachment.next()).await else {
        panic!("the start is gone")
    };
    assert_eq!((from, to), (Offset::START, session.start()));
    let Some(Update::Output { offset, .. }) = soon(attachment.next()).await else {
        panic!("then comes the rest")
    };
    assert_eq!(offset, to);
}

#[tokio::test]
async fn dropping_a_waiting_future_loses_nothing() {
    let session = run(&mixed(500)).await;
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    let mut seen = Vec::new();
    loop {
        // The timer is due at once: most of these futures are dropped.
        let next = tokio::time::timeout(Duration::ZERO, attachment.next()).await;
        match next {
            Err(_) => tokio::task::yield_now().await,
            Ok(None) => break,
            Ok(Some(Update::Output { bytes, .. })) => {
                seen.extend(bytes);
                attachment.acked(attachment.offset());
            }
            Ok(Some(_)) => {}
        }
    }
    let lines = String::from_utf8(seen).unwrap();
    let numbers = lines.lines().map(|line| line[..8].parse::<u32>().unwrap());
    assert!(numbers.eq(1..=500));
}

#[tokio::test]
async fn a_program_that_floods_and_then_asks_is_answered_each_time() {
    let session =
        run("stty -echo; echo asks; while read n && [ $n -gt 0 ]; do seq $n; echo done $n; done").await;
    let writer = session.writer(Arc::new(Right::default()));
    let mut attachment = session.attach(Mode::Lossless, Start::Screen);
    read_until(&mut attachment, "asks\r\n").await;
    for lines in [200_000_u32, 1, 150_000, 2] {
        writer.write(format!("{lines}\n").as_bytes()).await.unwrap();
        let seen = read_until(&mut attachment, &format!("done {lines}\r\n")).await;
        let numbers = seen.lines().filter_map(|line| line.parse::<u32>().ok());
        assert!(numbers.eq(1..=lines), "each line once and in order");
        soon(session.drawn()).await;
        let last = format!("done {lines}");
        assert!(session.text_lines().contains(&last), "the screen shows the end");
    }
    writer.write(b"0\n").await.unwrap();
    assert_eq!(exit(&session).await.code, Some(0));
}

#[tokio::test]
async fn a_program_that_ends_while_another_floods_its_terminal_has_ended() {
    let session = run("yes & read line; exit 7").await;
    let mut changes = session.changes();
    while session.end() < Offset(1_000_000) {
        soon(changes.changed()).await;
    }
    session
        .writer(Arc::new(Right::default()))
        .write(b"\n")
        .await
        .unwrap();
    assert_eq!(exit(&session).await.code, Some(7));
    session.stop().await;
}
