//! Wrapping lines anew at another width.

use super::cell::Cell;
use super::row::Row;
use super::style::Styles;

/// A place that keeps to its text while lines are wrapped anew.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Anchor {
    /// The row, counted over all that are wrapped.
    pub(super) row: usize,
    /// The column, which may lie behind the last one.
    pub(super) column: usize,
    /// The column as one of its whole line, once that is known.
    offset: Option<usize>,
}

impl Anchor {
    /// A place before wrapping.
    pub(super) fn new(row: usize, column: usize) -> Self {
        Self {
            row,
            column,
            offset: None,
        }
    }
}

/// Puts rows together to whole lines and takes those apart at another width.
#[derive(Debug)]
pub(super) struct Rewrap<'a> {
    columns: usize,
    is_narrower: bool,
    styles: &'a Styles,
    /// The line so far.
    cells: Vec<Cell>,
    /// Where its last row begins: what is before was written, if only as blanks.
    last: usize,
    /// Rows taken in, and given out.
    taken: usize,
    given: usize,
    pub(super) anchors: Vec<Anchor>,
}

impl<'a> Rewrap<'a> {
    pub(super) fn new(from: usize, to: usize, styles: &'a Styles, anchors: Vec<Anchor>) -> Self {
        Self {
            columns: to,
            is_narrower: to < from,
            styles,
            cells: Vec::new(),
            last: 0,
            taken: 0,
            given: 0,
            anchors,
        }
    }

    /// Whether the next row begins a line that has none of the places in it.
    pub(super) fn is_free(&self) -> bool {
        let is_here = |anchor: &Anchor| anchor.offset.is_none() && anchor.row == self.taken;
        self.cells.is_empty() && !self.anchors.iter().any(is_here)
    }

    /// Passes over a row that stays as it is.
    pub(super) fn skip(&mut self) {
        self.taken += 1;
        self.given += 1;
    }

    /// Takes in a row; if the line ends with it, gives the line's new rows.
    pub(super) fn add(&mut self, row: &Row) -> Option<Vec<Row>> {
        for anchor in &mut self.anchors {
            if anchor.row == self.taken && anchor.offset.is_none() {
                anchor.offset = Some(self.cells.len() + anchor.column);
            }
        }
        self.taken += 1;
        self.last = self.cells.len();
        let cells = row.cells();
        match cells.split_last() {
            Some((last, cells)) if row.is_wrapped && last.is_leader() => self.cells.extend_from_slice(cells),
            _ => self.cells.extend_from_slice(cells),
        }
        if row.is_wrapped { None } else { Some(self.finish()) }
    }

    /// The rows of the line so far.
    pub(super) fn finish(&mut self) -> Vec<Row> {
        let mut cells = std::mem::take(&mut self.cells);
        let written = std::mem::take(&mut self.last);
        if self.is_narrower {
            let filled = cells.iter().rposition(|cell| !self.is_empty(*cell));
            cells.truncate(filled.map_or(0, |last| last + 1).max(self.columns).max(written));
        }
        let mut starts = Vec::new();
        let mut rows = Vec::new();
        let mut start = 0;
        loop {
            let (end, row) = self.cut(&cells, start);
            starts.push(start);
            rows.push(row);
            let is_full = end - start == self.columns;
            if end == cells.len() && !(is_full && end == written) {
                break;
            }
            start = end;
        }
        while starts.last().is_some_and(|start| *start > written)
            && rows
                .last()
                .is_some_and(|row| row.cells().iter().all(|cell| self.is_empty(*cell)))
        {
            rows.pop();
            starts.pop();
        }
        self.wrap_up_to_anchors(&mut rows, &mut starts);
        let last = rows.len() - 1;
        for row in &mut rows[..last] {
            row.fill(self.columns);
            row.is_wrapped = true;
        }
        self.settle(&starts);
        self.given += rows.len();
        rows
    }

    /// Blanks before a place count as text.
    fn wrap_up_to_anchors(&self, rows: &mut Vec<Row>, starts: &mut Vec<usize>) {
        let furthest = self.anchors.iter().filter_map(|anchor| anchor.offset).max();
        while let (Some(furthest), Some(last)) = (furthest, starts.last().copied()) {
            if furthest <= last + self.columns {
                break;
            }
            rows.push(Row::default());
            starts.push(last + self.columns);
        }
    }

    /// Finds the rows of the places in a line whose rows begin at `starts`.
    fn settle(&mut self, starts: &[usize]) {
        for anchor in &mut self.anchors {
            if let Some(offset) = anchor.offset.take() {
                let row = starts.iter().rposition(|start| *start <= offset).unwrap_or(0);
                *anchor = Anchor::new(FOUND + self.given + row, offset - starts[row]);
            }
        }
    }

    /// The next row of a line from `start` on, and where the one after it begins.
    fn cut(&self, cells: &[Cell], start: usize) -> (usize, Row) {
        let end = (start + self.columns).min(cells.len());
        let mut row = cells[start..end].to_vec();
        if row.len() == self.columns
            && let Some(last) = row.last_mut().filter(|last| last.is_wide())
        {
            *last = Cell::leader(0);
            return (end - 1, Row::new(row, false));
        }
        (end, Row::new(row, false))
    }

    fn is_empty(&self, cell: Cell) -> bool {
        cell.is_space()
            && !cell.is_half()
            && !cell.is_leader()
            && (cell.style() == 0 || self.styles.get(cell.style()).is_empty())
    }

    /// Where the places are now: rows and columns, in the order they were given. Those behind all rows stay there.
    pub(super) fn places(&self) -> Vec<(usize, usize)> {
        self.anchors
            .iter()
            .map(|anchor| match anchor.row.checked_sub(FOUND) {
                Some(row) => (row, anchor.column),
                None => (self.given + anchor.row.saturating_sub(self.taken), anchor.column),
            })
            .collect()
    }
}

/// Marks the rows of places that were found; far beyond all rows.
const FOUND: usize = usize::MAX / 2;
