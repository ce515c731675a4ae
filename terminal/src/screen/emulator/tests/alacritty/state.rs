//! Alacritty's state in the terms of ours.

use alacritty_terminal::grid::Cursor;
use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{CharsetIndex, CursorShape, StandardCharset};

use super::super::super::colours::Colours;
use super::super::super::modes::{CursorStyle, Modes, Shape};
use super::super::state::{Picture, Place, State, anonymous, runs};
use super::cells::pen;
use super::terminal::Terminal;

impl State {
    pub(in super::super) fn of_alacritty(terminal: &mut Terminal) -> Self {
        let hidden = terminal
            .has(TermMode::ALT_SCREEN)
            .then(|| terminal.on_other_screen(|primary| picture(primary)));
        Self {
            visible: picture(terminal),
            hidden,
            modes: modes(*terminal.term.mode()),
            region: terminal.region,
            tabs: terminal.tabs.clone(),
            is_shifted: terminal.is_shifted,
            titles: terminal.titles.clone(),
            keyboards: (terminal.keyboard.clone(), terminal.other_keyboard.clone()),
            other_keys: terminal.other_keys,
            cursor_style: terminal.has_cursor_style.then(|| {
                let style = terminal.term.cursor_style();
                let shape = match style.shape {
                    CursorShape::Underline => Shape::Underline,
                    CursorShape::Beam => Shape::Beam,
                    _ => Shape::Block,
                };
                CursorStyle {
                    shape,
                    is_blinking: style.blinking,
                }
            }),
            kept_modes: terminal.kept_modes.clone(),
            colours: colours(terminal),
        }
    }
}

fn picture(terminal: &Terminal) -> Picture {
    let columns = terminal.columns();
    let row = |row: usize| {
        (0..columns)
            .map(|column| text(terminal.cell(row, column)))
            .collect::<String>()
    };
    let (cursor_row, _, needs_wrap) = terminal.cursor();
    let wraps = |row: usize| {
        row + 1 < terminal.rows() && !(needs_wrap && row == cursor_row) && terminal.is_wrapped(row)
    };
    let rows = (0..terminal.rows()).map(|at| row(at) + if wraps(at) { "↵" } else { "" });
    let pens = |row: usize| runs((0..columns).map(|column| anonymous(pen(terminal.cell(row, column)))));
    Picture {
        rows: rows.collect(),
        pens: (0..terminal.rows()).map(pens).collect(),
        cursor: place(&terminal.term.grid().cursor),
        saved: place(&terminal.term.grid().saved_cursor),
    }
}

fn place(cursor: &Cursor<Cell>) -> Place {
    let sets = [
        CharsetIndex::G0,
        CharsetIndex::G1,
        CharsetIndex::G2,
        CharsetIndex::G3,
    ];
    Place {
        row: usize::try_from(cursor.point.line.0).unwrap_or(usize::MAX),
        column: cursor.point.column.0,
        needs_wrap: cursor.input_needs_wrap,
        pen: anonymous(pen(&cursor.template)),
        drawings: sets.map(|set| cursor.charsets[set] == StandardCharset::SpecialCharacterAndLineDrawing),
    }
}

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

fn colours(terminal: &Terminal) -> Colours {
    let mut colours = Colours::default();
    for index in 0..=258 {
        let colour = terminal.term.colors()[index].map(|rgb| [rgb.r, rgb.g, rgb.b]);
        colours.set(index, colour);
    }
    colours
}

fn modes(theirs: TermMode) -> Modes {
    let pairs = [
        (TermMode::APP_CURSOR, Modes::APP_CURSOR),
        (TermMode::ORIGIN, Modes::ORIGIN),
        (TermMode::MOUSE_REPORT_CLICK, Modes::MOUSE_CLICK),
        (TermMode::MOUSE_DRAG, Modes::MOUSE_DRAG),
        (TermMode::MOUSE_MOTION, Modes::MOUSE_MOTION),
        (TermMode::FOCUS_IN_OUT, Modes::FOCUS),
        (TermMode::UTF8_MOUSE, Modes::UTF8_MOUSE),
        (TermMode::SGR_MOUSE, Modes::SGR_MOUSE),
        (TermMode::BRACKETED_PASTE, Modes::BRACKETED_PASTE),
        (TermMode::SHOW_CURSOR, Modes::SHOW_CURSOR),
        (TermMode::ALTERNATE_SCROLL, Modes::ALTERNATE_SCROLL),
        (TermMode::URGENCY_HINTS, Modes::URGENCY_HINTS),
        (TermMode::LINE_WRAP, Modes::LINE_WRAP),
        (TermMode::INSERT, Modes::INSERT),
        (TermMode::LINE_FEED_NEW_LINE, Modes::NEW_LINE),
        (TermMode::APP_KEYPAD, Modes::APP_KEYPAD),
    ];
    let mut modes = Modes::default();
    for (their, our) in pairs {
        modes.set(our, theirs.contains(their));
    }
    modes
}
