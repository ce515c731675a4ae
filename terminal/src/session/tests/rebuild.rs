//! Taking over a session that an earlier process had drawn.

use std::sync::Mutex;

use proptest::prelude::any;
use proptest::proptest;
use tempfile::TempDir;

use super::super::Options;
use super::{Mode, Offset, Session, Size, Start, Update, read_until, shell, soon};
use crate::checkpoint::Checkpoint;
use crate::journal::{Journal, UnixMs};
use crate::keeper::{self, Held};
use crate::said::{Said, Word};
use crate::screen::{Emulator, Screen};
use crate::tail::Tail;

const ALL: Offset = Offset(u64::MAX);

/// A program under a journal that an earlier process wrote.
async fn adopt(script: &str, journal: Journal, directory: Option<&TempDir>) -> Session {
    let held = keeper::tests::hold(shell(script), 0).await.unwrap();
    let options = Options {
        directory: directory.map(|directory| directory.path().into()),
        ..Options::default()
    };
    Session::adopt(Held { journal, ..held }, options).unwrap()
}

fn journal() -> Journal {
    Journal::create(1 << 20, Size::new(40, 10), UnixMs::now()).unwrap()
}

#[tokio::test]
async fn what_was_written_before_is_served_before_the_screen_is_drawn() {
    let mut journal = journal();
    journal.append(0, b"before ", ALL);
    let session = adopt("read line; echo got $line; read line", journal, None).await;
    let before = soon(session.output(Offset(0), 7)).await.unwrap();
    assert_eq!(before.bytes, b"before ");
    let mut attachment = session.attach(Mode::Lossless, Start::Offset(Offset(7)));
    let writer = session.writer(std::sync::Arc::new(super::Right::default()));
    soon(writer.write(b"it\n")).await.unwrap();
    read_until(&mut attachment, "got it").await;
    soon(session.rebuilt()).await;
    let mut changes = session.changes();
    while session.text_lines()[1] != "got it" {
        soon(changes.changed()).await;
    }
    assert_eq!(session.text_lines()[0], "before it");
    session.stop().await;
}

#[tokio::test]
async fn who_typed_as_the_daemon_ended_is_told_that_it_is_not_known_what_was_taken() {
    let (journal, sure, unsure) = (journal(), [1; 16], [2; 16]);
    journal.set_applied(sure, 3 << 24, 0);
    journal.set_applying(unsure, 5 << 24, 0);
    let session = adopt(
        "stty -echo; printf ready; read line; printf %s \"$line\"",
        journal,
        None,
    )
    .await;
    let mut attachment = session.attach(Mode::Lossless, Start::Offset(Offset(0)));
    read_until(&mut attachment, "ready").await;
    assert_eq!(session.input_applied(sure), Some(3));
    assert_eq!(session.input_applied(unsure), None);
    assert_eq!(
        session.input_applied(unsure),
        None,
        "the first answer may have been lost"
    );
    let writer = session.writer_of(std::sync::Arc::new(super::Right::default()), unsure);
    for (sequence, bytes) in [(5, b"again"), (6, b"later"), (7, b"line\n")] {
        let input = writer.take_in(sequence, bytes.to_vec()).unwrap().unwrap();
        soon(writer.queue(&input)).await.unwrap();
    }
    let mut attachment = session.attach(Mode::Lossless, Start::Offset(Offset(0)));
    read_until(&mut attachment, "laterline").await;
    assert_eq!(
        session.end(),
        Offset(14),
        "what may have been taken is not typed again"
    );
    assert_eq!(session.input_applied(unsure), Some(7));
    session.stop().await;
}

#[tokio::test]
async fn a_viewer_gets_the_screen_that_was_there() {
    let mut journal = journal();
    journal.append(0, b"\x1b[31mold\x1b[", ALL);
    journal.resize(1, Size::new(30, 5));
    journal.append(2, b"0m new", ALL);
    let session = adopt("read line", journal, None).await;
    let mut attachment = session.attach(Mode::View, Start::Screen);
    let Some(Update::Snapshot(snapshot)) = soon(attachment.next()).await else {
        panic!("the screen comes first")
    };
    assert_eq!((snapshot.size, snapshot.ground), (Size::new(30, 5), Offset(16)));
    let mut screen = Emulator::new(snapshot.size);
    screen.feed(&snapshot.bytes);
    assert_eq!(screen.text_lines()[0], "old new");
    session.stop().await;
}

#[tokio::test]
async fn nothing_goes_that_a_screen_has_not_seen_that_has_to_be_drawn_again() {
    let mut journal = journal();
    journal.append(0, b"\x1b[?1049h\x1b[?2004h", ALL);
    while journal.end() < Offset(900_000) {
        journal.append(0, &[b'x'; 10_000], ALL);
    }
    assert_eq!(journal.start(), Offset(0));
    let end = journal.end();
    let script = "stty -opost; head -c 1000000 /dev/zero | tr '\\0' y; printf end; read line";
    let session = adopt(script, journal, None).await;
    // Nobody asks for its screen.
    let mut attachment = session.attach(Mode::Lossless, Start::Offset(end));
    read_until(&mut attachment, "end").await;
    soon(session.rebuilt()).await;
    soon(session.drawn()).await;
    session.look(|screen| {
        assert!(screen.is_alternate());
        assert!(screen.wants_bracketed_paste());
    });
    session.stop().await;
}

#[tokio::test]
async fn questions_are_answered_if_they_were_not_before() {
    let mut journal = journal();
    // Two that were answered, the second inside of a synchronized update that was shown when it took too long; then
    // one that came while nobody was there.
    journal.append(0, b"\x1b[6n\x1b[?2026h ab\x1b[6n", ALL);
    journal.set_answered(journal.end());
    journal.append(1, b"c\x1b[?2026l\x1b[6n", ALL);
    let script = "stty raw -echo; dd bs=1 count=6 2>/dev/null | od -An -c; echo done; read line";
    let session = adopt(script, journal, None).await;
    // Nobody asks for its screen.
    let mut attachment = session.attach(Mode::Lossless, Start::Offset(Offset(0)));
    let seen = read_until(&mut attachment, "done").await;
    assert!(seen.contains("033   [   1   ;   5   R"), "{seen}");
    session.stop().await;
}

#[tokio::test]
async fn a_screen_goes_on_from_its_checkpoint() {
    let directory = TempDir::new().unwrap();
    let mut journal = journal();
    journal.append(0, b"this is not drawn again", ALL);
    let checkpoint = Checkpoint {
        ground: journal.end(),
        sizes: 0,
        size: Size::new(40, 10),
        first_size: Size::new(40, 10),
        numbering: None,
        is_whole: true,
        bytes: b"kept\x1b[?2004h".to_vec(),
    };
    checkpoint.write(directory.path()).unwrap();
    journal.append(1, b" and more", ALL);
    let session = adopt("read line", journal, Some(&directory)).await;
    soon(session.rebuilt()).await;
    assert_eq!(session.text_lines()[0], "kept and more");
    session.stop().await;
}

#[tokio::test]
async fn lines_keep_their_numbers_and_the_last_command_its_output() {
    let directory = TempDir::new().unwrap();
    let mut journal = journal();
    let mut screen = Emulator::new(Size::new(40, 10));
    let mut text: String = (0..5_000).map(|line| format!("line {line}\r\n")).collect();
    text += "\x1b]133;C\x07one\r\ntwo\r\n";
    screen.feed(text.as_bytes());
    // What was written before is gone.
    journal.append(0, text.as_bytes(), ALL);
    let checkpoint = Checkpoint {
        ground: journal.end(),
        sizes: 0,
        size: Size::new(40, 10),
        first_size: Size::new(40, 10),
        numbering: Some(screen.numbering()),
        is_whole: true,
        bytes: screen.checkpoint(2_000, usize::MAX),
    };
    checkpoint.write(directory.path()).unwrap();
    let more: String = (0..50).map(|line| format!("more {line}\r\n")).collect();
    screen.feed(more.as_bytes());
    journal.append(1, more.as_bytes(), ALL);
    let session = adopt("read line", journal, Some(&directory)).await;
    soon(session.rebuilt()).await;
    session.look(|rebuilt| {
        assert_eq!(rebuilt.history().end, screen.history().end);
        assert_eq!(rebuilt.lines(4_000..9_999), screen.lines(4_000..9_999));
        assert_eq!(rebuilt.last_command(), screen.last_command());
        assert_eq!(rebuilt.last_command().unwrap()[0].text, "one");
    });
    session.stop().await;
}

/// What an earlier process left that was killed in a flood: a checkpoint with scrollback of before it, a later one without, and
/// all records on disk, of which the journal has the last. With the screen that was there.
fn flooded(directory: &TempDir, flood: impl Fn(u32) -> String) -> (Journal, Emulator) {
    let journal = Mutex::new(journal());
    let tail = Tail::new(directory.path().into(), u64::MAX);
    let mut screen = Emulator::new(Size::new(40, 10));
    let write = |screen: &mut Emulator, text: &str| {
        screen.feed(text.as_bytes());
        journal.lock().unwrap().append(0, text.as_bytes(), ALL);
        while tail.write(&journal, true, &mut Vec::new()).unwrap() {}
        journal.lock().unwrap().end()
    };
    let keep = |screen: &mut Emulator, ground, is_whole| {
        let checkpoint = Checkpoint {
            ground,
            sizes: 0,
            size: screen.size(),
            first_size: screen.size(),
            numbering: Some(screen.numbering()),
            is_whole,
            bytes: screen.checkpoint(if is_whole { 2_000 } else { 0 }, usize::MAX),
        };
        checkpoint.write(directory.path()).unwrap();
    };
    let before: String = (0..3_000).map(|line| format!("line {line}\r\n")).collect();
    let ground = write(&mut screen, &before);
    keep(&mut screen, ground, true);
    for turn in 0..300 {
        let ground = write(&mut screen, &flood(turn));
        if turn == 270 {
            keep(&mut screen, ground, false);
        }
    }
    let journal = journal.into_inner().unwrap();
    assert!(
        journal.start() > Offset(before.len() as u64),
        "the journal has only the rest"
    );
    (journal, screen)
}

#[tokio::test]
async fn scrollback_outlives_a_daemon_that_is_killed_in_a_flood() {
    let floods: [fn(u32) -> String; 2] = [
        // Nothing of it scrolls.
        |turn| format!("\r{turn} {}", "\x1b[1m\x1b[0m".repeat(1_000)),
        |turn| format!("{turn} {}\r\n", "x".repeat(30)).repeat(200),
    ];
    for flood in floods {
        let directory = TempDir::new().unwrap();
        let (journal, screen) = flooded(&directory, flood);
        let session = adopt("read line", journal, Some(&directory)).await;
        soon(session.rebuilt()).await;
        session.look(|rebuilt| {
            assert_eq!(rebuilt.history().end, screen.history().end);
            let start = rebuilt.history().start.max(screen.history().start);
            assert!(rebuilt.history().end - start >= 2_000);
            assert_eq!(rebuilt.lines(start..u64::MAX), screen.lines(start..u64::MAX));
        });
        session.stop().await;
    }
}

#[tokio::test]
async fn a_screen_whose_scrollback_cannot_be_drawn_again_is_right_itself() {
    let directory = TempDir::new().unwrap();
    let (journal, screen) = flooded(&directory, |turn| {
        format!("{turn} {}\r\n", "x".repeat(30)).repeat(200)
    });
    let oldest = directory.path().join(format!("{:020}.seg", 0));
    std::fs::remove_file(oldest).unwrap();
    let session = adopt("read line", journal, Some(&directory)).await;
    soon(session.rebuilt()).await;
    session.look(|rebuilt| {
        let lines = rebuilt.lines(0..u64::MAX);
        assert_eq!(lines, screen.lines(lines[0].number..u64::MAX));
    });
    session.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrollback_is_kept_again_and_again_under_a_flood() {
    let directory = TempDir::new().unwrap();
    let options = Options {
        directory: Some(directory.path().into()),
        ..Options::default()
    };
    let session = keeper::tests::run_with(shell("seq 1 1000000000"), options)
        .await
        .unwrap();
    let mut changes = session.changes();
    let is_kept = |from| {
        let last = Checkpoint::last(directory.path(), session.end(), |_| Ok(true)).unwrap();
        last.is_some_and(|last| last.is_whole && last.ground > Offset(from))
    };
    while !is_kept(10 << 20) {
        soon(changes.changed()).await;
    }
    session.kill().await;
}

#[tokio::test]
async fn a_screen_whose_records_are_gone_goes_on_from_the_oldest() {
    let directory = TempDir::new().unwrap();
    let mut journal = journal();
    let checkpoint = Checkpoint {
        ground: Offset(0),
        sizes: 0,
        size: Size::new(40, 10),
        first_size: Size::new(40, 10),
        numbering: None,
        is_whole: true,
        bytes: b"\x1b[?2004hkept".to_vec(),
    };
    checkpoint.write(directory.path()).unwrap();
    while journal.start() == Offset(0) {
        journal.append(0, &[b'x'; 10_000], ALL);
    }
    journal.append(0, b"\x1b[H\x1b[Jclear", ALL);
    let session = adopt("read line", journal, Some(&directory)).await;
    soon(session.rebuilt()).await;
    assert_eq!(session.text_lines()[0], "clear");
    let snapshot = String::from_utf8(session.snapshot().bytes).unwrap();
    assert!(snapshot.contains("\x1b[?2004h"), "the modes stay");
    session.stop().await;
}

#[tokio::test]
async fn a_screen_has_the_size_whose_record_is_gone() {
    let mut journal = journal();
    journal.append(0, b"x", ALL);
    journal.resize(1, Size::new(20, 5));
    while journal.start() <= Offset(1) {
        journal.append(2, &[b'x'; 10_000], ALL);
    }
    journal.append(3, b"\x1b[H\x1b[Jlong enough to be wrapped", ALL);
    let session = adopt("read line", journal, None).await;
    soon(session.rebuilt()).await;
    assert_eq!(session.snapshot().size, Size::new(20, 5));
    assert_eq!(session.text_lines()[..2], ["long enough to be wr", "apped"]);
    let mut viewer = session.attach(Mode::View, Start::Screen);
    assert!(matches!(soon(viewer.next()).await, Some(Update::Snapshot(_))));
    session.resize(Size::new(30, 6));
    assert!(matches!(soon(viewer.next()).await, Some(Update::Size { .. })));
    session.stop().await;
}

#[tokio::test]
async fn what_was_heard_is_not_heard_again_and_what_was_not_counts_from_its_own_time() {
    let call = |text| format!("\x1b]9;{text}\x07");
    let calls = |at, text: &str| Some((at, Word::Calls(Some(text.to_owned()))));
    // Answered before the daemon ended: its last word is none.
    let mut journal = journal();
    journal.append(10, call("old").as_bytes(), ALL);
    journal.set_said(journal.end(), &Said::default());
    let session = adopt("read line", journal, None).await;
    soon(session.rebuilt()).await;
    assert_eq!(session.said().word, None);
    session.stop().await;
    // Another one came while no daemon was there, and was followed by words of no call.
    let mut journal = self::journal();
    journal.append(10, call("old").as_bytes(), ALL);
    journal.set_said(journal.end(), &Said::default());
    journal.append(20, call("new").as_bytes(), ALL);
    journal.append(30_000, b"and more", ALL);
    let session = adopt("read line", journal, None).await;
    soon(session.rebuilt()).await;
    assert_eq!(session.said().word, calls(20, "new"));
    assert_eq!(session.worked(), Some((30_000, 30_000)));
    session.typed();
    assert_eq!(session.said().word, None);
    assert_eq!(session.shared.journal().said().1, Said::default());
    session.stop().await;
}

#[tokio::test]
async fn what_stands_in_an_update_that_was_heard_in_part_is_heard_once() {
    let mut journal = journal();
    // The update was shown when it took too long, and then it ended.
    journal.append(10, b"\x1b[?2026h\x1b]9;one\x07", ALL);
    let one = Some((10, Word::Calls(Some("one".into()))));
    let said = Said {
        word: one.clone(),
        has_marks: false,
    };
    journal.set_said(journal.end(), &said);
    journal.append(20, b"\x1b[?2026l plain", ALL);
    let session = adopt("read line", journal, None).await;
    assert_eq!(session.said().word, one, "also before anything is drawn");
    soon(session.rebuilt()).await;
    assert_eq!(session.said().word, one);
    session.stop().await;
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 24, ..Default::default() })]
    #[test]
    fn a_rebuilt_screen_is_the_one_that_was_there(
        seed in any::<u64>(),
        length in 1_usize..60,
        cut in 0_usize..60,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (rebuilt, expected) = runtime.block_on(rebuild(seed, length, cut));
        proptest::prop_assert!(rebuilt == expected, "{} is not {}", text(&rebuilt), text(&expected));
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// A session of some pieces of output and sizes with a checkpoint somewhere among them: its screen, and the one
/// that was never interrupted.
async fn rebuild(seed: u64, length: usize, cut: usize) -> (Vec<u8>, Vec<u8>) {
    let directory = TempDir::new().unwrap();
    let mut journal = journal();
    let mut screen = Emulator::new(Size::new(40, 10));
    let mut random = seed;
    let mut sizes = 0;
    for step in 0..length {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // A drawing does not say which lines were wrapped by themselves in all cases, so after it the size stays.
        let kinds = PIECES.len() + usize::from(step <= cut || cut >= length);
        let index = (random >> 33) as usize % kinds;
        if let Some(piece) = PIECES.get(index) {
            journal.append(step as u64, piece.as_bytes(), ALL);
            screen.feed(piece.as_bytes());
        } else {
            let size = Size::new(20 + (random >> 50) as u16 % 30, 3 + (random >> 45) as u16 % 10);
            journal.resize(step as u64, size);
            screen.resize(size);
            sizes += 1;
        }
        if step == cut {
            let ground = journal.end().minus(screen.pending());
            let size = screen.size();
            let numbering = Some(screen.numbering());
            let bytes = screen.checkpoint(2_000, usize::MAX);
            Checkpoint {
                ground,
                sizes,
                size,
                first_size: size,
                numbering,
                is_whole: true,
                bytes,
            }
            .write(directory.path())
            .unwrap();
        }
    }
    let session = adopt("read line", journal, Some(&directory)).await;
    soon(session.rebuilt()).await;
    let rebuilt = session.snapshot().bytes;
    session.stop().await;
    (rebuilt, screen.snapshot())
}

const PIECES: &[&str] = &[
    "plain text ",
    "\r\n",
    "\x1b[1;31mbold red",
    "\x1b[0m",
    "\x1b[5;5H",
    "\x1b[2;7r",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?25l",
    "\x1b]0;a ti",
    "tle\x07",
    "\x1b[3",
    "4m",
    "\x1b[L",
    "漢字 wide",
    "e\u{301}",
    "\x1b[?7l",
    "\x1b[K",
    "a longer line of text that has to wrap somewhere, in whatever width the terminal has by then\n",
];
