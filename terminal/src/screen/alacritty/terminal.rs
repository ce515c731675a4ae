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
use super::keyboard::Keyboard;
use super::titles::Titles;
use crate::screen::signals::Signals;
use crate::size::Size;

mod handler;

/// A terminal and what it has no getter for.
pub(super) struct Terminal {
    pub(super) term: Term<Listener>,
    replies: Listener,
    /// The scroll region: its first row, and the one behind its last.
    pub(super) region: (usize, usize),
    /// Whether there is a tab stop, for each column.
    pub(super) tabs: Vec<bool>,
    /// Whether characters come from G1, by SHIFT OUT.
    pub(super) is_shifted: bool,
    pub(super) titles: Titles,
    /// The kitty keyboard protocol on the screen that shows, and on the other one.
    pub(super) keyboard: Keyboard,
    pub(super) other_keyboard: Keyboard,
    /// xterm's `modifyOtherKeys`.
    pub(super) other_keys: u8,
    /// Whether the program chose a cursor style.
    pub(super) has_cursor_style: bool,
    /// Private modes of [`KEPT_MODES`] that are set and that the terminal does not know.
    pub(super) kept_modes: Vec<u16>,
    /// The last character that was written.
    pub(super) last_character: Option<char>,
    pub(super) signals: Signals,
    /// Lines of history that were forgotten.
    forgotten: u64,
    /// Lines of the primary screen's history while the alternate one shows.
    hidden_history: usize,
}

impl Terminal {
    pub(super) fn new(size: Size) -> Self {
        let replies = Listener::default();
        let config = Config {
            scrolling_history: HISTORY + SLACK,
            kitty_keyboard: true,
            osc52: Osc52::Disabled,
            ..Config::default()
        };
        let dimensions = Cells::of(size);
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
            signals: Signals::default(),
            forgotten: 0,
            hidden_history: 0,
        }
    }

    pub(super) fn resize(&mut self, size: Size) {
        let dimensions = Cells::of(size);
        self.term.resize(dimensions);
        self.region = (0, dimensions.rows);
        let before = self.tabs.len();
        self.tabs.resize(dimensions.columns, false);
        (before..dimensions.columns).for_each(|column| self.tabs[column] = is_default_tab(column));
        self.settle_cursors();
        self.mend_all();
        if self.has(TermMode::ALT_SCREEN) {
            // The hidden screen's saved cursor is its cursor from here on, as after entering the alternate one;
            // so looking at it (which makes it so) changes nothing.
            self.on_other_screen(|terminal| {
                terminal.settle_cursors();
                terminal.mend_all();
                terminal.hidden_history = terminal.term.history_size();
            });
        }
    }

    /// The answers since the last call.
    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.replies.lock())
    }

    pub(super) fn has(&self, mode: TermMode) -> bool {
        self.term.mode().contains(mode)
    }

    pub(super) fn columns(&self) -> usize {
        self.term.columns()
    }

    pub(super) fn rows(&self) -> usize {
        self.term.screen_lines()
    }

    /// The numbers of the lines of the primary screen's history.
    pub(super) fn history(&self) -> Range<u64> {
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
    pub(super) fn cell(&self, row: usize, column: usize) -> &Cell {
        &self.term.grid()[line(row)][Column(column)]
    }

    /// Whether a line wraps, and its cells.
    fn line_at(&self, number: u64) -> &alacritty_terminal::grid::Row<Cell> {
        let top = self.history().end;
        let at = i32::try_from(number.cast_signed() - top.cast_signed()).unwrap_or(0);
        &self.term.grid()[Line(at)]
    }

    /// The lines of a range that there are.
    pub(super) fn lines(&self, range: Range<u64>) -> Vec<crate::Line> {
        let history = self.history();
        // The primary screen's history cannot be read while the alternate one shows.
        let first = if self.has(TermMode::ALT_SCREEN) {
            history.end
        } else {
            history.start
        };
        let numbers = range.start.max(first)..range.end.min(history.end + self.rows() as u64);
        numbers
            .map(|number| cells::line(self.line_at(number), self.columns(), number))
            .collect()
    }

    /// Whether the row's text goes on in the next row.
    pub(super) fn is_wrapped(&self, row: usize) -> bool {
        self.cell(row, self.columns() - 1).flags.contains(Flags::WRAPLINE)
    }

    /// Where the next character goes, and whether it goes to the next row first.
    pub(super) fn cursor(&self) -> (usize, usize, bool) {
        let cursor = &self.term.grid().cursor;
        (
            row(cursor.point.line),
            cursor.point.column.0,
            cursor.input_needs_wrap,
        )
    }

    /// Runs `look` while the alternate screen's terminal shows the primary one instead.
    pub(super) fn on_other_screen<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
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
    pub(super) fn repeatable(&self) -> Option<usize> {
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
    pub(super) fn charset(&self) -> CharsetIndex {
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
    pub(super) fn apply_keyboard(&mut self) {
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
pub(super) struct Listener(Arc<Mutex<Vec<u8>>>);

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
pub(super) fn line(row: usize) -> Line {
    Line(i32::try_from(row).unwrap_or(i32::MAX))
}

/// The visible row of a line.
pub(super) fn row(line: Line) -> usize {
    usize::try_from(line.0).unwrap_or(0)
}

pub(super) fn is_default_tab(column: usize) -> bool {
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
