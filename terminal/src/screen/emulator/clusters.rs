//! Characters with the marks that join them (combining accents, joiners, variation selectors).

use super::cell::{Cell, MAX_CLUSTERS};

/// The clusters of a screen's cells, known by numbers; some no longer in use.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    texts: Vec<Box<str>>,
    free: Vec<u32>,
    /// When to look for clusters that are no longer used.
    limit: usize,
}

impl Clusters {
    /// The cell with one more mark; unchanged if it has as many as it may.
    pub(super) fn join(&mut self, cell: Cell, mark: char) -> Cell {
        let mut text = String::new();
        self.push(cell, &mut text);
        if text.chars().count() > MAX_MARKS {
            return cell;
        }
        text.push(mark);
        self.put(cell, text)
    }

    /// The cell with a character and marks, of at least two characters.
    pub(super) fn put(&mut self, cell: Cell, text: String) -> Cell {
        let text = text.into_boxed_str();
        let number = if let Some(number) = self.free.pop() {
            self.texts[number as usize] = text;
            number
        } else if self.texts.len() < MAX_CLUSTERS {
            self.texts.push(text);
            // There are at most MAX_CLUSTERS.
            (self.texts.len() - 1) as u32
        } else {
            return cell;
        };
        cell.with_cluster(number)
    }

    /// Appends what a cell shows.
    pub(super) fn push(&self, cell: Cell, text: &mut String) {
        match cell.cluster() {
            Some(number) => text.push_str(self.text(number)),
            None => text.extend(cell.character()),
        }
    }

    /// The character of a cell and the marks that joined it.
    pub(super) fn parts(&self, cell: Cell) -> (char, &str) {
        let text = cell.cluster().map_or("", |number| self.text(number));
        let mut characters = text.chars();
        match characters.next() {
            Some(first) => (first, characters.as_str()),
            None => (cell.character().unwrap_or(' '), ""),
        }
    }

    /// Whether clusters should be swept before another one comes.
    pub(super) fn is_full(&self) -> bool {
        self.texts.len() - self.free.len() >= self.limit.max(MIN_LIMIT)
    }

    /// Forgets the clusters that are not in those cells.
    pub(super) fn sweep(&mut self, cells: impl Iterator<Item = Cell>) {
        let mut used = vec![false; self.texts.len()];
        cells
            .filter_map(Cell::cluster)
            .for_each(|number| used[number as usize] = true);
        self.free.clear();
        for (number, is_used) in used.iter().enumerate() {
            if !is_used {
                self.texts[number] = Box::default();
                self.free.push(number as u32);
            }
        }
        self.limit = 2 * (self.texts.len() - self.free.len());
    }

    fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }
}

/// Marks in a cell.
const MAX_MARKS: usize = 16;
/// Clusters before the first sweep.
const MIN_LIMIT: usize = 1_024;
