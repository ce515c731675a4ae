//! The scrollback: lines in compact form, a few hundred to a page.

use std::collections::VecDeque;
use std::ops::Range;

use super::clusters::Clusters;
use super::row::Row;
use super::strip::{Strip, encode, encode_text};

/// Lines that scrolled off the screen, by numbers that count from the session's beginning.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Pages that are full.
    pages: VecDeque<Page>,
    /// The page that is not, with the last lines.
    last: Page,
    /// The number of the first line.
    first: u64,
    /// Lines of the first page that are forgotten.
    skipped: usize,
    lines: usize,
    /// A page that was emptied, to be filled again.
    spare: Option<Page>,
}

#[derive(Debug, Default)]
struct Page {
    bytes: Vec<u8>,
    /// Where each line ends.
    ends: Vec<u32>,
}

impl History {
    /// A history that goes on from this number.
    pub(super) fn starting_at(first: u64) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// The numbers of the lines.
    pub(super) fn range(&self) -> Range<u64> {
        self.first..self.first + self.lines as u64
    }

    /// Numbers the lines so that the next one's number is this; later, where it has more lines before it.
    pub(super) fn end_at(&mut self, next: u64) {
        self.first = next.saturating_sub(self.lines as u64);
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines
    }

    /// Adds a row at the end; the first line is forgotten if there are too many.
    #[inline]
    pub(super) fn push(&mut self, row: &Row, clusters: &Clusters) {
        encode(row, clusters, &mut self.last.bytes);
        self.close();
    }

    /// Adds a row of ASCII characters without a style at the end.
    #[inline]
    pub(super) fn push_text(&mut self, text: &[u8]) {
        encode_text(text, &mut self.last.bytes);
        self.close();
    }

    /// Adds a line of another history at the end.
    pub(super) fn push_line(&mut self, line: &[u8]) {
        self.last.bytes.extend_from_slice(line);
        self.close();
    }

    /// Takes the last line back.
    pub(super) fn pop(&mut self, clusters: &mut Clusters) -> Option<Row> {
        if self.lines == 0 {
            return None;
        }
        if self.last.ends.is_empty() {
            self.last = self.pages.pop_back()?;
        }
        let page = &mut self.last;
        let row = Strip::decode(page.line(page.ends.len() - 1)).row(clusters);
        page.ends.pop();
        page.bytes.truncate(page.end());
        self.lines -= 1;
        if self.lines == 0 {
            *self = Self::starting_at(self.first);
        }
        Some(row)
    }

    /// Forgets all lines.
    pub(super) fn clear(&mut self) {
        *self = Self::starting_at(self.range().end);
    }

    /// The bytes of a line, counted from the first that there is.
    pub(super) fn line(&self, index: usize) -> &[u8] {
        let at = self.skipped + index;
        let page = self.pages.get(at / PAGE).unwrap_or(&self.last);
        page.line(at % PAGE)
    }

    /// All lines from the first.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.lines).map(|index| self.line(index))
    }

    /// Ends the line that was written to the last page.
    #[inline]
    fn close(&mut self) {
        // A page's lines are a few kilobytes each.
        self.last.ends.push(self.last.bytes.len() as u32);
        self.lines += 1;
        if self.lines > MAX_LINES {
            self.forget(1);
        }
        if self.last.ends.len() == PAGE {
            self.turn();
        }
    }

    /// Begins another page.
    #[cold]
    fn turn(&mut self) {
        if self.spare.is_none() {
            self.last.bytes.shrink_to_fit();
        }
        let full = std::mem::replace(&mut self.last, self.spare.take().unwrap_or_default());
        self.pages.push_back(full);
        while self.pages.len() > 1 && self.bytes() > MAX_BYTES {
            self.forget(PAGE - self.skipped);
        }
    }

    fn bytes(&self) -> usize {
        self.pages.iter().map(|page| page.bytes.len()).sum()
    }

    /// Forgets some of the first page's lines.
    fn forget(&mut self, lines: usize) {
        self.lines -= lines;
        self.first += lines as u64;
        self.skipped += lines;
        if self.skipped == PAGE && !self.pages.is_empty() {
            self.skipped = 0;
            self.spare = self.pages.pop_front().map(|mut page| {
                page.bytes.clear();
                page.ends.clear();
                page
            });
        }
    }
}

impl Page {
    fn line(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    fn end(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }
}

/// Lines kept above the screen.
pub(super) const MAX_LINES: usize = 10_000;
/// Bytes of all lines; lines of 80 columns in which every cell has another colour stay below.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Lines in a page.
const PAGE: usize = 256;

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::{Clusters, History, Row, Strip};

    fn row(text: &str) -> Row {
        let cells = text.chars().map(|character| Cell::new(character, 0)).collect();
        Row::new(cells, false)
    }

    fn text(history: &History, index: usize) -> String {
        Strip::decode(history.line(index))
            .line(0, &<_>::default(), &mut <_>::default())
            .text
    }

    #[test]
    fn lines_come_back_as_they_went() {
        let (mut history, mut clusters) = (History::default(), Clusters::default());
        for number in 0..30_000 {
            history.push(&row(&number.to_string()), &clusters);
        }
        assert_eq!(history.range(), 20_000..30_000);
        assert_eq!(text(&history, 0), "20000");
        assert_eq!(text(&history, 9_999), "29999");
        for number in (20_000..30_000).rev() {
            let popped = history.pop(&mut clusters).unwrap();
            assert_eq!(popped.cells(), row(&number.to_string()).cells());
        }
        assert!(history.pop(&mut clusters).is_none());
        history.push(&row("again"), &clusters);
        assert_eq!(text(&history, 0), "again");
    }

    #[test]
    fn history_takes_bounded_memory() {
        let (mut history, clusters) = (History::default(), Clusters::default());
        let cells: Vec<Cell> = (0..1_000).map(|style| Cell::new('é', style)).collect();
        let long = Row::new(cells, false);
        (0..10_000).for_each(|_| history.push(&long, &clusters));
        assert!(history.bytes() < 12 * 1024 * 1024);
        let mut history = History::default();
        let eighty = row(&"x".repeat(80));
        (0..10_000).for_each(|_| history.push(&eighty, &clusters));
        let bytes: usize = history.pages.iter().map(|page| page.bytes.capacity()).sum();
        assert!(bytes < 1_000_000, "{bytes} bytes");
    }
}
