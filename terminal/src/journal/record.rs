//! How a record is written, in memory and on disk alike: sixteen bytes and then its content.
//!
//! Little-endian: the offset as a `u64`, then a word of kind (bits 62 to 63), length of the content in bytes (42 to
//! 61) and time in milliseconds since the session began (0 to 41, which lasts 139 years). Zeroes are no record.

use crate::offset::Offset;
use crate::size::Size;

/// The beginning of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) offset: Offset,
    pub(crate) time_ms: u64,
    pub(crate) kind: Kind,
    /// Bytes of content, below [`MAX_CONTENT`].
    pub(crate) length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the program wrote; never empty.
    Output,
    /// The terminal's size from here on.
    Size,
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER] {
        let kind = match self.kind {
            Kind::Output => 1,
            Kind::Size => 2,
        };
        let length = self.length as u64 & LENGTH_MASK;
        let word = kind << KIND_SHIFT | length << LENGTH_SHIFT | self.time_ms.min(TIME_MASK);
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&self.offset.0.to_le_bytes());
        bytes[8..].copy_from_slice(&word.to_le_bytes());
        bytes
    }

    /// A header, if these bytes are one.
    pub(crate) fn decode(bytes: [u8; HEADER]) -> Option<Self> {
        let word = |half: [u8; 8]| u64::from_le_bytes(half);
        let (first, second) = bytes.split_at(8);
        let offset = word(first.try_into().ok()?);
        let rest = word(second.try_into().ok()?);
        let length = usize::try_from(rest >> LENGTH_SHIFT & LENGTH_MASK).ok()?;
        let kind = match rest >> KIND_SHIFT {
            1 if length > 0 => Kind::Output,
            2 if length == SIZE_CONTENT => Kind::Size,
            _ => return None,
        };
        // No session wrote more, and what is computed with it stays within a `u64`.
        (offset <= MAX_OFFSET).then_some(Self {
            offset: Offset(offset),
            time_ms: rest & TIME_MASK,
            kind,
            length,
        })
    }

    /// The offset of what stands behind this record.
    pub(crate) fn end(self) -> Offset {
        match self.kind {
            Kind::Output => self.offset.plus(self.length),
            Kind::Size => self.offset,
        }
    }
}

/// The content of a size record: the size's number, counted from 0, columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeContent {
    pub(crate) number: u64,
    pub(crate) size: Size,
}

impl SizeContent {
    pub(crate) fn encode(self) -> [u8; SIZE_CONTENT] {
        let mut bytes = [0; SIZE_CONTENT];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.size.columns().to_le_bytes());
        bytes[10..].copy_from_slice(&self.size.rows().to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: [u8; SIZE_CONTENT]) -> Self {
        let [number @ .., c0, c1, r0, r1] = bytes;
        Self {
            number: u64::from_le_bytes(number),
            size: Size::new(u16::from_le_bytes([c0, c1]), u16::from_le_bytes([r0, r1])),
        }
    }
}

/// Whole records as they are written, one behind the other.
#[derive(Debug)]
pub(crate) struct Records<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (Header, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let head = Header::decode(*self.0.first_chunk()?)?;
        let content = self.0.get(HEADER..HEADER + head.length)?;
        self.0 = &self.0[HEADER + head.length..];
        Some((head, content))
    }
}

/// Bytes of a record before its content.
pub(crate) const HEADER: usize = 16;
/// Bytes of a size record's content.
pub(crate) const SIZE_CONTENT: usize = 12;
/// Bytes; what the length's twenty bits can say.
pub(crate) const MAX_CONTENT: usize = LENGTH_MASK as usize;
/// Bytes; four exabytes, so that sums of two offsets fit.
const MAX_OFFSET: u64 = 1 << 62;
const KIND_SHIFT: u32 = 62;
const LENGTH_SHIFT: u32 = 42;
const LENGTH_MASK: u64 = (1 << 20) - 1;
const TIME_MASK: u64 = (1 << LENGTH_SHIFT) - 1;

#[cfg(test)]
mod tests {
    use super::{HEADER, Header, Kind, MAX_CONTENT, SizeContent, TIME_MASK};
    use crate::offset::Offset;
    use crate::size::Size;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (kind, length) in [(Kind::Output, 1), (Kind::Output, MAX_CONTENT), (Kind::Size, 12)] {
            let header = Header {
                offset: Offset(0x0123_4567_89ab),
                time_ms: TIME_MASK,
                kind,
                length,
            };
            assert_eq!(Header::decode(header.encode()), Some(header));
        }
        let size = SizeContent {
            number: 77,
            size: Size::new(100, 30),
        };
        assert_eq!(SizeContent::decode(size.encode()), size);
    }

    #[test]
    fn what_is_no_header_is_none() {
        assert_eq!(Header::decode([0; HEADER]), None);
        assert_eq!(Header::decode([0xff; HEADER]), None);
    }
}
