//! Alacritty's terminal behind a handler of our own, which keeps what the terminal does not tell and bounds
//! what it does not bound.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Osc52, Term, TermMode};
use alacritty_terminal::vte::ansi::{CharsetIndex, Handler, KeyboardModes, KeyboardModesApplyBehavior};
use unicode_width::UnicodeWidthChar;

use super::cells;
use crate::screen::keyboard::Keyboard;
use crate::screen::titles::Titles;
use crate::size::Size;

mod handler;

/// A terminal and what it has no getter for.
pub(in super::super) struct Terminal {
    pub(in super::super) term: Term<Listener>,
    replies: Listener,
    /// The scroll region: its first row, and the one behind its last.
    pub(in super::super) region: (usize, usize),
    /// Whether there is a tab stop, for each column.
    pub(in super::super) tabs: Vec<bool>,
    /// Whether characters come from G1, by SHIFT OUT.
    pub(in super::super) is_shifted: bool,
    pub(in super::super) titles: Titles,
    /// The kitty keyboard protocol on the screen that shows, and on the other one.
    pub(in super::super) keyboard: Keyboard,
    pub(in super::super) other_keyboard: Keyboard,
    /// xterm's `modifyOtherKeys`.
    pub(in super::super) other_keys: u8,
    /// Whether the program chose a cursor style.
    pub(in super::super) has_cursor_style: bool,
    /// Private modes of [`KEPT_MODES`] that are set and that the terminal does not know.
    pub(in super::super) kept_modes: Vec<u16>,
    /// The last character that was written.
    pub(in super::super) last_character: Option<char>,
    /// Lines of history that were forgotten.
    forgotten: u64,
    /// Lines of the primary screen's history while the alternate one shows.
    hidden_history: usize,
}

impl Terminal {
    pub(in super::super) fn new(size: Size) -> Self {
        Self::fresh(Cells::of(size), Listener::default())
    }

    fn fresh(dimensions: Cells, replies: Listener) -> Self {
        let config = Config {
            scrolling_history: HISTORY + SLACK,
            kitty_keyboard: true,
            osc52: Osc52::Disabled,
            ..Config::default()
        };
        Self {
            term: Term::new(config, &dimensions, replies.clone()),
            replies,
            region: (0, dimensions.rows),
            tabs: (0..dimensions.columns).map(is_default_tab).collect(),
            is_shifted: false,
            titles: Titles::default(),
            keyboard: Keyboard::default(),
            other_keyboard: Keyboard::default(),
            other_keys: 0,
            has_cursor_style: false,
            kept_modes: Vec::new(),
            last_character: None,
            forgotten: 0,
            hidden_history: 0,
        }
    }

    pub(in super::super) fn resize(&mut self, size: Size) {
        let dimensions = Cells::of(size);
        if (dimensions.columns, dimensions.rows) == (self.columns(), self.rows()) {
            return;
        }
        self.term.resize(dimensions);
        self.region = (0, dimensions.rows);
        let before = self.tabs.len();
        self.tabs.resize(dimensions.columns, false);
        (before..dimensions.columns).for_each(|column| self.tabs[column] = is_default_tab(column));
        self.settle_cursors();
        self.mend_all();
        self.mark_rows();
        if self.has(TermMode::ALT_SCREEN) {
            // The hidden screen's saved cursor is its cursor from here on, as after entering the alternate one;
            // so looking at it (which makes it so) changes nothing.
            self.on_other_screen(|terminal| {
                terminal.settle_cursors();
                terminal.mend_all();
                terminal.mark_rows();
                terminal.hidden_history = terminal.term.history_size();
            });
        }
    }

    /// The answers since the last call.
    pub(in super::super) fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.replies.lock())
    }

    pub(in super::super) fn has(&self, mode: TermMode) -> bool {
        self.term.mode().contains(mode)
    }

    pub(in super::super) fn columns(&self) -> usize {
        self.term.columns()
    }

    pub(in super::super) fn rows(&self) -> usize {
        self.term.screen_lines()
    }

    /// The numbers of the lines of the primary screen's history.
    pub(in super::super) fn history(&self) -> Range<u64> {
        // The other screen's history is out of sight, so its length is what it was when that was left.
        let lines = if self.has(TermMode::ALT_SCREEN) {
            self.hidden_history
        } else {
            self.term.history_size()
        };
        let shown = lines.min(HISTORY);
        let first = self.forgotten + (lines - shown) as u64;
        first..first + shown as u64
    }

    /// Counts the history as forgotten; on the alternate screen there is none to forget.
    fn forget_history(&mut self) {
        if !self.has(TermMode::ALT_SCREEN) {
            self.forgotten += self.term.history_size() as u64;
        }
    }

    /// Forgets history that is too long.
    fn trim_history(&mut self) {
        let excess = self.term.history_size().saturating_sub(HISTORY);
        if excess > SLACK / 2 {
            self.forgotten += excess as u64;
            let grid = self.term.grid_mut();
            grid.update_history(HISTORY);
            grid.update_history(HISTORY + SLACK);
        }
    }

    /// A cell of the visible screen.
    pub(in super::super) fn cell(&self, row: usize, column: usize) -> &Cell {
        &self.term.grid()[line(row)][Column(column)]
    }

    /// Whether a line wraps, and its cells.
    fn line_at(&self, number: u64) -> &alacritty_terminal::grid::Row<Cell> {
        let top = self.history().end;
        let at = i32::try_from(number.cast_signed() - top.cast_signed()).unwrap_or(0);
        &self.term.grid()[Line(at)]
    }

    /// The lines of a range that there are.
    pub(in super::super) fn lines(&self, range: Range<u64>) -> Vec<(String, bool)> {
        let history = self.history();
        // The primary screen's history cannot be read while the alternate one shows.
        let first = if self.has(TermMode::ALT_SCREEN) {
            history.end
        } else {
            history.start
        };
        let numbers = range.start.max(first)..range.end.min(history.end + self.rows() as u64);
        numbers
            .map(|number| cells::line(self.line_at(number), self.columns()))
            .collect()
    }

    /// Whether the row's text goes on in the next row.
    pub(in super::super) fn is_wrapped(&self, row: usize) -> bool {
        self.cell(row, self.columns() - 1).flags.contains(Flags::WRAPLINE)
    }

    /// Where the next character goes, and whether it goes to the next row first.
    pub(in super::super) fn cursor(&self) -> (usize, usize, bool) {
        let cursor = &self.term.grid().cursor;
        (
            row(cursor.point.line),
            cursor.point.column.0,
            cursor.input_needs_wrap,
        )
    }

    /// Runs `look` while the alternate screen's terminal shows the primary one instead.
    pub(in super::super) fn on_other_screen<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let blank = alacritty_terminal::Grid::new(self.rows(), self.columns(), 0);
        // Swapping back clears the alternate screen.
        let alternate = std::mem::replace(self.term.grid_mut(), blank);
        self.term.swap_alt();
        std::mem::swap(&mut self.keyboard, &mut self.other_keyboard);
        let result = look(self);
        std::mem::swap(&mut self.keyboard, &mut self.other_keyboard);
        self.term.swap_alt();
        *self.term.grid_mut() = alternate;
        self.apply_keyboard();
        result
    }

    /// The column of the character before the cursor, if writing that character there again would leave
    /// everything as it is. Then, and only then, is it repeated when the program says so.
    pub(in super::super) fn repeatable(&self) -> Option<usize> {
        let character = self.last_character?;
        let (row, column, needs_wrap) = self.cursor();
        let mut column = if needs_wrap {
            column
        } else {
            column.checked_sub(1)?
        };
        if self.cell(row, column).flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = column.checked_sub(1)?;
        }
        let cell = self.cell(row, column);
        let cursor = &self.term.grid().cursor;
        let charset = cursor.charsets[self.charset()];
        let is_wide = cell.flags.contains(Flags::WIDE_CHAR);
        let end = column + if is_wide { 2 } else { 1 };
        let same = cell.c == charset.map(character)
            && cell.zerowidth().is_none_or(<[char]>::is_empty)
            && cells::pen(cell) == cells::pen(&cursor.template)
            && !cell
                .flags
                .intersects(Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER)
            && is_wide == (character.width() == Some(2))
            && end
                == if needs_wrap {
                    self.columns()
                } else {
                    cursor.point.column.0
                };
        (same && !self.has(TermMode::INSERT)).then_some(column)
    }

    /// The set that characters come from.
    pub(in super::super) fn charset(&self) -> CharsetIndex {
        if self.is_shifted {
            CharsetIndex::G1
        } else {
            CharsetIndex::G0
        }
    }

    /// Whether the cell that a mark without width would join has as many as it may.
    fn is_full_of_marks(&self) -> bool {
        let (row, column, needs_wrap) = self.cursor();
        let mut column = if needs_wrap {
            column
        } else {
            column.saturating_sub(1)
        };
        if self.cell(row, column).flags.contains(Flags::WIDE_CHAR_SPACER) {
            column = column.saturating_sub(1);
        }
        self.cell(row, column)
            .zerowidth()
            .is_some_and(|marks| marks.len() >= MAX_MARKS)
    }

    /// Tells the terminal the keyboard flags, which swapping screens resets.
    pub(in super::super) fn apply_keyboard(&mut self) {
        let flags = KeyboardModes::from_bits_truncate(self.keyboard.flags());
        self.term
            .set_keyboard_mode(flags, KeyboardModesApplyBehavior::Replace);
    }

    /// Removes halves of wide characters whose other half is gone, at the border before `column`.
    fn mend(&mut self, row: usize, column: usize) {
        let columns = self.columns();
        let cells = &mut self.term.grid_mut()[line(row)];
        let right_is_half = column < columns && cells[Column(column)].flags.contains(Flags::WIDE_CHAR_SPACER);
        let left_is_half = column > 0 && cells[Column(column - 1)].flags.contains(Flags::WIDE_CHAR);
        if left_is_half && !right_is_half {
            cells[Column(column - 1)].clear_wide();
        }
        if right_is_half && !left_is_half {
            cells[Column(column)].flags.remove(Flags::WIDE_CHAR_SPACER);
        }
    }

    fn mend_row(&mut self, row: usize) {
        (0..=self.columns()).for_each(|column| self.mend(row, column));
        let last = self.columns() - 1;
        let cells = &mut self.term.grid_mut()[line(row)];
        (0..last).for_each(|column| cells[Column(column)].flags.remove(Flags::WRAPLINE));
    }

    /// Marks all rows as written throughout: those wrapped anew are thought of as shorter, and their rests come back
    /// when the rows are used again.
    fn mark_rows(&mut self) {
        let last = Column(self.columns() - 1);
        let (top, rows) = (self.term.topmost_line().0, self.rows());
        let grid = self.term.grid_mut();
        grid.truncate();
        for at in (top..0).map(Line).chain((0..rows).map(line)) {
            grid[at][last].flags |= Flags::empty();
        }
    }

    fn mend_all(&mut self) {
        (0..self.rows()).for_each(|row| self.mend_row(row));
    }

    /// Only a cursor in the last column may wait to wrap; after a change of size another one might.
    fn settle_cursors(&mut self) {
        let last = Column(self.columns() - 1);
        let last_line = line(self.rows() - 1);
        let grid = self.term.grid_mut();
        for cursor in [&mut grid.cursor, &mut grid.saved_cursor] {
            cursor.point.line = cursor.point.line.clamp(Line(0), last_line);
            if cursor.input_needs_wrap && cursor.point.column < last {
                cursor.input_needs_wrap = false;
                cursor.point.column += 1;
            }
            cursor.point.column = cursor.point.column.min(last);
        }
    }

    /// In origin mode the cursor stays in the region (DECRC does not check that).
    fn keep_in_region(&mut self) {
        if self.has(TermMode::ORIGIN) {
            let (top, bottom) = (line(self.region.0), line(self.region.1 - 1));
            let point = &mut self.term.grid_mut().cursor.point;
            point.line = point.line.clamp(top, bottom);
        }
    }
}

/// Collects the terminal's answers.
#[derive(Clone, Default)]
pub(in super::super) struct Listener(Arc<Mutex<Vec<u8>>>);

impl Listener {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, answer: &str) {
        let mut replies = self.lock();
        if replies.len() < MAX_REPLIES {
            replies.extend_from_slice(answer.as_bytes());
        }
    }
}

impl EventListener for Listener {
    fn send_event(&self, event: Event) {
        if let Event::PtyWrite(answer) = event {
            self.answer(&answer);
        }
    }
}

/// A size as the terminal takes it.
#[derive(Clone, Copy)]
struct Cells {
    columns: usize,
    rows: usize,
}

impl Cells {
    fn of(size: Size) -> Self {
        // A wide character needs two.
        Self {
            columns: usize::from(size.columns()).max(2),
            rows: usize::from(size.rows()),
        }
    }
}

impl Dimensions for Cells {
    fn total_lines(&self) -> usize {
        self.rows
    }

    fn screen_lines(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }
}

/// The line of a visible row.
pub(in super::super) fn line(row: usize) -> Line {
    Line(i32::try_from(row).unwrap_or(i32::MAX))
}

/// The visible row of a line.
pub(in super::super) fn row(line: Line) -> usize {
    usize::try_from(line.0).unwrap_or(0)
}

pub(in super::super) fn is_default_tab(column: usize) -> bool {
    column.is_multiple_of(8)
}

/// Lines kept above the screen.
const HISTORY: usize = 10_000;
/// Lines beyond those before they are forgotten, so that what was forgotten is counted; more than one sequence
/// scrolls off.
const SLACK: usize = 4_000;
/// Characters without width in a cell.
const MAX_MARKS: usize = 16;
/// Bytes of answers between two looks at them.
const MAX_REPLIES: usize = 64 * 1024;
