//! Reading a terminal's state as a snapshot.

use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorShape, NamedColor, StandardCharset};

use super::cells::{draw_row, pen, shown};
use super::terminal::{Terminal, is_default_tab, row};
use crate::snapshot::{Painter, Pen};

/// Bytes that draw the terminal's state into a fresh one of the same size. `follows_text` says that the program
/// may go on by repeating the last character.
///
/// The order is that of what disturbs what: printing needs a terminal without margins and modes, margins and
/// origin mode move the cursor, and the last character must be the last that is written.
pub(super) fn snapshot(terminal: &mut Terminal, follows_text: bool) -> Vec<u8> {
    let mut painter = Painter::default();
    painter.sequence(terminal.titles.sequences());
    colours(terminal, &mut painter);
    tabs(terminal, &mut painter);
    if terminal.has(TermMode::ALT_SCREEN) {
        terminal.on_other_screen(|primary| {
            screen(primary, &mut painter);
            cursor(primary, &mut painter, false);
            painter.sequence(primary.keyboard.sequences());
        });
        painter.sequence("\x1b[?1049h");
        painter.set_pen(&Pen::default());
        painter.sequence(ASCII);
        // It was cleared with the cursor's background.
        painter.sequence("\x1b[2J");
    }
    screen(terminal, &mut painter);
    painter.sequence(terminal.keyboard.sequences());
    margins(terminal, &mut painter);
    modes(terminal, &mut painter);
    match (
        terminal.repeatable().filter(|_| follows_text),
        terminal.last_character,
    ) {
        (Some(column), Some(character)) => {
            ready(terminal, &mut painter);
            late_modes(terminal, &mut painter);
            go(terminal, &mut painter, terminal.cursor().0, column);
            let pen = pen(&terminal.term.grid().cursor.template);
            painter.character(character, &[], &pen);
        }
        _ => {
            cursor(terminal, &mut painter, true);
            late_modes(terminal, &mut painter);
            painter.separate();
        }
    }
    painter.into_bytes()
}

/// Draws a screen's saved cursor and its cells into a blank one.
fn screen(terminal: &Terminal, painter: &mut Painter) {
    saved_cursor(terminal, painter);
    let mut goes_on = false;
    for row in 0..terminal.rows() {
        goes_on = draw_row(terminal, painter, row, goes_on);
    }
}

/// Saves a cursor as the program did, while the screen is blank, and leaves it blank.
fn saved_cursor(terminal: &Terminal, painter: &mut Painter) {
    let grid = terminal.term.grid();
    let saved = &grid.saved_cursor;
    let is_alternate = terminal.has(TermMode::ALT_SCREEN);
    // Entering the alternate screen has saved the cursor that is there now.
    if !is_alternate && *saved == Default::default() {
        return;
    }
    let (line, column) = (row(saved.point.line), saved.point.column.0);
    painter.go(line, column);
    if saved.input_needs_wrap {
        painter.character(' ', &[], &Pen::default());
    }
    charsets(painter, |index| saved.charsets[index]);
    painter.set_pen(&pen(&saved.template));
    painter.sequence("\x1b7");
    painter.set_pen(&Pen::default());
    painter.sequence(ASCII);
    if saved.input_needs_wrap {
        painter.sequence("\r\x1b[K");
    }
}

/// Puts the cursor where it is, ready to write with its pen and its character sets.
fn cursor(terminal: &Terminal, painter: &mut Painter, has_modes: bool) {
    let (row, column, needs_wrap) = terminal.cursor();
    let to = |painter: &mut Painter, column| {
        if has_modes {
            go(terminal, painter, row, column);
        } else {
            painter.go(row, column);
        }
    };
    if needs_wrap {
        // Only writing the last column again brings the cursor behind it.
        let is_half = terminal.cell(row, column).flags.contains(Flags::WIDE_CHAR_SPACER);
        let first = column - usize::from(is_half);
        let cell = terminal.cell(row, first);
        to(painter, first);
        painter.character(shown(cell), cell.zerowidth().unwrap_or_default(), &pen(cell));
    } else {
        to(painter, column);
    }
    ready(terminal, painter);
}

/// Chooses the pen and the character sets that the program goes on with.
fn ready(terminal: &Terminal, painter: &mut Painter) {
    let cursor = &terminal.term.grid().cursor;
    charsets(painter, |index| cursor.charsets[index]);
    painter.set_pen(&pen(&cursor.template));
}

/// Moves to a cell of a terminal that has its margins and origin mode already.
fn go(terminal: &Terminal, painter: &mut Painter, row: usize, column: usize) {
    let top = if terminal.has(TermMode::ORIGIN) {
        terminal.region.0
    } else {
        0
    };
    painter.go(row - top, column);
}

/// Designates the character sets that are not ASCII.
fn charsets(painter: &mut Painter, charset: impl Fn(CharsetIndex) -> StandardCharset) {
    let sets = [
        (CharsetIndex::G0, "\x1b(0"),
        (CharsetIndex::G1, "\x1b)0"),
        (CharsetIndex::G2, "\x1b*0"),
        (CharsetIndex::G3, "\x1b+0"),
    ];
    for (index, sequence) in sets {
        if charset(index) == StandardCharset::SpecialCharacterAndLineDrawing {
            painter.sequence(sequence);
        }
    }
}

fn colours(terminal: &Terminal, painter: &mut Painter) {
    let colours = terminal.term.colors();
    let mut colour = |index: usize, code: std::fmt::Arguments<'_>| {
        if let Some(rgb) = colours[index] {
            painter.write(format_args!(
                "\x1b]{code};rgb:{:02x}/{:02x}/{:02x}\x1b\\",
                rgb.r, rgb.g, rgb.b
            ));
        }
    };
    (0..256).for_each(|index| colour(index, format_args!("4;{index}")));
    colour(NamedColor::Foreground as usize, format_args!("10"));
    colour(NamedColor::Background as usize, format_args!("11"));
    colour(NamedColor::Cursor as usize, format_args!("12"));
}

fn tabs(terminal: &Terminal, painter: &mut Painter) {
    let tabs = &terminal.tabs;
    if tabs
        .iter()
        .enumerate()
        .all(|(column, tab)| *tab == is_default_tab(column))
    {
        return;
    }
    painter.sequence("\x1b[3g");
    for column in (0..tabs.len()).filter(|column| tabs[*column]) {
        painter.go(0, column);
        painter.sequence("\x1bH");
    }
    painter.go(0, 0);
}

fn margins(terminal: &Terminal, painter: &mut Painter) {
    let (top, bottom) = terminal.region;
    if (top, bottom) != (0, terminal.rows()) {
        painter.write(format_args!("\x1b[{};{bottom}r", top + 1));
    }
}

/// The modes that do not change how cells are written.
fn modes(terminal: &Terminal, painter: &mut Painter) {
    for (mode, number) in SET_MODES {
        if terminal.has(mode) {
            painter.write(format_args!("\x1b[?{number}h"));
        }
    }
    for (mode, number) in UNSET_MODES {
        if !terminal.has(mode) {
            painter.write(format_args!("\x1b[?{number}l"));
        }
    }
    for mode in &terminal.kept_modes {
        painter.write(format_args!("\x1b[?{mode}h"));
    }
    if terminal.has(TermMode::APP_KEYPAD) {
        painter.sequence("\x1b=");
    }
    if terminal.other_keys != 0 {
        painter.write(format_args!("\x1b[>4;{}m", terminal.other_keys));
    }
    if terminal.has_cursor_style {
        let style = terminal.term.cursor_style();
        let shape = match style.shape {
            CursorShape::Underline => 4,
            CursorShape::Beam => 6,
            CursorShape::Block | CursorShape::HollowBlock | CursorShape::Hidden => 2,
        };
        painter.write(format_args!("\x1b[{} q", shape - u8::from(style.blinking)));
    }
}

/// The modes that would disturb the writing of cells.
fn late_modes(terminal: &Terminal, painter: &mut Painter) {
    if terminal.is_shifted {
        painter.sequence("\x0e");
    }
    if !terminal.has(TermMode::LINE_WRAP) {
        painter.sequence("\x1b[?7l");
    }
    if terminal.has(TermMode::INSERT) {
        painter.sequence("\x1b[4h");
    }
    if terminal.has(TermMode::LINE_FEED_NEW_LINE) {
        painter.sequence("\x1b[20h");
    }
}

/// All four character sets as on a fresh terminal.
const ASCII: &str = "\x1b(B\x1b)B\x1b*B\x1b+B";
/// Modes that are off in a fresh terminal.
const SET_MODES: [(TermMode, u16); 9] = [
    (TermMode::APP_CURSOR, 1),
    (TermMode::ORIGIN, 6),
    (TermMode::MOUSE_REPORT_CLICK, 1000),
    (TermMode::MOUSE_DRAG, 1002),
    (TermMode::MOUSE_MOTION, 1003),
    (TermMode::FOCUS_IN_OUT, 1004),
    (TermMode::UTF8_MOUSE, 1005),
    (TermMode::SGR_MOUSE, 1006),
    (TermMode::BRACKETED_PASTE, 2004),
];
/// Modes that are on in a fresh terminal.
const UNSET_MODES: [(TermMode, u16); 3] = [
    (TermMode::SHOW_CURSOR, 25),
    (TermMode::ALTERNATE_SCROLL, 1007),
    (TermMode::URGENCY_HINTS, 1042),
];
