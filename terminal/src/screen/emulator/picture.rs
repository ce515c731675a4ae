//! Reading a terminal's state as a snapshot.

use super::cell::Cell;
use super::modes::{Modes, Shape};
use super::style::Style;
use super::terminal::{Cursor, Grid, Terminal, is_default_tab};
use crate::snapshot::{Painter, Pen};

/// Bytes that draw the terminal's state into a fresh one of the same size.
///
/// The order is that of what disturbs what: printing needs a terminal without margins and modes, margins and
/// origin mode move the cursor, and the last character must be the last that is written.
pub(super) fn snapshot(terminal: &Terminal) -> Vec<u8> {
    let mut picture = Picture {
        terminal,
        painter: Painter::default(),
        style: None,
    };
    picture.painter.sequence(terminal.titles.sequences());
    picture.painter.sequence(terminal.colours.sequences());
    picture.tabs();
    if let Some(primary) = &terminal.hidden {
        picture.grid(primary, false);
        picture.cursor(primary, false);
        picture.painter.sequence(terminal.other_keyboard.sequences());
        picture.painter.sequence("\x1b[?1049h");
        picture.set_style(Style::default());
        picture.painter.sequence(ASCII);
        // It was cleared with the cursor's background.
        picture.painter.sequence("\x1b[2J");
    }
    picture.grid(&terminal.grid, terminal.is_alternate());
    picture.painter.sequence(terminal.keyboard.sequences());
    picture.margins();
    picture.modes();
    match terminal.repeatable() {
        Some((column, character)) => {
            picture.ready(&terminal.grid.cursor);
            picture.late_modes();
            picture.go(terminal.grid.cursor.row, column);
            picture.painter.text(character.encode_utf8(&mut [0; 4]));
        }
        None => {
            picture.cursor(&terminal.grid, true);
            picture.late_modes();
            picture.painter.separate();
        }
    }
    picture.painter.into_bytes()
}

struct Picture<'a> {
    terminal: &'a Terminal,
    painter: Painter,
    /// The style that the painter's pen has.
    style: Option<Style>,
}

impl Picture<'_> {
    /// Draws a grid's saved cursor and its cells into a blank one.
    fn grid(&mut self, grid: &Grid, is_alternate: bool) {
        // Entering the alternate screen has saved the cursor that is there now.
        if is_alternate || grid.saved != Cursor::default() {
            self.saved_cursor(&grid.saved);
        }
        let mut goes_on = false;
        for row in 0..grid.rows.len() {
            goes_on = self.row(grid, row, goes_on);
        }
    }

    /// Saves a cursor as the program did, while the screen is blank, and leaves it blank.
    fn saved_cursor(&mut self, saved: &Cursor) {
        self.painter.go(saved.row, saved.column);
        if saved.needs_wrap {
            self.set_style(Style::default());
            self.painter.text(" ");
        }
        self.drawings(saved);
        self.set_style(saved.pen);
        self.painter.sequence("\x1b7");
        self.set_style(Style::default());
        self.painter.sequence(ASCII);
        if saved.needs_wrap {
            self.painter.sequence("\r\x1b[K");
        }
    }

    /// Draws a row; `goes_on` says that the row before wraps into it, with the cursor still behind that one's
    /// last column. Returns the same for the next row.
    fn row(&mut self, grid: &Grid, row: usize, goes_on: bool) -> bool {
        let columns = self.terminal.columns;
        let cells = grid.rows[row].cells();
        let wraps = grid.rows[row].is_wrapped && row + 1 < grid.rows.len();
        let filled = cells.iter().rposition(|cell| !is_blank(*cell));
        let length = match filled {
            _ if wraps => columns,
            Some(column) => column + 1,
            None => usize::from(goes_on),
        };
        let mut at = goes_on.then_some(0);
        for column in 0..length {
            let cell = grid.rows[row].cell(column);
            let must_print = (column == 0 && goes_on) || (column + 1 == columns && wraps);
            if cell.is_half() || (is_blank(cell) && !must_print) {
                continue;
            }
            match at {
                Some(at) if at < column => self.painter.forward(column - at),
                Some(_) => {}
                None => self.painter.go(row, column),
            }
            if wraps && column + 1 == columns && leads_to_wide(cell, grid.rows[row + 1].cell(0)) {
                // The wide character that begins the next row wraps by itself.
                at = Some(column);
                continue;
            }
            self.cell(cell);
            at = Some(column + if cell.is_wide() { 2 } else { 1 });
        }
        wraps
    }

    fn cell(&mut self, cell: Cell) {
        self.set_style(self.terminal.styles.get(cell.style()));
        let (character, marks) = self.terminal.clusters.parts(cell);
        self.painter.text(character.encode_utf8(&mut [0; 4]));
        self.painter.text(marks);
    }

    fn set_style(&mut self, style: Style) {
        if self.style != Some(style) {
            self.style = Some(style);
            self.painter.set_pen(&self.terminal.styles.pen(style));
        }
    }

    /// Puts the cursor where it is, ready to write with its pen and its character sets.
    fn cursor(&mut self, grid: &Grid, has_modes: bool) {
        let cursor = &grid.cursor;
        let mut column = cursor.column;
        let cells = &grid.rows[cursor.row];
        if cursor.needs_wrap && cells.cell(column).is_half() {
            column -= 1;
        }
        if has_modes {
            self.go(cursor.row, column);
        } else {
            self.painter.go(cursor.row, column);
        }
        if cursor.needs_wrap {
            // Only writing the last column again brings the cursor behind it.
            self.cell(cells.cell(column));
        }
        self.ready(cursor);
    }

    /// Chooses the pen and the character sets that the program goes on with.
    fn ready(&mut self, cursor: &Cursor) {
        self.drawings(cursor);
        self.set_style(cursor.pen);
    }

    /// Moves to a cell of a terminal that has its margins and origin mode already.
    fn go(&mut self, row: usize, column: usize) {
        let top = if self.terminal.has(Modes::ORIGIN) {
            self.terminal.region.0
        } else {
            0
        };
        self.painter.go(row - top, column);
    }

    /// Designates the character sets that are not ASCII.
    fn drawings(&mut self, cursor: &Cursor) {
        let sets = ["\x1b(0", "\x1b)0", "\x1b*0", "\x1b+0"];
        for (sequence, _) in sets.iter().zip(cursor.drawings).filter(|(_, drawings)| *drawings) {
            self.painter.sequence(sequence);
        }
    }

    fn tabs(&mut self) {
        let tabs = &self.terminal.tabs;
        let mut numbered = tabs.iter().enumerate();
        if numbered.all(|(column, tab)| *tab == is_default_tab(column)) {
            return;
        }
        self.painter.sequence("\x1b[3g");
        for column in (0..tabs.len()).filter(|column| tabs[*column]) {
            self.painter.go(0, column);
            self.painter.sequence("\x1bH");
        }
        self.painter.go(0, 0);
    }

    fn margins(&mut self) {
        let (top, bottom) = self.terminal.region;
        if (top, bottom) != (0, self.terminal.rows()) {
            self.painter.write(format_args!("\x1b[{};{bottom}r", top + 1));
        }
    }

    /// The modes that do not change how cells are written.
    fn modes(&mut self) {
        let terminal = self.terminal;
        for number in PRIVATE_MODES {
            let mode = Modes::private(number).map(|(mode, _)| mode);
            let (now, fresh) = (terminal.modes, Modes::default());
            match mode {
                Some(mode) if now.has(mode) && !fresh.has(mode) => {
                    self.painter.write(format_args!("\x1b[?{number}h"));
                }
                Some(mode) if !now.has(mode) && fresh.has(mode) => {
                    self.painter.write(format_args!("\x1b[?{number}l"));
                }
                _ => {}
            }
        }
        for mode in &terminal.kept_modes {
            self.painter.write(format_args!("\x1b[?{mode}h"));
        }
        self.keys();
        if let Some(style) = terminal.cursor_style {
            let shape = match style.shape {
                Shape::Block => 2,
                Shape::Underline => 4,
                Shape::Beam => 6,
            };
            self.painter
                .write(format_args!("\x1b[{} q", shape - u8::from(style.is_blinking)));
        }
    }

    /// The keypad's mode and xterm's form of other keys.
    fn keys(&mut self) {
        let terminal = self.terminal;
        if terminal.has(Modes::APP_KEYPAD) {
            self.painter.sequence("\x1b=");
        }
        if terminal.other_keys != 0 {
            self.painter
                .write(format_args!("\x1b[>4;{}m", terminal.other_keys));
        }
    }

    /// The modes that would disturb the writing of cells.
    fn late_modes(&mut self) {
        let terminal = self.terminal;
        if terminal.is_shifted {
            self.painter.sequence("\x0e");
        }
        if !terminal.has(Modes::LINE_WRAP) {
            self.painter.sequence("\x1b[?7l");
        }
        if terminal.has(Modes::INSERT) {
            self.painter.sequence("\x1b[4h");
        }
        if terminal.has(Modes::NEW_LINE) {
            self.painter.sequence("\x1b[20h");
        }
    }
}

/// Whether the row's last cell is blank because a wide character did not fit, which now begins the next row.
fn leads_to_wide(last: Cell, next: Cell) -> bool {
    last.is_leader() && next.is_wide() && last.cluster().is_none() && last.style() == next.style()
}

/// Whether a cell is as on a fresh screen.
pub(super) fn is_blank(cell: Cell) -> bool {
    cell.without_leader() == Cell::BLANK
}

/// All four character sets as on a fresh terminal.
const ASCII: &str = "\x1b(B\x1b)B\x1b*B\x1b+B";
/// The modes that may be set and reset at any time before the cursor is placed.
const PRIVATE_MODES: [u16; 12] = [1, 6, 1000, 1002, 1003, 1004, 1005, 1006, 2004, 25, 1007, 1042];

/// Bytes that repaint as much of the screen as a terminal of `size` shows, with the cursor in it.
pub(super) fn crop(terminal: &Terminal, size: crate::Size) -> Vec<u8> {
    let (rows, columns) = (usize::from(size.rows()), usize::from(size.columns()));
    let cursor = terminal.grid.cursor;
    let top = (cursor.row + 1).saturating_sub(rows);
    let left = (cursor.column + 1).saturating_sub(columns);
    let mut picture = Picture {
        terminal,
        painter: Painter::default(),
        style: None,
    };
    picture.painter.sequence("\x1b[?25l\x1b[0m");
    for row in 0..rows {
        picture.painter.go(row, 0);
        let end = if top + row < terminal.rows() {
            (left + columns).min(terminal.columns)
        } else {
            left
        };
        let cell = |column| terminal.grid.rows[top + row].cell(column);
        let filled = (left..end).rev().find(|column| !is_blank(cell(*column)));
        let behind = filled.map_or(left, |column| column + 1);
        for column in left..behind {
            let cell = cell(column);
            if (cell.is_wide() && column + 1 == end) || (cell.is_half() && column == left) {
                // The other half of a wide character at the edge is out of sight.
                picture.set_style(terminal.styles.get(cell.style()));
                picture.painter.text(" ");
            } else if !cell.is_half() {
                picture.cell(cell);
            }
        }
        picture.set_style(Style::default());
        // Behind the last column there is nothing to erase, and erasing there takes the last character.
        if behind < left + columns {
            picture.painter.sequence("\x1b[K");
        }
    }
    picture.painter.set_pen(&Pen::default());
    picture.painter.go(cursor.row - top, cursor.column - left);
    if terminal.has(Modes::SHOW_CURSOR) {
        picture.painter.sequence("\x1b[?25h");
    }
    picture.painter.into_bytes()
}

/// Bytes that make a fresh terminal's keyboard and pastes the program's.
pub(super) fn key_modes(terminal: &Terminal) -> Vec<u8> {
    let mut picture = Picture {
        terminal,
        painter: Painter::default(),
        style: None,
    };
    for (mode, sequence) in [
        (Modes::APP_CURSOR, "\x1b[?1h"),
        (Modes::BRACKETED_PASTE, "\x1b[?2004h"),
    ] {
        if terminal.has(mode) {
            picture.painter.sequence(sequence);
        }
    }
    picture.keys();
    picture.painter.sequence(terminal.keyboard.sequences());
    picture.painter.into_bytes()
}
