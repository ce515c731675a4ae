//! Moving the cursor.

use super::{Modes, Terminal};

impl Terminal {
    /// Moves to a cell, counted from the region's first row in origin mode, where the cursor stays in the region.
    pub(super) fn go(&mut self, row: usize, column: usize) {
        let (top, bottom) = if self.has(Modes::ORIGIN) {
            self.region
        } else {
            (0, self.rows())
        };
        let cursor = &mut self.grid.cursor;
        cursor.row = row.saturating_add(top).min(bottom - 1);
        cursor.column = column.min(self.columns - 1);
        cursor.needs_wrap = false;
    }

    /// Moves to a row of the screen.
    pub(super) fn move_to(&mut self, row: usize, column: usize) {
        self.grid.cursor.row = row.min(self.rows() - 1);
        self.grid.cursor.column = column.min(self.columns - 1);
        self.grid.cursor.needs_wrap = false;
        self.keep_in_region();
    }

    /// In origin mode the cursor stays in the region.
    pub(super) fn keep_in_region(&mut self) {
        if self.has(Modes::ORIGIN) {
            let row = &mut self.grid.cursor.row;
            *row = (*row).clamp(self.region.0, self.region.1 - 1);
        }
    }

    pub(super) fn move_up(&mut self, rows: usize) {
        let cursor = self.grid.cursor;
        self.move_to(cursor.row.saturating_sub(rows), cursor.column);
    }

    pub(super) fn move_down(&mut self, rows: usize) {
        let cursor = self.grid.cursor;
        self.move_to(cursor.row + rows, cursor.column);
    }

    pub(super) fn move_forward(&mut self, columns: usize) {
        let cursor = &mut self.grid.cursor;
        cursor.column = (cursor.column + columns).min(self.columns - 1);
        cursor.needs_wrap = false;
    }

    pub(super) fn move_backward(&mut self, columns: usize) {
        let cursor = &mut self.grid.cursor;
        cursor.column = cursor.column.saturating_sub(columns);
        cursor.needs_wrap = false;
    }

    pub(super) fn backspace(&mut self) {
        if self.grid.cursor.column > 0 {
            self.move_backward(1);
        }
    }

    #[inline]
    pub(super) fn carriage_return(&mut self) {
        self.grid.cursor.column = 0;
        self.grid.cursor.needs_wrap = false;
    }

    #[inline]
    pub(super) fn line_feed(&mut self) {
        let next = self.grid.cursor.row + 1;
        if next == self.region.1 {
            if self.region == (0, next) && next == self.rows() {
                self.scroll_screen();
            } else {
                self.scroll_up(self.region.0, 1);
            }
        } else if next < self.rows() {
            self.grid.cursor.row = next;
        }
    }

    pub(super) fn reverse_line_feed(&mut self) {
        if self.grid.cursor.row == self.region.0 {
            self.scroll_down(self.region.0, 1);
        } else {
            self.grid.cursor.row = self.grid.cursor.row.saturating_sub(1);
        }
    }

    /// HT. Behind the last column it goes to the next row, as a character would.
    pub(super) fn put_tab(&mut self) {
        if self.grid.cursor.needs_wrap {
            self.wrap();
        } else {
            self.move_forward_tabs(1);
        }
    }

    pub(super) fn move_forward_tabs(&mut self, count: u16) {
        for _ in 0..count {
            let column = self.grid.cursor.column;
            if column + 1 == self.columns {
                break;
            }
            let stop = (column + 1..self.columns).find(|column| self.tabs[*column]);
            self.grid.cursor.column = stop.unwrap_or(self.columns - 1);
        }
    }

    pub(super) fn move_backward_tabs(&mut self, count: u16) {
        for _ in 0..count {
            let column = self.grid.cursor.column;
            let Some(stop) = (0..column).rev().find(|column| self.tabs[*column]) else {
                break;
            };
            self.grid.cursor.column = stop;
            self.grid.cursor.needs_wrap = false;
        }
    }

    pub(super) fn set_tab(&mut self, on: bool) {
        self.tabs[self.grid.cursor.column] = on;
    }

    pub(super) fn save_cursor(&mut self) {
        self.grid.saved = self.grid.cursor;
    }

    pub(super) fn restore_cursor(&mut self) {
        self.grid.cursor = self.grid.saved;
        self.pen = None;
        self.keep_in_region();
    }

    /// DECSTBM; `bottom` is the last row, counted from 1.
    pub(super) fn set_region(&mut self, top: u16, bottom: u16) {
        let (top, rows) = (usize::from(top.max(1)), self.rows());
        let bottom = match usize::from(bottom) {
            0 => rows,
            bottom => bottom.min(rows),
        };
        if top < bottom {
            self.region = (top - 1, bottom);
            self.go(0, 0);
        }
    }
}
