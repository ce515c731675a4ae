//! Snapshots draw the same state, whatever was written and wherever it was cut.

use proptest::prelude::proptest;
use proptest::{prop_assert, prop_assert_eq};

use super::{Emulator, Screen};
use crate::size::Size;
use state::State;
use streams::{hostile, lines, plain_lines, shown, sizes, streams, usual_sizes};

mod alacritty;
mod oracle;
mod recordings;
mod state;
mod streams;

fn screen(size: Size, output: &[u8]) -> Emulator {
    let mut screen = Emulator::new(size);
    screen.feed(output);
    screen
}

/// Feeds `output` in two parts; a second terminal starts from the snapshot between them.
fn assert_goes_on(size: Size, output: &[u8], cut: usize) -> Result<(), proptest::test_runner::TestCaseError> {
    let (before, after) = output.split_at(cut.min(output.len()));
    let mut original = screen(size, before);
    let ground = before.len() - original.pending();
    let snapshot = original.snapshot();
    let mut copy = screen(size, &snapshot);
    copy.feed(&before[ground..]);
    prop_assert_eq!(
        State::of(&original.terminal),
        State::of(&copy.terminal),
        "at the cut: {:?}",
        shown(&snapshot)
    );
    original.feed(after);
    copy.feed(after);
    let (original, copy) = (
        State::of(&original.terminal).without_wraps(),
        State::of(&copy.terminal).without_wraps(),
    );
    prop_assert_eq!(original, copy, "at the end: {:?}", shown(&snapshot));
    Ok(())
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 300, ..Default::default() })]

    #[test]
    fn a_snapshot_goes_on_as_the_terminal_does(size in sizes(), output in streams(), cut in 0..400_usize) {
        assert_goes_on(size, &output, cut)?;
    }

    #[test]
    fn a_snapshot_changes_nothing(size in sizes(), output in streams(), cut in 0..400_usize) {
        let (before, after) = output.split_at(cut.min(output.len()));
        let mut watched = screen(size, before);
        let mut alone = screen(size, before);
        watched.snapshot();
        watched.draw(Size::new(3, 2));
        watched.feed(after);
        alone.feed(after);
        prop_assert_eq!(State::of(&watched.terminal), State::of(&alone.terminal));
    }

    #[test]
    fn a_cut_changes_nothing(size in sizes(), output in streams(), cut in 0..400_usize) {
        let cut = cut.min(output.len());
        let whole = screen(size, &output);
        let mut parts = screen(size, &output[..cut]);
        output[cut..].iter().for_each(|byte| parts.feed(&[*byte]));
        prop_assert_eq!(State::of(&whole.terminal), State::of(&parts.terminal));
    }

    #[test]
    fn lines_that_pass_are_drawn_as_one_by_one(
        size in sizes(),
        parts in proptest::collection::vec((lines(), plain_lines()), 1..4),
        step in 1..200_usize,
        last in streams(),
    ) {
        let mut output: Vec<u8> = parts.into_iter().flat_map(|(lines, plain)| [lines, plain].concat()).collect();
        output.extend_from_slice(&last);
        let at_once = screen(size, &output);
        let mut one_by_one = Emulator::new(size);
        output.chunks(step).for_each(|piece| one_by_one.feed(piece));
        prop_assert_eq!(at_once.history(), one_by_one.history());
        prop_assert_eq!(at_once.lines(0..u64::MAX), one_by_one.lines(0..u64::MAX));
        prop_assert_eq!(at_once.terminal.repeatable(), one_by_one.terminal.repeatable());
        prop_assert_eq!(State::of(&at_once.terminal), State::of(&one_by_one.terminal));
    }

    #[test]
    fn a_snapshot_survives_changes_of_size(
        size in sizes(), output in streams(), other in sizes(), more in streams(), cut in 0..400_usize,
    ) {
        let mut original = screen(size, &output);
        original.resize(other);
        let (before, after) = more.split_at(cut.min(more.len()));
        original.feed(before);
        let fed = [&output, before].concat();
        let mut copy = screen(other, &original.checkpoint(10_000, usize::MAX));
        copy.feed(&fed[fed.len() - original.pending()..]);
        prop_assert_eq!(State::of(&original.terminal), State::of(&copy.terminal));
        original.feed(after);
        copy.feed(after);
        let states = [&original, &copy].map(|screen| State::of(&screen.terminal).without_wraps());
        prop_assert_eq!(&states[0], &states[1]);
        // Back to the former number of rows: the same lines come back from the scrollback, though maybe not the colour of the blanks at
        // their ends. Another width may wrap them elsewhere, as no sequence says everywhere where one goes on in the next (see `State`).
        let back = Size::new(other.columns(), size.rows());
        let [ours, theirs] = [&mut original, &mut copy].map(|screen| {
            screen.resize(back);
            let seen = State::of(&screen.terminal).without_wraps().visible;
            (seen.rows, seen.cursor.row, seen.cursor.column)
        });
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn a_checkpoint_has_each_line_of_the_scrollback(size in usual_sizes(), output in streams()) {
        let mut original = screen(size, &output);
        let copy = screen(size, &original.checkpoint(10_000, usize::MAX));
        let kept = |screen: &Emulator| {
            let lines = screen.lines(screen.history()).into_iter();
            lines.map(|line| line.text.trim_end().to_owned()).collect::<Vec<_>>()
        };
        prop_assert_eq!(kept(&original), kept(&copy));
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 40, ..Default::default() })]

    #[test]
    fn any_bytes_leave_it_alive(parts in proptest::collection::vec((hostile(), 0..5_usize), 0..6)) {
        let mut screen = Emulator::new(Size::default());
        for (output, size) in parts {
            screen.feed(&output);
            let size = [(1, 1), (1_000, 1_000), (2, 1_000), (80, 24), (7, 3)][size];
            screen.resize(Size::new(size.0, size.1));
            let cursor = screen.cursor();
            prop_assert!(cursor.1 < size.1 && cursor.0 < size.0.max(2));
        }
        let size = screen.size();
        let mut copy = Emulator::new(size);
        copy.feed(&screen.checkpoint(100, usize::MAX));
        screen.release();
        prop_assert_eq!(copy.cursor(), screen.cursor());
        prop_assert!(screen.take_replies().len() < 100_000);
    }
}

#[test]
fn a_string_without_end_leaves_the_snapshot_whole() {
    let size = Size::new(20, 5);
    for begin in ["\x1b]0;", "\x1bPq", "\x1b_G", "\x1b["] {
        let output = format!("before\r\n{begin}{}", "1".repeat(200_000));
        for cut in [100, 70_000, 150_000, 190_000] {
            assert_goes_on(size, format!("{output}\x1b\\mafter").as_bytes(), cut).unwrap();
        }
    }
}

#[test]
fn no_program_takes_memory_without_end() {
    let mut screen = Emulator::new(Size::new(10, 3));
    screen.feed("\u{301}".repeat(100_000).as_bytes());
    screen.feed("\x1b[>1u\x1b[22t\x1b]2;".repeat(10_000).as_bytes());
    screen.feed(format!("\x07\x1b]8;;http://{}\x1b\\link", "x".repeat(10_000)).as_bytes());
    screen.feed("\x1b[c".repeat(100_000).as_bytes());
    assert!(screen.snapshot().len() < 10_000);
    assert!(screen.take_replies().len() <= 65 * 1024);
}

#[test]
fn the_clipboard_is_never_read() {
    let mut screen = screen(
        Size::default(),
        b"\x1b]52;c;?\x07\x1b]52;c;aGk=\x07\x1b]52;p;?\x1b\\",
    );
    assert_eq!(screen.take_replies(), b"");
}

#[test]
fn a_program_is_told_its_colours() {
    let mut screen = screen(
        Size::default(),
        b"\x1b]11;?\x07\x1b]4;1;#102030\x07\x1b]4;1;?\x1b\\",
    );
    let expected = "\x1b]11;rgb:0000/0000/0000\x07\x1b]4;1;rgb:1010/2020/3030\x1b\\";
    assert_eq!(shown(&screen.take_replies()), expected);
}

#[test]
fn a_program_is_told_its_modes() {
    let mut screen = screen(
        Size::default(),
        b"\x1b[?2004h\x1b[?2004$p\x1b[?2026$p\x1b[?u\x1b[18t\x1b[5n",
    );
    assert_eq!(
        shown(&screen.take_replies()),
        "\x1b[?2004;1$y\x1b[?2026;2$y\x1b[?0u\x1b[8;24;80t\x1b[0n"
    );
}

#[test]
fn a_crop_shows_the_part_with_the_cursor() {
    let mut whole = screen(
        Size::new(10, 4),
        "one\r\ntwo\r\n漢字漢字漢\r\n\x1b[31mred\x1b[0m".as_bytes(),
    );
    assert_eq!(whole.text_lines(), ["one", "two", "漢字漢字漢", "red"]);
    let mut crop = screen(Size::new(5, 2), &whole.draw(Size::new(5, 2)));
    assert_eq!(crop.text_lines(), ["漢字", "red"]);
    assert_eq!(crop.cursor().0, 3);
    let larger = screen(Size::new(12, 5), &whole.draw(Size::new(12, 5)));
    assert_eq!(larger.text_lines(), ["one", "two", "漢字漢字漢", "red", ""]);
    whole.feed(b"\x1b[10G");
    crop.feed(&whole.draw(Size::new(5, 2)));
    assert_eq!(crop.text_lines(), [" 字漢", ""]);
}

#[test]
fn what_was_written_is_drawn_with_its_attributes() {
    let output = "\x1b[1;31mred\x1b[0m  \x1b]8;id=a;http://x/\x1b\\link\x1b]8;;\x1b\\\x1b[2;3H漢";
    let snapshot = shown(&screen(Size::new(20, 2), output.as_bytes()).snapshot());
    let expected = "\x1b[1;1H\x1b[0;1;31mred\x1b[2C\x1b]8;id=a;http://x/\x1b\\\x1b[0mlink\
        \x1b[2;3H\x1b]8;;\x1b\\漢\x1b[2;3H漢";
    assert_eq!(snapshot, expected);
}

fn texts(lines: &[crate::Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

#[test]
fn lines_that_scroll_off_are_history() {
    let mut screen = screen(Size::new(4, 2), b"1\r\n\x1b[31m2\x1b[0m\r\nlonger\r\n4");
    assert_eq!((screen.history(), screen.top_line()), (0..3, 3));
    let lines = screen.lines(1..10);
    assert_eq!(texts(&lines), ["2", "long", "er", "4"]);
    assert_eq!(lines[0].ansi, "\x1b[0;31m2\x1b[0m");
    assert_eq!(lines[1].number, 2);
    assert!(lines[1].wrapped && !lines[2].wrapped);
    screen.feed(b"\x1b[3J");
    assert_eq!(screen.history(), 3..3);
    screen.feed(b"\r\n5\r\n6");
    assert_eq!(texts(&screen.lines(0..10)), ["er", "4", "5", "6"]);
}

#[test]
fn lines_keep_their_numbers_when_old_ones_are_forgotten() {
    let mut screen = screen(Size::new(10, 3), b"");
    for number in 0..30_000 {
        screen.feed(format!("{number}\r\n").as_bytes());
    }
    assert_eq!(screen.history().end, 29_998);
    assert_eq!(screen.lines(25_000..25_001)[0].text, "25000");
    assert_eq!(
        screen.lines(0..30_000)[0].text,
        screen.history().start.to_string()
    );
    assert_eq!(screen.lines(0..40_000).len(), 10_003);
}

#[test]
fn a_checkpoint_brings_the_scrollback_back() {
    let size = Size::new(6, 3);
    let output = "one\r\n\x1b[44m  漢字漢字\x1b[0m\r\n\r\nabcdefghijklm\r\n\x1b[1mx\r\ny\r\nz";
    let mut original = screen(size, output.as_bytes());
    let copy = screen(size, &original.checkpoint(100, usize::MAX));
    assert_eq!(original.lines(0..100), copy.lines(0..100));
    assert_eq!(State::of(&original.terminal), State::of(&copy.terminal));
    let two = screen(size, &original.checkpoint(2, usize::MAX));
    assert_eq!(two.history(), 0..2);
    let three = screen(size, &original.checkpoint(100, 10));
    assert_eq!(texts(&three.lines(0..3)), ["ghijkl", "m", "x"]);
}

#[test]
fn a_row_that_a_wide_character_left_stays_one_when_that_was_written_over() {
    let size = Size::new(6, 2);
    let mut original = screen(
        size,
        "hello漢\r\x1b[Kab\r\nhello漢\r\x1b[K\r\nhello漢\r\n1\r\n2".as_bytes(),
    );
    let rows = ["hello", "ab", "hello", "", "hello", "漢", "1", "2"];
    assert_eq!(texts(&original.lines(0..100)), rows);
    let copy = screen(size, &original.checkpoint(100, usize::MAX));
    assert_eq!(original.lines(0..100), copy.lines(0..100));
}

#[test]
fn a_program_says_what_it_does() {
    let shell = "\x1b]133;A\x07$ \x1b]133;B\x07make\r\n\x1b]133;C\x07one\r\ntwo\r\n\x1b]133;D;2\x07\x07";
    let mut screen = screen(Size::new(10, 3), shell.as_bytes());
    assert_eq!(texts(&screen.last_command().unwrap()), ["one", "two"]);
    let signals = screen.take_signals();
    assert_eq!(signals.len(), 5);
    assert_eq!(
        signals[3..],
        [crate::Signal::CommandEnd { exit: Some(2) }, crate::Signal::Bell]
    );
    screen.feed(b"\x1b]133;C\x07\x1b]777;notify;a;b\x1b\\run");
    assert_eq!(texts(&screen.last_command().unwrap()), ["run"]);
    assert_eq!(screen.take_signals().len(), 2);
}

#[test]
fn a_soft_reset_ends_what_surprises_the_next_program() {
    let mut screen = screen(
        Size::new(10, 4),
        b"\x1b[31m\x1b(0\x1b[2;3r\x1b[?6h\x1b[4h\x1b[?1h\x1b=\x1b[?25l\x1b[?7l\x1b[!p",
    );
    assert!(screen.cursor_visible() && !screen.application_cursor_keys() && !screen.application_keypad());
    screen.feed(b"\x1b[4;1Hq\r\x1b[9Gabc");
    assert_eq!(screen.text_lines(), ["", "", "q       ab", "c"]);
    assert_eq!(screen.lines(3..4)[0].ansi, "q       ab");
}

#[test]
fn colours_without_end_are_forgotten_with_their_text() {
    let mut screen = screen(Size::new(20, 4), b"");
    for number in 0..60_000_u32 {
        let [_, r, g, b] = (number * 251).to_be_bytes();
        screen.feed(format!("\x1b[38;2;{r};{g};{b}m\x1b]8;;http://{number}/\x07x\r").as_bytes());
    }
    assert!(screen.terminal.styles.len() < 3_000);
    screen.feed(b"\x1b[38;2;1;2;3mend");
    assert!(screen.lines(0..1)[0].ansi.contains("\x1b[0;38;2;1;2;3mend"));
}

#[test]
fn a_screen_that_was_used_little_takes_little() {
    let screen = screen(Size::new(100, 30), b"$ ls\r\na b c\r\n$ ");
    let rows = screen.terminal.grid.rows.iter();
    assert!(rows.map(|row| row.cells().len()).sum::<usize>() < 20);
    assert!(
        size_of::<Emulator>() < 6 * 1024,
        "{} bytes",
        size_of::<Emulator>()
    );
}

#[test]
fn a_mark_joins_the_blank_where_a_wide_character_did_not_fit() {
    // Without wrapping, the wide character that does not fit leaves the cursor behind the last column.
    let output = "hello漢\x1b[H\x1b[5C\x1b[?7l漢\u{301}\x1b[?7h";
    let mut screen = screen(Size::new(6, 2), output.as_bytes());
    assert_eq!(screen.lines(0..1)[0].text, "hello \u{301}");
    screen.resize(Size::new(9, 2));
    assert_eq!(screen.lines(0..1)[0].text, "hello \u{301}漢");
}

#[test]
fn a_sign_takes_the_columns_of_its_characters_one_by_one() {
    let signs = ["👩\u{200d}👩\u{200d}👧\u{200d}👧", "✅", "e\u{301}", "한", "🇩🇪"];
    for (sign, columns) in signs.into_iter().zip([8, 2, 1, 2, 2]) {
        let mut screen = screen(Size::new(20, 2), format!("{sign}|").as_bytes());
        assert_eq!(screen.cursor(), (columns + 1, 0), "{sign}");
        assert_eq!(screen.text_lines()[0], format!("{sign}|"));
        screen.feed(b"\x1b[6n");
        assert_eq!(shown(&screen.take_replies()), format!("\x1b[1;{}R", columns + 2));
    }
}

#[test]
fn a_character_is_repeated_as_often_as_the_program_says() {
    let size = Size::new(10, 4);
    for (character, columns) in [("x", 1), ("é", 1), ("漢", 2)] {
        let mut repeated = screen(size, format!("{character}\x1b[65535b").as_bytes());
        let mut written = screen(size, character.repeat(65_536).as_bytes());
        assert_eq!(repeated.history(), written.history());
        assert_eq!(
            repeated.history().end,
            65_536 * columns / 10 + 1 - 4,
            "{character}"
        );
        assert_eq!(repeated.lines(0..u64::MAX), written.lines(0..u64::MAX));
        assert_eq!(repeated.snapshot(), written.snapshot());
    }
}

#[test]
fn links_without_end_cost_the_lines_of_one_answer_and_a_checkpoint_a_bounded_part() {
    let size = Size::new(80, 24);
    let links = ["a", "b"].map(|letter| letter.repeat(2_000));
    let cells = (0..80).map(|cell| format!("\x1b]8;;http://{}\x1b\\x", links[cell % 2]));
    let line = cells.collect::<String>() + "\r\n";
    let mut linked = screen(size, line.repeat(200).as_bytes());
    let lines = linked.lines(0..u64::MAX);
    assert!(lines.iter().filter(|line| line.text == "x".repeat(80)).count() == 200);
    let drawn: usize = lines.iter().map(|line| line.ansi.len()).sum();
    assert!(drawn < 1024 * 1024, "{drawn} bytes");
    let kept = linked.checkpoint(10_000, usize::MAX).len();
    assert!(kept < 1024 * 1024, "{kept} bytes");
}
