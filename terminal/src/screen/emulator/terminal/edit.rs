//! Scrolling, erasing, inserting and deleting.

use super::{Cell, Grid, Modes, Row, Terminal};

impl Terminal {
    /// Moves the rows from `origin` to the region's end up; those that leave the screen's first row are history.
    pub(super) fn scroll_up(&mut self, origin: usize, count: usize) {
        let end = self.region.1;
        let count = count.min(end - self.region.0).min(end - origin);
        let blank = self.blank();
        if origin == 0 {
            self.keep(count);
        }
        self.rotate(origin, end, count, blank);
    }

    /// Moves all rows up by one.
    #[inline]
    pub(super) fn scroll_screen(&mut self) {
        let (blank, columns) = (self.blank(), self.columns);
        if let Some(mut row) = self.grid.rows.pop_front() {
            if !self.is_alternate() {
                self.history.push(&row, &self.clusters);
            }
            row.clear(blank, columns);
            self.grid.rows.push_back(row);
        }
    }

    /// Moves the rows from `origin` to the region's end down.
    pub(super) fn scroll_down(&mut self, origin: usize, count: usize) {
        let end = self.region.1;
        let count = count.min(end - origin);
        let (blank, columns) = (self.blank(), self.columns);
        let rows = &mut self.grid.rows.make_contiguous()[origin..end];
        rows.rotate_right(count);
        rows[..count].iter_mut().for_each(|row| row.clear(blank, columns));
    }

    /// IL.
    pub(super) fn insert_lines(&mut self, count: usize) {
        let row = self.grid.cursor.row;
        if (self.region.0..self.region.1).contains(&row) {
            self.scroll_down(row, count);
        }
    }

    /// DL.
    pub(super) fn delete_lines(&mut self, count: usize) {
        let row = self.grid.cursor.row;
        if (self.region.0..self.region.1).contains(&row) {
            self.scroll_up(row, count);
        }
    }

    /// ICH.
    pub(super) fn insert_blanks(&mut self, count: usize) {
        let (blank, columns, column) = (self.blank(), self.columns, self.grid.cursor.column);
        self.row().insert(column, count, blank, columns);
    }

    /// DCH.
    pub(super) fn delete_characters(&mut self, count: usize) {
        let (blank, columns, column) = (self.blank(), self.columns, self.grid.cursor.column);
        self.row().delete(column, count, blank, columns);
    }

    /// ECH.
    pub(super) fn erase_characters(&mut self, count: usize) {
        let column = self.grid.cursor.column;
        self.erase(column, (column + count).min(self.columns));
    }

    /// EL. Nothing is right of a cursor behind the last column.
    pub(super) fn erase_line(&mut self, part: u16) {
        let column = self.grid.cursor.column;
        match part {
            0 if self.grid.cursor.needs_wrap => {}
            0 => self.erase(column, self.columns),
            1 => self.erase(0, column + 1),
            2 => self.erase(0, self.columns),
            _ => {}
        }
    }

    /// ED.
    pub(super) fn erase_screen(&mut self, part: u16) {
        let cursor = self.grid.cursor;
        match part {
            0 => {
                self.erase(cursor.column, self.columns);
                self.clear_rows(cursor.row + 1, self.rows());
            }
            1 => {
                self.clear_rows(0, cursor.row);
                self.erase(0, cursor.column + 1);
            }
            2 => {
                if !self.is_alternate() {
                    // What was to be seen is history.
                    let filled = (0..self.rows()).rev().find(|row| !self.is_row_empty(*row));
                    let count = filled.map_or(0, |last| last + 1);
                    self.keep(count);
                }
                self.clear_rows(0, self.rows());
            }
            3 if !self.is_alternate() => self.history.clear(),
            _ => {}
        }
    }

    /// DECALN.
    pub(super) fn align(&mut self) {
        for row in &mut self.grid.rows {
            *row = Row::new(vec![Cell::new('E', 0); self.columns], false);
        }
    }

    /// DECCOLM: the width stays, all else is done.
    pub(super) fn change_width(&mut self) {
        self.region = (0, self.rows());
        self.go(0, 0);
        self.clear_rows(0, self.rows());
    }

    /// Shows a blank alternate grid.
    pub(super) fn show_alternate(&mut self) {
        if self.is_alternate() {
            return;
        }
        let mut grid = Grid::new(self.rows());
        grid.cursor = self.grid.cursor;
        grid.saved = self.grid.cursor;
        self.grid.saved = self.grid.cursor;
        self.hidden = Some(std::mem::replace(&mut self.grid, grid));
        self.clear_rows(0, self.rows());
        std::mem::swap(&mut self.keyboard, &mut self.other_keyboard);
    }

    /// Shows the primary grid; the alternate one is forgotten.
    pub(super) fn show_primary(&mut self) {
        if let Some(grid) = self.hidden.take() {
            self.grid = grid;
            self.pen = None;
            self.keyboard = std::mem::take(&mut self.other_keyboard);
            self.keep_in_region();
        }
    }

    /// RIS.
    pub(super) fn reset(&mut self) {
        let size = (self.columns, self.rows());
        self.history.clear();
        self.hidden = None;
        self.grid = Grid::new(size.1);
        self.modes = Modes::default();
        self.kept_modes.clear();
        self.region = (0, size.1);
        self.tabs = (0..size.0).map(super::is_default_tab).collect();
        self.is_shifted = false;
        self.titles = <_>::default();
        self.keyboard = <_>::default();
        self.other_keyboard = <_>::default();
        self.other_keys = 0;
        self.cursor_style = None;
        self.colours = <_>::default();
        self.pen = None;
    }

    /// DECSTR, as far as xterm and its kin agree: what a program may have left set stops to surprise the next.
    pub(super) fn soft_reset(&mut self) {
        let defaults = [
            (Modes::SHOW_CURSOR, true),
            (Modes::LINE_WRAP, true),
            (Modes::INSERT, false),
            (Modes::ORIGIN, false),
            (Modes::APP_CURSOR, false),
            (Modes::APP_KEYPAD, false),
        ];
        defaults.iter().for_each(|(mode, on)| self.modes.set(*mode, *on));
        self.region = (0, self.rows());
        self.is_shifted = false;
        self.grid.cursor.pen = <_>::default();
        self.grid.cursor.drawings = <_>::default();
        self.grid.saved = <_>::default();
        self.pen = None;
    }

    /// Adds the first rows to the history.
    fn keep(&mut self, count: usize) {
        if !self.is_alternate() {
            for row in self.grid.rows.iter().take(count) {
                self.history.push(row, &self.clusters);
            }
        }
    }

    /// Moves rows up by `count`, and blank ones in below.
    fn rotate(&mut self, start: usize, end: usize, count: usize, blank: Cell) {
        let columns = self.columns;
        let rows = &mut self.grid.rows;
        if start == 0 && end == rows.len() {
            for _ in 0..count {
                let mut row = rows.pop_front().expect("a grid has rows");
                row.clear(blank, columns);
                rows.push_back(row);
            }
        } else {
            let rows = &mut rows.make_contiguous()[start..end];
            rows.rotate_left(count);
            rows[end - start - count..]
                .iter_mut()
                .for_each(|row| row.clear(blank, columns));
        }
    }

    fn erase(&mut self, start: usize, end: usize) {
        let (blank, columns) = (self.blank(), self.columns);
        self.row().erase(start..end, blank, columns);
    }

    fn clear_rows(&mut self, start: usize, end: usize) {
        let (blank, columns) = (self.blank(), self.columns);
        self.grid
            .rows
            .range_mut(start..end)
            .for_each(|row| row.clear(blank, columns));
    }

    /// Whether a row shows nothing.
    pub(super) fn is_row_empty(&self, row: usize) -> bool {
        let row = &self.grid.rows[row];
        !row.is_wrapped && row.cells().iter().all(|cell| self.is_empty(*cell))
    }

    /// Whether a cell is nothing to keep when lines are wrapped anew.
    pub(super) fn is_empty(&self, cell: Cell) -> bool {
        cell.is_space()
            && !cell.is_half()
            && !cell.is_leader()
            && (cell.style() == 0 || self.styles.get(cell.style()).is_empty())
    }
}
