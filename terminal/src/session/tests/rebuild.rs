//! Taking over a session that an earlier process had drawn.

use proptest::prelude::any;
use proptest::proptest;
use tempfile::TempDir;

use super::super::Options;
use super::{Mode, Offset, Session, Size, Start, Update, read_until, shell, soon};
use crate::checkpoint::Checkpoint;
use crate::journal::{Journal, UnixMs};
use crate::keeper::{self, Held};
use crate::screen::{Emulator, Screen};

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
    let before = soon(session.output(Offset(0), 7)).await;
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

/// A session that wrote lines, was killed in the middle of a flood of `flood`, and was taken over again; with its scrollback.
async fn flooded(flood: &str, directory: &TempDir) -> (Session, Session) {
    let options = Options {
        scrollback_memory: 0,
        directory: Some(directory.path().into()),
        ..Options::default()
    };
    let script = format!("seq 1 3000; read line; {flood}; read line");
    let first = keeper::tests::run_with(shell(&script), options).await.unwrap();
    let mut attachment = first.attach(Mode::Lossless, Start::Offset(Offset(0)));
    read_until(&mut attachment, "\n3000\r\n").await;
    let writer = first.writer(std::sync::Arc::new(super::Right::default()));
    soon(writer.write(b"\n")).await.unwrap();
    read_until(&mut attachment, "over").await;
    // As the disk has it when the daemon is killed now: nothing is kept because of a pause.
    let killed = TempDir::new().unwrap();
    let store = first.shared.store.as_ref().unwrap();
    while !store.tail.holds(Offset(0), first.end()).unwrap() || !directory.path().join("screen").exists() {
        tokio::task::yield_now().await;
    }
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), killed.path().join(entry.file_name())).unwrap();
    }
    let ended = super::super::Ended {
        exit: None,
        end: first.end(),
        size: first.size(),
        began: first.began(),
    };
    let again = Session::stored(killed.keep(), ended).unwrap();
    (first, again)
}

fn assert_same_lines(first: &Session, again: &Session, least: usize) {
    let lines = |session: &Session| session.look(|screen| (screen.history(), screen.lines(0..u64::MAX)));
    let ((all, expected), (kept, lines)) = (lines(first), lines(again));
    assert_eq!(kept.end, all.end);
    assert!(lines.len() >= least, "{} lines", lines.len());
    let there = lines.len().min(expected.len());
    assert!(lines[lines.len() - there..] == expected[expected.len() - there..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrollback_outlives_a_daemon_that_is_killed_in_a_flood() {
    let directory = TempDir::new().unwrap();
    // Nothing of it scrolls.
    let flood = r#"perl -e 'print "\r$_ ", "x" x 20 for 1..100_000; print "over"'"#;
    let (first, again) = flooded(flood, &directory).await;
    soon(first.drawn()).await;
    soon(again.drawn()).await;
    assert_same_lines(&first, &again, 2_000);
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_flood_scrolled_off_outlives_the_daemon_too() {
    let directory = TempDir::new().unwrap();
    let (first, again) = flooded("seq 1 600000; echo over", &directory).await;
    soon(first.drawn()).await;
    soon(again.drawn()).await;
    assert_same_lines(&first, &again, 2_000);
    first.stop().await;
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
