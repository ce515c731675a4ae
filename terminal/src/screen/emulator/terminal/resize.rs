//! Changing the size.

use super::super::history::History;
use super::super::reflow::{Anchor, Rewrap};
use super::super::strip::Strip;
use super::{Grid, Row, Size, Terminal, cells, is_default_tab};

impl Terminal {
    /// Gives the terminal another size. Lines of the primary grid and of its history are wrapped anew; rows that
    /// have no more room above the cursor become history, and history comes back where there is room for it.
    pub(in super::super) fn resize(&mut self, size: Size) {
        let (columns, rows) = cells(size);
        if (columns, rows) == (self.columns, self.rows()) {
            return;
        }
        let alternate = self
            .hidden
            .take()
            .map(|primary| std::mem::replace(&mut self.grid, primary));
        self.resize_primary(columns, rows);
        if let Some(mut alternate) = alternate {
            resize_alternate(&mut alternate, columns, rows);
            // Entering the alternate screen has saved the cursor that is there.
            self.grid.saved = self.grid.cursor;
            self.hidden = Some(std::mem::replace(&mut self.grid, alternate));
        }
        self.columns = columns;
        self.region = (0, rows);
        let before = self.tabs.len();
        self.tabs.resize(columns, false);
        (before..columns).for_each(|column| self.tabs[column] = is_default_tab(column));
        self.sweep_clusters();
    }

    fn resize_primary(&mut self, columns: usize, rows: usize) {
        let required = (self.grid.cursor.row + 1).saturating_sub(rows);
        for _ in 0..required {
            let row = self.grid.rows.pop_front().expect("the cursor is in a row below");
            self.history.push(&row, &self.clusters);
        }
        self.grid.shorten(rows);
        while self.grid.rows.len() < rows {
            let Some(row) = self.history.pop(&mut self.clusters) else {
                break;
            };
            self.grid.rows.push_front(row);
            self.grid.cursor.row += 1;
            self.grid.saved.row += 1;
        }
        self.grid.rows.resize_with(rows, Row::default);
        if columns != self.columns {
            self.rewrap(columns, rows);
        }
        self.grid.settle_cursors(columns);
    }

    /// Wraps the lines of the history and of the grid at another width.
    fn rewrap(&mut self, columns: usize, rows: usize) {
        let before = std::mem::take(&mut self.history);
        let first = before.range().start;
        let cursor = self.grid.cursor;
        let mut anchors = vec![Anchor::new(
            before.len() + cursor.row,
            cursor.column + usize::from(cursor.needs_wrap),
        )];
        let marks = self.signals.marks();
        anchors.extend(
            marks
                .iter()
                .map(|mark| Anchor::new(mark.saturating_sub(first) as usize, 0)),
        );
        let mut rewrap = Rewrap::new(self.columns, columns, &self.styles, anchors);
        let mut history = History::starting_at(first);
        for line in before.lines() {
            let strip = Strip::decode(line);
            if rewrap.is_free() && !strip.is_wrapped() && strip.columns() <= columns {
                rewrap.skip();
                history.push_line(line);
            } else if let Some(rows) = rewrap.add(&strip.row(&mut self.clusters)) {
                rows.iter().for_each(|row| history.push(row, &self.clusters));
            }
        }
        drop(before);
        let kept = (history.range().end - first) as usize;
        let mut new: std::collections::VecDeque<Row> = <_>::default();
        for row in &self.grid.rows {
            new.extend(rewrap.add(row).into_iter().flatten());
        }
        if self.grid.rows.back().is_some_and(|row| row.is_wrapped) {
            new.extend(rewrap.finish());
        }
        let places = rewrap.places();
        let mut row = places[0].0.saturating_sub(kept);
        while new.len() > rows {
            history.push(
                &new.pop_front().expect("there are more than enough"),
                &self.clusters,
            );
            row = row.saturating_sub(1);
        }
        while new.len() < rows
            && let Some(line) = history.pop(&mut self.clusters)
        {
            new.push_front(line);
            row += 1;
        }
        new.resize_with(rows, Row::default);
        self.grid.rows = new;
        self.grid.cursor.row = row;
        self.grid.cursor.column = places[0].1.min(columns - 1);
        self.grid.cursor.needs_wrap = places[0].1 >= columns;
        self.history = history;
        let moved = places[1..].iter().map(|(row, _)| first + *row as u64);
        self.signals.move_marks(&marks, &moved.collect::<Vec<_>>());
    }
}

/// Cuts the alternate grid off, or gives it blanks: whoever drew it draws it anew.
fn resize_alternate(grid: &mut Grid, columns: usize, rows: usize) {
    let required = (grid.cursor.row + 1).saturating_sub(rows);
    grid.rows.drain(..required);
    grid.shorten(rows);
    grid.rows.resize_with(rows, Row::default);
    for row in &mut grid.rows {
        row.resize(columns);
        row.shrink();
    }
    grid.settle_cursors(columns);
}

impl Grid {
    /// Cuts off rows at the bottom.
    fn shorten(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.cursor.row = self.cursor.row.min(rows - 1);
        self.saved.row = self.saved.row.min(rows - 1);
    }

    /// Only a cursor in the last column may wait to wrap.
    fn settle_cursors(&mut self, columns: usize) {
        let last = columns - 1;
        for cursor in [&mut self.cursor, &mut self.saved] {
            if cursor.needs_wrap && cursor.column < last {
                cursor.needs_wrap = false;
                cursor.column += 1;
            }
            cursor.column = cursor.column.min(last);
            cursor.row = cursor.row.min(self.rows.len() - 1);
        }
    }
}
