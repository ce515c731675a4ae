//! What a process keeps for itself about a journal: where to look for an offset, and the sizes.

use std::collections::VecDeque;

use super::Position;
use crate::offset::Offset;
use crate::size::Size;

/// A sparse index of the output, and the newest size changes.
#[derive(Debug)]
pub(super) struct Index {
    /// Where some of the records of output begin, ascending, at least [`STEP`] bytes apart.
    marks: VecDeque<Mark>,
    /// Size changes whose records are in the ring, ascending.
    sizes: VecDeque<SizeChange>,
    /// How many size changes there were in all; the last in `sizes` is number `size_count - 1`.
    size_count: u64,
    size: Size,
}

impl Index {
    /// Of a journal that had so many sizes and has this one.
    pub(super) fn new(size_count: u64, size: Size) -> Self {
        Self {
            marks: VecDeque::new(),
            sizes: VecDeque::new(),
            size_count,
            size,
        }
    }

    /// Takes note of a record of output.
    pub(super) fn output(&mut self, at: Position, offset: Offset) {
        if self.marks.back().is_none_or(|mark| at - mark.at >= STEP) {
            self.marks.push_back(Mark { at, offset });
        }
    }

    /// Takes note of a size change.
    pub(super) fn size_record(&mut self, number: u64, offset: Offset, size: Size) {
        if self
            .sizes
            .back()
            .is_some_and(|last| last.number.checked_add(1) != Some(number))
        {
            self.sizes.clear();
        }
        self.sizes.push_back(SizeChange { number, offset, size });
        // A size alone writes no byte, so nothing else bounds how many may stand at one offset.
        if self.sizes.len() > MAX_SIZES {
            self.sizes.pop_front();
        }
        self.size_count = number.saturating_add(1);
        self.size = size;
    }

    /// Forgets what stands before the ring's start.
    pub(super) fn trim(&mut self, start: Position, offset: Offset) {
        while self.marks.front().is_some_and(|mark| mark.at < start) {
            self.marks.pop_front();
        }
        while self.sizes.front().is_some_and(|change| change.offset < offset) {
            self.sizes.pop_front();
        }
    }

    /// Where to begin to look for `offset`: at the record of output noted last that begins there or before.
    pub(super) fn before(&self, offset: Offset) -> Option<Position> {
        let behind = self.marks.partition_point(|mark| mark.offset <= offset);
        Some(self.marks.get(behind.checked_sub(1)?)?.at)
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn size_count(&self) -> u64 {
        self.size_count
    }

    /// The number of the first size change at `offset` or later.
    pub(super) fn first_size_from(&self, offset: Offset) -> u64 {
        let before = self.sizes.partition_point(|change| change.offset < offset);
        self.sizes
            .get(before)
            .map_or(self.size_count, |change| change.number)
    }

    /// The first size change from number `next` on: its number, offset and size.
    pub(super) fn size_change(&self, next: u64) -> Option<(u64, Offset, Size)> {
        let first = self.sizes.front()?.number;
        let index = usize::try_from(next.saturating_sub(first)).ok()?;
        let change = self.sizes.get(index)?;
        Some((change.number, change.offset, change.size))
    }
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    at: Position,
    offset: Offset,
}

#[derive(Debug, Clone, Copy)]
struct SizeChange {
    number: u64,
    offset: Offset,
    size: Size,
}

/// Bytes of records between two marks: a look goes through a thousand records at worst.
const STEP: u64 = 16 * 1024;
/// Size changes held at most; each is one person's drag of a window by one cell.
const MAX_SIZES: usize = 4_096;
