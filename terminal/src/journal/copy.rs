//! Copying out of a journal: output for who reads it, whole records for who keeps them elsewhere.

use super::record::{HEADER, Kind};
use super::{Journal, Position};
use crate::offset::Offset;

impl Journal {
    /// Where the oldest record begins and where the next one will.
    pub(crate) fn positions(&self) -> (Position, Position) {
        (self.start, self.write)
    }

    /// Where the record begins that follows all output before `offset` and all size changes before number `next_size`.
    pub(crate) fn position_of(&self, offset: Offset, next_size: u64) -> Position {
        let before = offset.minus(1).max(self.start_offset);
        let mut at = if before >= self.end {
            self.start
        } else {
            self.find(before)
        };
        while at < self.write {
            let Some(head) = self.head(at) else { break };
            let is_known = match head.kind {
                Kind::Output => head.end() <= offset,
                Kind::Size => head.offset < offset || self.size_content(at).number < next_size,
            };
            if !is_known {
                break;
            }
            at += (HEADER + head.length) as u64;
        }
        at
    }

    /// Appends whole records from `from` on to `into`, as they are written: `limit` bytes of them at most, but one
    /// at least if there is one. `from` is where a record begins that is still there. Returns where the next begins.
    pub(crate) fn copy_records(&self, from: Position, limit: usize, into: &mut Vec<u8>) -> Position {
        let mut at = from;
        while at < self.write {
            let Some(head) = self.head(at) else { break };
            let next = at + (HEADER + head.length) as u64;
            if at > from && next - from > limit as u64 || next > self.write {
                break;
            }
            at = next;
        }
        let length = usize::try_from(at - from).unwrap_or(0).min(self.capacity);
        self.get(from, length, into);
        at
    }

    /// Where the record of output that holds `offset` begins; `offset` is between start and end.
    pub(super) fn find(&self, offset: Offset) -> Position {
        let mut at = self.index.before(offset).unwrap_or(self.start).max(self.start);
        while let Some(head) = self.head(at) {
            let next = at + (HEADER + head.length) as u64;
            if head.end() > offset || next >= self.write {
                break;
            }
            at = next;
        }
        at
    }

    /// Copies `length` bytes of output, which are there.
    pub(super) fn copy_output(&self, from: Offset, length: usize, into: &mut Vec<u8>) {
        let mut at = self.find(from);
        let mut rest = length;
        let mut from = from;
        into.reserve(length);
        while rest > 0 && at < self.write {
            let Some(head) = self.head(at) else { return };
            if head.kind == Kind::Output {
                let skipped = usize::try_from(from.since(head.offset))
                    .unwrap_or(usize::MAX)
                    .min(head.length);
                let part = (head.length - skipped).min(rest);
                self.get(at + (HEADER + skipped) as u64, part, into);
                from = from.plus(part);
                rest -= part;
            }
            at += (HEADER + head.length) as u64;
        }
    }
}
