//! Lines of plain text that come and go at once: they are taken to the scrollback as they came, without cells.

use std::collections::VecDeque;

use super::super::row::text_length;
use super::{Cell, Modes, Terminal};

/// What came of looking for lines that pass.
pub(super) enum Passed {
    /// So many bytes were drawn.
    Drawn(usize),
    /// Nothing was: the next so many bytes hold too few of them.
    TooFew(usize),
}

impl Terminal {
    /// Whether the cursor stands where a line of plain text would pass: at the beginning of a blank last row, with nothing
    /// set that text minds.
    #[inline]
    pub(super) fn may_pass(&mut self) -> bool {
        let rows = self.rows();
        let cursor = &self.grid.cursor;
        (cursor.row + 1 == rows && cursor.column == 0)
            && self.region == (0, rows)
            && !self.is_alternate()
            && !cursor.drawings[usize::from(self.is_shifted)]
            && !self.has(Modes::INSERT)
            && self.row().cells().is_empty()
            && self.pen() == Cell::BLANK
    }

    /// Draws the lines that output begins with, where it may, if they are more than the screen shows.
    #[cold]
    pub(super) fn pass(&mut self, output: &[u8]) -> Passed {
        // What the screen shows in the end, above its last row.
        let most = self.rows() - 1;
        let mut shown: VecDeque<&[u8]> = VecDeque::with_capacity(most + 1);
        let mut last_character = None;
        let mut have_passed = false;
        let mut at = 0;
        while let Some(line) = line(&output[at..], self.columns) {
            at += line.len() + 2;
            last_character = line.last().or(last_character);
            shown.push_back(line);
            if shown.len() > most {
                if !have_passed {
                    have_passed = true;
                    for row in self.grid.rows.range(..most) {
                        self.history.push(row, &self.clusters);
                    }
                }
                if let Some(line) = shown.pop_front() {
                    self.history.push_text(line);
                }
            }
        }
        if !have_passed {
            return Passed::TooFew(at);
        }
        let columns = self.columns;
        for (row, line) in self.grid.rows.iter_mut().zip(shown) {
            row.clear(Cell::BLANK, columns);
            row.print(0, line, Cell::BLANK, columns);
        }
        self.follows_text = false;
        if let Some(last) = last_character {
            self.last_character = Some(char::from(*last));
        }
        Passed::Drawn(at)
    }
}

/// The line of printable ASCII that output begins with, if it fits into so many columns.
#[inline]
fn line(output: &[u8], columns: usize) -> Option<&[u8]> {
    let (line, rest) = output.split_at(text_length(output));
    (line.len() <= columns && rest.starts_with(b"\r\n")).then_some(line)
}
