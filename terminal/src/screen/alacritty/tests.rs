//! Snapshots draw the same state, whatever was written and wherever it was cut.

use alacritty_terminal::grid::Cursor;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::color::COUNT;
use alacritty_terminal::term::{TermMode, color};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorStyle, Rgb, StandardCharset};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::prop_assert_eq;

use super::cells::pen;
use super::keyboard::Keyboard;
use super::terminal::Terminal;
use super::titles::Titles;
use super::{AlacrittyScreen, Screen};
use crate::size::Size;
use crate::snapshot::Pen;

/// Everything that a snapshot must bring back, so that two terminals can be compared.
#[derive(Debug, PartialEq)]
struct State {
    visible: Picture,
    /// The primary screen behind the alternate one.
    hidden: Option<Picture>,
    modes: TermMode,
    region: (usize, usize),
    tabs: Vec<bool>,
    is_shifted: bool,
    titles: Titles,
    keyboards: (Keyboard, Keyboard),
    other_keys: u8,
    cursor_style: Option<CursorStyle>,
    kept_modes: Vec<u16>,
    colours: Vec<Option<Rgb>>,
}

#[derive(Debug, PartialEq)]
struct Picture {
    rows: Vec<String>,
    pens: Vec<Vec<Pen>>,
    cursor: Place,
    saved: Place,
}

#[derive(Debug, PartialEq)]
struct Place {
    row: i32,
    column: usize,
    needs_wrap: bool,
    pen: Pen,
    charsets: Vec<StandardCharset>,
}

impl State {
    fn of(screen: &mut AlacrittyScreen) -> Self {
        let terminal = &mut screen.terminal;
        let is_alternate = terminal.has(TermMode::ALT_SCREEN);
        Self {
            visible: Picture::of(terminal),
            hidden: is_alternate.then(|| terminal.on_other_screen(|primary| Picture::of(primary))),
            modes: *terminal.term.mode(),
            region: terminal.region,
            tabs: terminal.tabs.clone(),
            is_shifted: terminal.is_shifted,
            titles: terminal.titles.clone(),
            keyboards: (terminal.keyboard.clone(), terminal.other_keyboard.clone()),
            other_keys: terminal.other_keys,
            cursor_style: terminal.has_cursor_style.then(|| terminal.term.cursor_style()),
            kept_modes: terminal.kept_modes.clone(),
            colours: colours(terminal.term.colors()),
        }
    }
}

impl State {
    /// What was left out of the snapshot for want of a sequence may be in another row by now.
    fn without_wraps(mut self) -> Self {
        for picture in self.hidden.iter_mut().chain([&mut self.visible]) {
            picture
                .rows
                .iter_mut()
                .for_each(|row| *row = row.replace('↵', ""));
        }
        self
    }
}

impl Picture {
    fn of(terminal: &Terminal) -> Self {
        let columns = terminal.columns();
        let row = |row: usize| {
            (0..columns)
                .map(|column| text(terminal.cell(row, column)))
                .collect::<String>()
        };
        // Where lines wrap is not seen; it counts only when the size changes. It is left out where no sequence
        // brings it back: in the last row, and in the row where the cursor stands behind the last column.
        let (cursor_row, _, needs_wrap) = terminal.cursor();
        let wraps = |row: usize| {
            row + 1 < terminal.rows() && !(needs_wrap && row == cursor_row) && terminal.is_wrapped(row)
        };
        let rows = (0..terminal.rows()).map(|at| format!("{}{}", row(at), if wraps(at) { "↵" } else { "" }));
        let pens = |row: usize| {
            (0..columns)
                .map(|column| anonymous(pen(terminal.cell(row, column))))
                .collect()
        };
        Self {
            rows: rows.collect(),
            pens: (0..terminal.rows()).map(pens).collect(),
            cursor: Place::of(&terminal.term.grid().cursor),
            saved: Place::of(&terminal.term.grid().saved_cursor),
        }
    }
}

impl Place {
    fn of(cursor: &Cursor<Cell>) -> Self {
        let sets = [
            CharsetIndex::G0,
            CharsetIndex::G1,
            CharsetIndex::G2,
            CharsetIndex::G3,
        ];
        Self {
            row: cursor.point.line.0,
            column: cursor.point.column.0,
            needs_wrap: cursor.input_needs_wrap,
            pen: anonymous(pen(&cursor.template)),
            charsets: sets.into_iter().map(|set| cursor.charsets[set]).collect(),
        }
    }
}

/// A cell's text, with what must not get lost: `<` for the right half of a wide character.
fn text(cell: &Cell) -> String {
    let half = if cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
        "<"
    } else {
        ""
    };
    let wide = if cell.flags.contains(Flags::WIDE_CHAR) {
        ">"
    } else {
        ""
    };
    let character = if cell.c == '\t' { ' ' } else { cell.c };
    let marks: String = cell.zerowidth().unwrap_or_default().iter().collect();
    format!("{half}{character}{marks}{wide}")
}

/// Links without an id get one from a counter of the whole process.
fn anonymous(mut pen: Pen) -> Pen {
    if let Some(link) = pen.link.as_mut().filter(|link| link.id.ends_with("_alacritty")) {
        link.id.clear();
    }
    pen
}

fn colours(colours: &color::Colors) -> Vec<Option<Rgb>> {
    (0..COUNT).map(|index| colours[index]).collect()
}

fn screen(size: Size, output: &[u8]) -> AlacrittyScreen {
    let mut screen = AlacrittyScreen::new(size);
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
        State::of(&mut original),
        State::of(&mut copy),
        "at the cut: {:?}",
        shown(&snapshot)
    );
    original.feed(after);
    copy.feed(after);
    let (original, copy) = (
        State::of(&mut original).without_wraps(),
        State::of(&mut copy).without_wraps(),
    );
    prop_assert_eq!(original, copy, "at the end: {:?}", shown(&snapshot));
    Ok(())
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text_pieces() -> impl Strategy<Value = Vec<u8>> {
    let words = "a hello 漢字 e\u{301} 👩\u{200d}👩\u{200d}👧 ☁\u{fe0f} q \u{301} é ─ \u{a0}";
    prop_oneof![
        4 => one_of(words, ' '),
        2 => one_of("\n|\r|\r\n|\t|\x08|\x0e|\x0f|\x07|\x0b|\x18| ", '|'),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ]
}

fn sequences() -> impl Strategy<Value = Vec<u8>> {
    let last = prop::sample::select("@ABCDEFGHIJKLMPSTXZ`abcdefgnrsu".chars().collect::<Vec<_>>());
    let control = (prop::collection::vec(0..12_u16, 0..3), last).prop_map(|(parameters, last)| {
        let parameters: Vec<String> = parameters.iter().map(u16::to_string).collect();
        format!("\x1b[{}{last}", parameters.join(";")).into_bytes()
    });
    let modes = "1 3 5 6 7 9 12 25 66 1000 1002 1003 1004 1005 1006 1007 1042 1049 2004 2026";
    let mode = (one_of(modes, ' '), one_of("h l", ' '))
        .prop_map(|(mode, set)| [b"\x1b[?", &mode[..], &set].concat());
    let rendition = prop::collection::vec(one_of(RENDITIONS, ' '), 1..4)
        .prop_map(|codes| [b"\x1b[", &codes.join(&b';')[..], b"m"].concat());
    let others =
        one_of(OTHER_SEQUENCES, ' ').prop_map(|sequence| shown(&sequence).replace('~', "\x1b").into_bytes());
    let style = (0..7_u8).prop_map(|style| format!("\x1b[{style} q").into_bytes());
    prop_oneof![4 => control, 3 => rendition, 2 => mode, 5 => others, 1 => style]
}

fn one_of(choices: &str, separator: char) -> impl Strategy<Value = Vec<u8>> + use<> {
    let choices: Vec<Vec<u8>> = choices
        .split(separator)
        .map(|choice| choice.as_bytes().to_vec())
        .collect();
    prop::sample::select(choices)
}

const RENDITIONS: &str = "0 1 2 3 4 4:3 4:5 7 8 9 21 22 24 27 31 97 44 101 38;5;1 48;2;1;2;3 58;5;9 59 39 49";
/// `~` stands for ESC.
const OTHER_SEQUENCES: &str = "~7 ~8 ~D ~E ~M ~H ~c ~= ~> ~(0 ~(B ~)0 ~#8 ~[4h ~[4l ~[20h ~[3g ~[2J ~[3J ~[2;3r ~[r \
    ~[>1u ~[=5u ~[<1u ~[>4;2m ~[22t ~[23t ~]0;title\x07 ~]2;a;b~\\ ~]8;;http://x/~\\ \
    ~]8;id=k;http://y/~\\ ~]8;;~\\ ~]4;7;#010203\x07 ~]11;rgb:aa/bb/cc~\\ ~]104\x07 ~]50;CursorShape=1\x07 \
    ~P$qm~\\ ~_apc~\\ ~]2;cut ~[3 ~[?2026h ~[?2026l ~[?1049h ~[3b a~[2b 漢~[2b";

fn streams() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![text_pieces(), sequences()], 0..60).prop_map(|pieces| pieces.concat())
}

fn sizes() -> impl Strategy<Value = Size> {
    prop_oneof![
        Just(Size::new(20, 5)),
        (1..12_u16, 1..6_u16).prop_map(|(columns, rows)| Size::new(columns, rows))
    ]
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 400, ..Default::default() })]

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
        prop_assert_eq!(State::of(&mut watched), State::of(&mut alone));
    }

    #[test]
    fn a_cut_changes_nothing(size in sizes(), output in streams(), cut in 0..400_usize) {
        let cut = cut.min(output.len());
        let mut whole = screen(size, &output);
        let mut parts = screen(size, &output[..cut]);
        output[cut..].iter().for_each(|byte| parts.feed(&[*byte]));
        prop_assert_eq!(State::of(&mut whole), State::of(&mut parts));
    }

    #[test]
    fn a_snapshot_survives_changes_of_size(
        size in sizes(), output in streams(), other in sizes(), more in streams(), cut in 0..400_usize,
    ) {
        let mut original = screen(size, &output);
        original.resize(other);
        let mut copy = screen(other, &original.snapshot());
        prop_assert_eq!(&State::of(&mut original).visible, &State::of(&mut copy).visible);
        original.feed(&more);
        original.resize(size);
        assert_goes_on(size, &more, cut)?;
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
    let mut screen = AlacrittyScreen::new(Size::new(10, 3));
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
    assert_eq!(Picture::of(&crop.terminal).cursor.column, 3);
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
    let mut copy = screen(size, &original.checkpoint(100));
    assert_eq!(original.lines(0..100), copy.lines(0..100));
    assert_eq!(State::of(&mut original), State::of(&mut copy));
    let two = screen(size, &original.checkpoint(2));
    assert_eq!(two.history(), 0..2);
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
