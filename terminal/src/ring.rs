//! The records of a session: what it wrote and which sizes it had, each at an offset and a time.
//!
//! Bounded: the oldest records go first. An offset never shifts, whatever was trimmed.

use std::collections::VecDeque;

use crate::offset::Offset;
use crate::size::Size;

/// The newest records of a session, in order.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The output from `start` on, without gaps.
    bytes: VecDeque<u8>,
    start: Offset,
    /// When runs of output began, ascending; the first run may have begun before `start`.
    times: VecDeque<Run>,
    /// The size changes at or after `start`, ascending.
    sizes: VecDeque<SizeRecord>,
    /// How many sizes there were in all; the last in `sizes` is number `size_count - 1`.
    size_count: u64,
    size: Size,
    /// Bytes to hold, records included.
    capacity: usize,
}

impl Ring {
    /// An empty ring of a session that begins at `size`, to hold `capacity` bytes.
    pub(crate) fn new(size: Size, capacity: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            start: Offset::START,
            times: VecDeque::new(),
            sizes: VecDeque::new(),
            size_count: 0,
            size,
            capacity,
        }
    }

    /// The oldest offset that can be read.
    pub(crate) fn start(&self) -> Offset {
        self.start
    }

    /// When the last byte was written, in milliseconds since the session began.
    pub(crate) fn last_output_ms(&self) -> Option<u64> {
        self.times.back().map(|run| run.time_ms)
    }

    /// The offset of the next byte that will be written.
    pub(crate) fn end(&self) -> Offset {
        self.start.plus(self.bytes.len())
    }

    /// The newest size.
    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The number of the first size change at `offset` or later.
    pub(crate) fn first_size_from(&self, offset: Offset) -> u64 {
        let after = self
            .sizes
            .iter()
            .rev()
            .take_while(|record| record.offset >= offset)
            .count();
        self.size_count - after as u64
    }

    /// Appends output written at `time_ms` (since the session began), then trims what is over the capacity and
    /// before `needed`, which the screen has not drawn yet.
    pub(crate) fn append(&mut self, output: &[u8], time_ms: u64, needed: Offset) {
        if self.times.back().is_none_or(|run| run.time_ms != time_ms) {
            self.times.push_back(Run {
                offset: self.end(),
                time_ms,
            });
        }
        let room = self.bytes.capacity() - self.bytes.len();
        if room < output.len() {
            self.trim(output.len(), needed);
            self.grow(output.len());
        }
        self.bytes.extend(output);
        self.trim(0, needed);
    }

    /// Records that the size is another from here on.
    pub(crate) fn resize(&mut self, size: Size, time_ms: u64) {
        let record = SizeRecord {
            offset: self.end(),
            time_ms,
            size,
        };
        self.size = size;
        self.size_count += 1;
        self.sizes.push_back(record);
        // A size alone writes no byte, so nothing else bounds how many may stand at one offset.
        if self.sizes.len() > MAX_SIZES {
            self.sizes.pop_front();
        }
    }

    /// The next record at `from`: the size change number `next_size` if it stands at `from` or before, else at
    /// most `limit` bytes of output up to the next size change, appended to `into`.
    pub(crate) fn read(&self, from: Offset, next_size: u64, limit: usize, into: &mut Vec<u8>) -> Read {
        if from < self.start {
            return Read::Trimmed { start: self.start };
        }
        let first = self.size_count - self.sizes.len() as u64;
        let number = next_size.max(first);
        let record = usize::try_from(number - first)
            .ok()
            .and_then(|index| self.sizes.get(index));
        if let Some(record) = record.filter(|record| record.offset <= from) {
            return Read::Size {
                number,
                size: record.size,
                offset: record.offset,
            };
        }
        let stop = record.map_or(self.end(), |record| record.offset);
        let length = usize::try_from(stop.since(from)).unwrap_or(usize::MAX).min(limit);
        if length == 0 {
            return Read::Nothing;
        }
        let begin = usize::try_from(from.since(self.start)).unwrap_or(usize::MAX);
        let (front, back) = self.bytes.as_slices();
        let end = begin + length;
        into.extend_from_slice(&front[begin.min(front.len())..end.min(front.len())]);
        into.extend_from_slice(&back[begin.saturating_sub(front.len())..end.saturating_sub(front.len())]);
        Read::Output
    }

    /// Makes room in steps, so that a quiet session's ring is small and a busy one's not over its capacity.
    fn grow(&mut self, more: usize) {
        let wanted = self.bytes.len() + more;
        if wanted > self.bytes.capacity() {
            let doubled = (self.bytes.capacity() * 2).clamp(SMALLEST, self.capacity.max(SMALLEST));
            self.bytes.reserve_exact(doubled.max(wanted) - self.bytes.len());
        }
    }

    fn trim(&mut self, more: usize, needed: Offset) {
        let held = self.bytes.len() + more + self.times.len() * size_of::<Run>();
        let surplus = held.saturating_sub(self.capacity);
        let allowed = usize::try_from(needed.since(self.start)).unwrap_or(usize::MAX);
        let gone = surplus.min(allowed).min(self.bytes.len());
        if gone == 0 {
            return;
        }
        self.bytes.drain(..gone);
        self.start = self.start.plus(gone);
        while self.times.get(1).is_some_and(|run| run.offset <= self.start) {
            self.times.pop_front();
        }
        while self
            .sizes
            .front()
            .is_some_and(|record| record.offset < self.start)
        {
            self.sizes.pop_front();
        }
    }
}

/// What stands next in a ring.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Output, which was appended to the reader's buffer.
    Output,
    /// The `number`th size change.
    Size { number: u64, size: Size, offset: Offset },
    /// Everything was read.
    Nothing,
    /// What was asked for is gone; the ring begins at `start`.
    Trimmed { start: Offset },
}

/// Output from `offset` to the next run's was written at `time_ms`.
#[derive(Debug, Clone, Copy)]
struct Run {
    offset: Offset,
    time_ms: u64,
}

#[derive(Debug, Clone, Copy)]
struct SizeRecord {
    offset: Offset,
    #[expect(dead_code, reason = "a record carries its time; recordings read it")]
    time_ms: u64,
    size: Size,
}

/// Bytes; a session that printed one screen stays within it.
const SMALLEST: usize = 4 * 1024;
/// Size changes held at most; each is one person's drag of a window by one cell.
const MAX_SIZES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::{Read, Ring};
    use crate::offset::Offset;
    use crate::size::Size;

    fn ring(capacity: usize) -> Ring {
        Ring::new(Size::default(), capacity)
    }

    fn read(ring: &Ring, from: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert_eq!(
            ring.read(Offset(from), u64::MAX, usize::MAX, &mut bytes),
            Read::Output
        );
        bytes
    }

    #[test]
    fn offsets_survive_trimming() {
        let mut ring = ring(1_000);
        for round in 0..100_u64 {
            let line: Vec<u8> = (0..97).map(|index| (round * 97 + index) as u8).collect();
            ring.append(&line, round, ring.end());
        }
        assert_eq!(ring.end(), Offset(9_700));
        assert!(ring.start() > Offset(8_500));
        let start = ring.start().0;
        let expected: Vec<u8> = (start..9_700).map(|index| index as u8).collect();
        assert_eq!(read(&ring, start), expected);
    }

    #[test]
    fn what_the_screen_has_not_drawn_is_never_trimmed() {
        let mut ring = ring(100);
        ring.append(&[1; 500], 0, Offset(20));
        assert_eq!(ring.start(), Offset(20));
        ring.append(&[2; 10], 1, Offset(450));
        assert!(ring.start() > Offset(400));
    }

    #[test]
    fn what_was_trimmed_is_said_to_be_gone() {
        let mut ring = ring(100);
        ring.append(&[1; 500], 0, Offset(500));
        let start = ring.start();
        assert_eq!(
            ring.read(Offset(0), 0, 10, &mut Vec::new()),
            Read::Trimmed { start }
        );
    }

    #[test]
    fn a_size_stands_between_the_bytes_around_it() {
        let mut ring = ring(100);
        ring.append(b"before", 0, Offset::START);
        ring.resize(Size::new(100, 30), 1);
        ring.append(b"after", 2, Offset::START);
        let mut bytes = Vec::new();
        assert_eq!(ring.read(Offset(0), 0, 100, &mut bytes), Read::Output);
        assert_eq!(bytes, b"before");
        let size = Read::Size {
            number: 0,
            size: Size::new(100, 30),
            offset: Offset(6),
        };
        assert_eq!(ring.read(Offset(6), 0, 100, &mut bytes), size);
        assert_eq!(ring.read(Offset(6), 1, 100, &mut bytes), Read::Output);
        assert_eq!(bytes, b"beforeafter");
        assert_eq!(ring.read(Offset(11), 1, 100, &mut bytes), Read::Nothing);
    }

    #[test]
    fn memory_stays_within_the_capacity() {
        let mut ring = ring(64 * 1024);
        for time in 0..100_000 {
            ring.append(b"x", time, ring.end());
        }
        let held = ring.bytes.capacity() + ring.times.len() * size_of::<super::Run>();
        assert!(held <= 80 * 1024, "{held}");
    }
}
