//! A row of the screen: as many cells as were written, and blanks behind them.

use std::ops::Range;

use super::cell::Cell;

/// How many printable ASCII characters come first.
#[inline]
fn printable(word: [u8; 8]) -> usize {
    let word = u64::from_le_bytes(word);
    // The highest bit of a byte is set if the byte is below 0x20, above 0x7e, or follows one that is.
    let others = (word | word.wrapping_sub(0x2020_2020_2020_2020) | word.wrapping_add(0x0101_0101_0101_0101))
        & 0x8080_8080_8080_8080;
    others.trailing_zeros() as usize / 8
}

/// How many printable ASCII characters output begins with.
#[inline]
pub(super) fn text_length(output: &[u8]) -> usize {
    let (words, rest) = output.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let count = printable(*word);
        if count < 8 {
            return 8 * index + count;
        }
    }
    let is_other = |byte: &u8| byte.wrapping_sub(0x20) > 0x5e;
    output.len() - rest.len() + rest.iter().position(is_other).unwrap_or(rest.len())
}

/// Cells up to the last that was written; the rest are blank.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    cells: Vec<Cell>,
    /// Whether its text goes on in the next row.
    pub(super) is_wrapped: bool,
}

impl Row {
    /// A row of these cells.
    pub(super) fn new(cells: Vec<Cell>, is_wrapped: bool) -> Self {
        Self { cells, is_wrapped }
    }

    /// The cells that were written.
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell in a column.
    #[inline]
    pub(super) fn cell(&self, column: usize) -> Cell {
        self.cells.get(column).copied().unwrap_or(Cell::BLANK)
    }

    /// Writes a cell; what was there is replaced, whatever it is.
    pub(super) fn set(&mut self, column: usize, cell: Cell) {
        if column >= self.cells.len() {
            if cell == Cell::BLANK {
                return;
            }
            self.cells.resize(column + 1, Cell::BLANK);
        }
        self.cells[column] = cell;
    }

    /// Prints ASCII characters with the style of `pen` from a column on, in a row of so many columns.
    #[inline]
    pub(super) fn print(&mut self, column: usize, text: &[u8], pen: Cell, columns: usize) {
        let end = column + text.len();
        let length = self.cells.len();
        let behind = if column < length {
            self.part(column, end);
            let (over, behind) = text.split_at(text.len().min(length - column));
            self.cells[column..column + over.len()]
                .iter_mut()
                .zip(over)
                .for_each(|(cell, byte)| *cell = pen.with_ascii(*byte));
            behind
        } else {
            text
        };
        if !behind.is_empty() {
            self.reserve(end, columns);
            if column > length {
                self.cells.resize(column, Cell::BLANK);
            }
            self.cells.extend(behind.iter().map(|byte| pen.with_ascii(*byte)));
        }
        if end == columns {
            self.is_wrapped = false;
        }
    }

    /// Appends the ASCII characters that output begins with, as long as there are eight bytes and eight columns.
    /// Returns how many, and whether another one or a control is next.
    #[inline]
    pub(super) fn append(&mut self, output: &[u8], pen: Cell, columns: usize) -> (usize, bool) {
        let before = self.cells.len();
        for word in output.as_chunks::<8>().0 {
            let length = self.cells.len();
            if length + 8 > columns {
                break;
            }
            let count = printable(*word);
            self.reserve(length + 8, columns);
            self.cells
                .extend_from_slice(&word.map(|byte| pen.with_ascii(byte)));
            self.cells.truncate(length + count);
            if count < 8 {
                return (self.cells.len() - before, true);
            }
        }
        (self.cells.len() - before, false)
    }

    /// Takes apart the wide characters that lie across the borders of a range, of which the inside is about to be
    /// written.
    #[inline]
    pub(super) fn part(&mut self, start: usize, end: usize) {
        if self.cell(start).is_half() && start > 0 {
            self.cells[start - 1] = self.cells[start - 1].mended();
        }
        if self.cell(end).is_half() {
            self.cells[end] = self.cells[end].mended();
        }
    }

    /// Fills a range with `blank`, in a row of so many columns.
    pub(super) fn erase(&mut self, range: Range<usize>, blank: Cell, columns: usize) {
        self.part(range.start, range.end);
        if range.end == columns {
            self.is_wrapped = false;
            self.cells.truncate(range.start);
        }
        let end = if blank == Cell::BLANK {
            range.end.min(self.cells.len())
        } else {
            if self.cells.len() < range.end {
                self.reserve(range.end, columns);
                self.cells.resize(range.end, Cell::BLANK);
            }
            range.end
        };
        if range.start < end {
            self.cells[range.start..end].fill(blank);
        }
    }

    /// Moves the cells from a column on to the right, where those beyond the last are lost, and fills the gap.
    pub(super) fn insert(&mut self, column: usize, count: usize, blank: Cell, columns: usize) {
        self.part(column, column);
        self.is_wrapped = false;
        if column < self.cells.len() {
            let count = count.min(columns - column);
            self.cells
                .splice(column..column, std::iter::repeat_n(blank, count));
            self.cells.truncate(columns);
            self.mend_end(columns);
        } else {
            self.erase(column..(column + count).min(columns), blank, columns);
        }
    }

    /// Removes cells; those behind them move to the left, and blanks come in from the right.
    pub(super) fn delete(&mut self, column: usize, count: usize, blank: Cell, columns: usize) {
        let count = count.min(columns - column);
        self.part(column, column + count);
        self.is_wrapped = false;
        let length = self.cells.len();
        self.cells.drain(column.min(length)..(column + count).min(length));
        if blank != Cell::BLANK {
            self.reserve(columns, columns);
            self.cells.resize(columns - count, Cell::BLANK);
            self.cells.resize(columns, blank);
        }
    }

    /// Makes the row one of `blank`.
    #[inline]
    pub(super) fn clear(&mut self, blank: Cell, columns: usize) {
        self.is_wrapped = false;
        self.cells.clear();
        if blank != Cell::BLANK {
            self.reserve(columns, columns);
            self.cells.resize(columns, blank);
        }
    }

    /// Cuts the row off at another width, or makes it longer; it wraps no more.
    pub(super) fn resize(&mut self, columns: usize) {
        self.is_wrapped = false;
        self.cells.truncate(columns);
        self.mend_end(columns);
    }

    /// Fills the row with blanks up to its last column.
    pub(super) fn fill(&mut self, columns: usize) {
        if self.cells.len() < columns {
            self.reserve(columns, columns);
            self.cells.resize(columns, Cell::BLANK);
        }
    }

    /// Takes the sign from the last cell that a wide character did not fit there.
    pub(super) fn drop_leader(&mut self, columns: usize) {
        if let Some(last) = self.cells.get_mut(columns - 1) {
            *last = last.without_leader();
        }
    }

    /// Gives memory back that is not used.
    pub(super) fn shrink(&mut self) {
        self.cells.shrink_to_fit();
    }

    fn mend_end(&mut self, columns: usize) {
        if let Some(last) = self.cells.get_mut(columns - 1)
            && last.is_wide()
        {
            *last = last.mended();
        }
    }

    /// Makes room for so many cells: in rows that are short for a few, else for a whole one.
    #[inline]
    fn reserve(&mut self, length: usize, columns: usize) {
        if length > self.cells.capacity() {
            self.grow(length, columns);
        }
    }

    #[cold]
    fn grow(&mut self, length: usize, columns: usize) {
        let room = if 4 * length > columns {
            columns
        } else {
            length + length / 2 + 4
        };
        self.cells.reserve_exact(room.max(length) - self.cells.len());
    }
}
