//! The state of a terminal and what sequences do to it.

use std::collections::VecDeque;

use super::cell::Cell;
use super::clusters::Clusters;
use super::colours::Colours;
use super::history::History;
use super::keyboard::Keyboard;
use super::modes::{CursorStyle, Modes};
use super::row::Row;
use super::strip::Strip;
use super::style::{Style, Styles, Tint};
use super::titles::Titles;
use crate::screen::signals::Signals;
use crate::size::Size;
use crate::snapshot::Links;

mod answers;
mod commands;
mod control;
mod edit;
mod motion;
mod pass;
mod perform;
mod print;
mod rendition;
mod resize;

/// A terminal. Its parser stands between sequences whenever anybody looks.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) columns: usize,
    /// The grid that shows.
    pub(super) grid: Grid,
    /// The primary grid while the alternate one shows.
    pub(super) hidden: Option<Grid>,
    /// What scrolled off the primary grid.
    pub(super) history: History,
    pub(super) styles: Styles,
    pub(super) clusters: Clusters,
    pub(super) modes: Modes,
    /// Private modes that have no effect here, for whoever attaches.
    pub(super) kept_modes: Vec<u16>,
    /// The scroll region: its first row, and the one behind its last.
    pub(super) region: (usize, usize),
    /// Whether there is a tab stop, for each column.
    pub(super) tabs: Vec<bool>,
    /// Whether characters come from G1, by SHIFT OUT.
    pub(super) is_shifted: bool,
    pub(super) titles: Titles,
    /// The kitty keyboard protocol on the grid that shows, and on the other one.
    pub(super) keyboard: Keyboard,
    pub(super) other_keyboard: Keyboard,
    /// xterm's `modifyOtherKeys`.
    pub(super) other_keys: u8,
    /// What the program chose.
    pub(super) cursor_style: Option<CursorStyle>,
    pub(super) colours: Colours,
    pub(super) signals: Signals,
    /// The last character that was written.
    pub(super) last_character: Option<char>,
    /// Whether nothing came after that character.
    pub(super) follows_text: bool,
    /// Whether a synchronized update is left to be held back rather than drawn.
    pub(super) holds_updates: bool,
    /// A blank of the cursor's pen, once it is needed.
    pen: Option<Cell>,
    replies: Vec<u8>,
}

/// The cells of a screen, and its cursors.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub(super) rows: VecDeque<Row>,
    pub(super) cursor: Cursor,
    pub(super) saved: Cursor,
}

/// Where the next character goes, and what it is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cursor {
    pub(super) row: usize,
    pub(super) column: usize,
    /// The last column was written: the next character goes to the next row first.
    pub(super) needs_wrap: bool,
    pub(super) pen: Style,
    /// Which of G0 to G3 are line drawings; the others are ASCII.
    pub(super) drawings: [bool; 4],
}

impl Terminal {
    /// A fresh terminal.
    pub(super) fn new(size: Size) -> Self {
        let (columns, rows) = cells(size);
        Self {
            columns,
            grid: Grid::new(rows),
            hidden: None,
            history: History::default(),
            styles: Styles::default(),
            clusters: Clusters::default(),
            modes: Modes::default(),
            kept_modes: Vec::new(),
            region: (0, rows),
            tabs: (0..columns).map(is_default_tab).collect(),
            is_shifted: false,
            titles: Titles::default(),
            keyboard: Keyboard::default(),
            other_keyboard: Keyboard::default(),
            other_keys: 0,
            cursor_style: None,
            colours: Colours::default(),
            signals: Signals::default(),
            last_character: None,
            follows_text: false,
            holds_updates: true,
            pen: None,
            replies: Vec::new(),
        }
    }

    /// The answers since the last call.
    pub(super) fn take_replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    pub(super) fn has(&self, mode: Modes) -> bool {
        self.modes.has(mode)
    }

    pub(super) fn rows(&self) -> usize {
        self.grid.rows.len()
    }

    pub(super) fn is_alternate(&self) -> bool {
        self.hidden.is_some()
    }

    /// The number of the first visible row.
    pub(super) fn top_line(&self) -> u64 {
        self.history.range().end
    }

    /// The lines of a range that there are.
    pub(super) fn lines(&self, range: std::ops::Range<u64>) -> Vec<crate::Line> {
        let history = self.history.range();
        let end = range.end.min(history.end + self.rows() as u64);
        let mut encoded = Vec::new();
        let mut links = Links::default();
        (range.start.max(history.start)..end)
            .map(|number| {
                if number < history.end {
                    let line = self.history.line((number - history.start) as usize);
                    return Strip::decode(line).line(number, &self.styles, &mut links);
                }
                encoded.clear();
                let row = &self.grid.rows[(number - history.end) as usize];
                super::strip::encode(row, &self.clusters, &mut encoded);
                Strip::decode(&encoded).line(number, &self.styles, &mut links)
            })
            .collect()
    }

    /// The character before the cursor and its column, if writing that character there again would leave
    /// everything as it is. Then, and only then, is it repeated when the program says so.
    pub(super) fn repeatable(&self) -> Option<(usize, char)> {
        let character = self.last_character.filter(|_| self.follows_text)?;
        let cursor = &self.grid.cursor;
        let row = &self.grid.rows[cursor.row];
        let mut column = if cursor.needs_wrap {
            cursor.column
        } else {
            cursor.column.checked_sub(1)?
        };
        if row.cell(column).is_half() {
            column = column.checked_sub(1)?;
        }
        let cell = row.cell(column);
        let end = column + if cell.is_wide() { 2 } else { 1 };
        let behind = if cursor.needs_wrap {
            self.columns
        } else {
            cursor.column
        };
        let same = cell.character() == Some(self.drawn(character))
            && self.styles.get(cell.style()) == cursor.pen
            && !(row.is_wrapped && end == self.columns)
            && !cell.is_leader()
            && end == behind;
        (same && !self.has(Modes::INSERT)).then_some((column, character))
    }

    /// A blank of the cursor's pen.
    #[inline]
    fn pen(&mut self) -> Cell {
        match self.pen {
            Some(pen) => pen,
            None => self.new_pen(),
        }
    }

    fn new_pen(&mut self) -> Cell {
        let number = self.style(self.grid.cursor.pen);
        *self.pen.insert(Cell::new(' ', number))
    }

    /// What cells are erased with.
    fn blank(&mut self) -> Cell {
        let pen = self.grid.cursor.pen;
        if pen.background == Tint::DEFAULT {
            Cell::BLANK
        } else {
            Cell::new(' ', self.style(pen.erased()))
        }
    }

    #[inline]
    fn style(&mut self, style: Style) -> u32 {
        match self.styles.recent(&style) {
            Some(number) => number,
            None => self.new_style(style),
        }
    }

    fn new_style(&mut self, style: Style) -> u32 {
        if self.styles.is_full() {
            self.sweep_styles();
        }
        self.styles.number(style)
    }

    /// Forgets styles that no cell has any more.
    fn sweep_styles(&mut self) {
        let mut used = vec![false; self.styles.len()];
        let cells = self.grids().flat_map(Grid::cells);
        cells.for_each(|cell| used[cell.style() as usize] = true);
        for line in self.history.lines() {
            Strip::decode(line)
                .runs()
                .for_each(|(_, style)| used[style as usize] = true);
        }
        let pens: Vec<Style> = self
            .grids()
            .flat_map(|grid| [grid.cursor.pen, grid.saved.pen])
            .collect();
        self.styles.sweep(&used, &pens);
        self.pen = None;
    }

    /// Forgets clusters that no cell has any more, if there are many.
    fn sweep_clusters(&mut self) {
        if self.clusters.is_full() {
            let cells = [Some(&self.grid), self.hidden.as_ref()];
            self.clusters
                .sweep(cells.into_iter().flatten().flat_map(Grid::cells));
        }
    }

    fn grids(&self) -> impl Iterator<Item = &Grid> {
        std::iter::once(&self.grid).chain(&self.hidden)
    }

    fn row(&mut self) -> &mut Row {
        &mut self.grid.rows[self.grid.cursor.row]
    }
}

impl Grid {
    /// A blank grid.
    pub(super) fn new(rows: usize) -> Self {
        Self {
            rows: std::iter::repeat_with(Row::default).take(rows).collect(),
            cursor: Cursor::default(),
            saved: Cursor::default(),
        }
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.rows.iter().flat_map(|row| row.cells().iter().copied())
    }
}

/// The columns and rows of a size; a wide character needs two columns.
pub(super) fn cells(size: Size) -> (usize, usize) {
    (usize::from(size.columns()).max(2), usize::from(size.rows()))
}

pub(super) fn is_default_tab(column: usize) -> bool {
    column.is_multiple_of(8)
}
