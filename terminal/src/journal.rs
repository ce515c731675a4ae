//! The records of a session: what it wrote and which sizes it had, each at an offset and a time.
//!
//! A journal is a memfd that the keeper and the daemon both map. Exactly one of them writes at a time: the daemon
//! while it is connected, else the keeper. A writer that is killed at any moment leaves a journal that is whole,
//! less what it was just taking in: the oldest record is given up before its place is written over, and the newest
//! is published, by one word, after it is written.
//!
//! Bounded: the oldest records go first. An offset never shifts, whatever was trimmed.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{Ordering, compiler_fence};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::offset::Offset;
use crate::size::Size;
use map::{Map, invalid};
use record::{HEADER, Header, Kind, MAX_CONTENT, SIZE_CONTENT, SizeContent};

mod copy;
mod header;
mod index;
mod map;
pub(crate) mod record;
mod said;

use index::Index;

/// A session's shared ring of records.
#[derive(Debug)]
pub(crate) struct Journal {
    map: Map,
    /// Bytes of the ring; a position lies at its remainder by this.
    capacity: usize,
    began: UnixMs,
    /// On the machine's steady clock, which all its processes share and which counts while it sleeps.
    began_steady_ms: u64,
    /// Where the oldest record begins.
    start: Position,
    /// Where the newest record begins.
    newest: Position,
    /// Where the next record begins.
    write: Position,
    start_offset: Offset,
    end: Offset,
    last_output_ms: Option<u64>,
    index: Index,
}

/// Bytes written into the ring since it began, whichever of them are still there.
pub(crate) type Position = u64;

/// Milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// What the system's clock says.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// What stands next in a journal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Output, which was appended to the reader's buffer.
    Output,
    /// The `number`th size change.
    Size { number: u64, size: Size, offset: Offset },
    /// Everything was read.
    Nothing,
    /// What was asked for is gone; the journal begins at `start`.
    Trimmed { start: Offset },
}

impl Journal {
    /// The empty journal of a session that begins at `size`, for `capacity` bytes of records.
    pub(crate) fn create(capacity: usize, size: Size, began: UnixMs) -> io::Result<Self> {
        let capacity = capacity.max(header::SMALLEST).next_multiple_of(header::PAGE);
        let map = Map::create(header::PAGE + capacity)?;
        header::initialise(&map, size, began, steady_ms());
        Self::over(map)
    }

    /// Opens a journal that somebody else made, and goes on with it.
    ///
    /// # Errors
    /// When the descriptor cannot be mapped or what it holds is not a whole journal of this version.
    pub(crate) fn open(descriptor: OwnedFd) -> io::Result<Self> {
        Self::over(Map::open(descriptor)?)
    }

    /// In the place of a journal whose records are elsewhere, all of them: nothing but where it ended. Holds no memory to
    /// speak of, and is not written to.
    pub(crate) fn ended(end: Offset, size: Size, began: UnixMs) -> io::Result<Self> {
        Ok(Self {
            map: Map::private(header::PAGE + header::SMALLEST)?,
            capacity: header::SMALLEST,
            began,
            began_steady_ms: steady_ms(),
            start: 0,
            newest: 0,
            write: 0,
            start_offset: end,
            end,
            last_output_ms: None,
            index: Index::new(0, size),
        })
    }

    /// The same in the place of this one, which counts its time on.
    pub(crate) fn without_records(&self) -> io::Result<Self> {
        Ok(Self {
            began_steady_ms: self.began_steady_ms,
            last_output_ms: self.last_output_ms,
            ..Self::ended(self.end, self.size(), self.began)?
        })
    }

    /// Looks again at what the other process wrote since this one last did.
    pub(crate) fn refresh(&mut self) -> io::Result<()> {
        let (start, write) = header::bounds(&self.map);
        let held = write.checked_sub(start);
        if held.is_none_or(|held| held > self.capacity as u64) || write > MAX_POSITION {
            return Err(invalid("the journal's bounds are not in order"));
        }
        let (size_count, size) = header::size(&self.map);
        self.index = Index::new(size_count, size);
        (self.start, self.newest, self.write) = (start, start, write);
        self.last_output_ms = None;
        if start == write {
            // Only one that was never written to is empty.
            (self.start_offset, self.end) = (Offset::START, Offset::START);
            return if start == 0 {
                Ok(())
            } else {
                Err(invalid("the journal lost its records"))
            };
        }
        self.walk()
    }

    /// The memfd, to be handed to another process.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.map.descriptor()
    }

    /// When the session began.
    pub(crate) fn began(&self) -> UnixMs {
        self.began
    }

    /// Milliseconds since the session began, by the machine's steady clock.
    pub(crate) fn time_ms(&self) -> u64 {
        steady_ms().saturating_sub(self.began_steady_ms)
    }

    /// Bytes of records that fit.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The oldest offset that can be read.
    pub(crate) fn start(&self) -> Offset {
        self.start_offset
    }

    /// The offset of the next byte that will be written.
    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    /// The newest size.
    pub(crate) fn size(&self) -> Size {
        self.index.size()
    }

    /// The size that the session began with; none of one whose records are elsewhere.
    pub(crate) fn first_size(&self) -> Option<Size> {
        self.map.is_shared().then(|| header::first_size(&self.map))
    }

    /// When the last byte was written, in milliseconds since the session began; none if all were trimmed.
    pub(crate) fn last_output_ms(&self) -> Option<u64> {
        self.last_output_ms
    }

    /// The number of the first size change at `offset` or later.
    pub(crate) fn first_size_from(&self, offset: Offset) -> u64 {
        self.index.first_size_from(offset)
    }

    /// How many bytes of output one [`append`](Self::append) takes without giving up anything at or after
    /// `keep_from`. A size always fits beside them.
    pub(crate) fn room(&self, keep_from: Offset) -> usize {
        if keep_from >= self.end {
            return self.room_behind(self.newest);
        }
        // Mostly there is enough also where a little more is kept, which needs no search.
        let near = self.index.before(keep_from).unwrap_or(self.start).max(self.start);
        match self.room_behind(near) {
            room if room == self.max_content() => room,
            _ => self.room_behind(self.find(keep_from)),
        }
    }

    /// Appends output that was written at `time_ms` (since the session began), giving up the oldest records for
    /// it, but nothing at or after `keep_from`. Returns how many of the bytes fitted; all of them, where nothing
    /// has to be kept.
    pub(crate) fn append(&mut self, time_ms: u64, bytes: &[u8], keep_from: Offset) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            let wanted = (bytes.len() - taken).min(self.max_content());
            let free = self.make_room(HEADER + wanted, keep_from);
            let length = free.saturating_sub(HEADER).min(wanted);
            if length == 0 {
                break;
            }
            let head = Header {
                offset: self.end,
                time_ms,
                kind: Kind::Output,
                length,
            };
            let content = &bytes[taken..taken + length];
            self.index.output(self.write, self.end);
            self.end = self.end.plus(length);
            self.last_output_ms = Some(time_ms);
            self.push(head, content);
            taken += length;
        }
        taken
    }

    /// Records that the size is another from here on.
    pub(crate) fn resize(&mut self, time_ms: u64, size: Size) {
        let number = self.index.size_count();
        // `room` leaves a place for it.
        self.make_room(HEADER + SIZE_CONTENT, Offset(u64::MAX));
        let head = Header {
            offset: self.end,
            time_ms,
            kind: Kind::Size,
            length: SIZE_CONTENT,
        };
        self.push(head, &SizeContent { number, size }.encode());
        self.index.size_record(number, self.end, size);
        header::store_size(&self.map, self.index.size_count(), size);
    }

    /// The next record at `from`: the first size change there from number `next_size` on, else at most `limit` bytes
    /// of output up to the next size change, appended to `into`.
    pub(crate) fn read(&self, from: Offset, next_size: u64, limit: usize, into: &mut Vec<u8>) -> Read {
        if from < self.start_offset {
            return Read::Trimmed {
                start: self.start_offset,
            };
        }
        // A reader that comes from further back may not know how many changes there were.
        let next_size = next_size.max(self.index.first_size_from(from));
        let change = self.index.size_change(next_size);
        if let Some((number, offset, size)) = change.filter(|(_, offset, _)| *offset <= from) {
            return Read::Size { number, size, offset };
        }
        let stop = change.map_or(self.end, |(_, offset, _)| offset);
        let length = usize::try_from(stop.since(from)).unwrap_or(usize::MAX).min(limit);
        if length == 0 {
            return Read::Nothing;
        }
        self.copy_output(from, length, into);
        Read::Output
    }

    /// The offset up to which the program's queries were answered.
    pub(crate) fn answered(&self) -> Offset {
        header::answered(&self.map)
    }

    /// Says that the queries before `offset` were answered.
    pub(crate) fn set_answered(&self, offset: Offset) {
        header::store_answered(&self.map, offset);
    }

    /// When the byte before `end` was written, and where the record that it is in ends; none if it is not here.
    pub(crate) fn record_before(&self, end: Offset) -> Option<(u64, Offset)> {
        if end <= self.start_offset || end > self.end {
            return None;
        }
        let head = self.head(self.find(end.minus(1)))?;
        Some((head.time_ms, head.end()))
    }

    /// The last input sequence that was applied for a client. Remembered for at least 10 min after it was last set,
    /// unless 64 other clients typed since. With it, whether it is certain: not where it was being applied when the process
    /// that did so ended.
    pub(crate) fn applied(&self, client: [u8; 16]) -> Option<(u64, bool)> {
        header::applied(&self.map, client)
    }

    /// Remembers the sequence that is about to be applied for a client, in doubt until [`set_applied`](Self::set_applied).
    pub(crate) fn set_applying(&self, client: [u8; 16], sequence: u64, now_ms: u64) {
        header::store_applying(&self.map, client, sequence, now_ms);
    }

    /// Remembers the last input sequence applied for a client, at `now_ms` since the session began.
    pub(crate) fn set_applied(&self, client: [u8; 16], sequence: u64, now_ms: u64) {
        header::store_applied(&self.map, client, sequence, now_ms);
    }

    /// Remembers a client for longer: what was applied for it stays, which is nothing where it was not known.
    pub(crate) fn touch_applied(&self, client: [u8; 16], now_ms: u64) {
        header::touch_applied(&self.map, client, now_ms);
    }

    fn over(map: Map) -> io::Result<Self> {
        let capacity = header::check(&map)?;
        let (began, began_steady_ms) = header::began(&map);
        let (size_count, size) = header::size(&map);
        let mut journal = Self {
            map,
            capacity,
            began,
            began_steady_ms,
            start: 0,
            newest: 0,
            write: 0,
            start_offset: Offset::START,
            end: Offset::START,
            last_output_ms: None,
            index: Index::new(size_count, size),
        };
        journal.refresh()?;
        Ok(journal)
    }

    /// Goes through all records, checks that each follows the one before, and finds out what they say.
    fn walk(&mut self) -> io::Result<()> {
        let mut at = self.start;
        let mut end = None;
        while at < self.write {
            let head = self.head(at).ok_or_else(|| invalid("a record is damaged"))?;
            let next = at + (HEADER + head.length) as u64;
            let follows = end.is_none_or(|end| end == head.offset);
            if !follows || next > self.write || head.length > self.max_content() {
                return Err(invalid("a record is not in order"));
            }
            if end.is_none() {
                self.start_offset = head.offset;
            }
            match head.kind {
                Kind::Output => {
                    self.index.output(at, head.offset);
                    self.last_output_ms = Some(head.time_ms);
                }
                Kind::Size => {
                    let content = self.size_content(at);
                    self.index.size_record(content.number, head.offset, content.size);
                }
            }
            end = Some(head.end());
            self.newest = at;
            at = next;
        }
        self.end = end.unwrap_or_default();
        Ok(())
    }

    /// Writes a record behind the newest and publishes it. There is room for it.
    fn push(&mut self, head: Header, content: &[u8]) {
        let at = self.write;
        self.put(at, &head.encode());
        self.put(at + HEADER as u64, content);
        self.newest = at;
        self.write = at + (HEADER + content.len()) as u64;
        header::store_write(&self.map, self.write);
    }

    /// Gives up the oldest records until `wanted` bytes are free, as far as `keep_from` allows; never the newest, which says how
    /// far the offsets are. Returns how many bytes are free.
    fn make_room(&mut self, wanted: usize, keep_from: Offset) -> usize {
        let before = self.start;
        while self.free() < wanted && self.start < self.newest {
            let Some(head) = self.head(self.start) else { break };
            let may_go = match head.kind {
                Kind::Output => head.end() <= keep_from,
                Kind::Size => head.offset < keep_from,
            };
            let next = self.start + (HEADER + head.length) as u64;
            if !may_go || next > self.newest {
                break;
            }
            self.start = next;
            self.start_offset = head.end();
        }
        if self.start != before {
            header::store_start(&self.map, self.start);
            // What is written over next is given up before. Another process sees this one's stores up to where it
            // was killed, so only the compiler has to keep them in order.
            compiler_fence(Ordering::SeqCst);
            self.index.trim(self.start, self.start_offset);
        }
        self.free()
    }

    fn free(&self) -> usize {
        let held = usize::try_from(self.write.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.capacity.saturating_sub(held)
    }

    /// How many bytes of output fit where everything from `kept` on stays.
    fn room_behind(&self, kept: Position) -> usize {
        let held = usize::try_from(self.write.saturating_sub(kept)).unwrap_or(usize::MAX);
        let free = self.capacity.saturating_sub(held);
        free.saturating_sub(HEADER + RESERVE).min(self.max_content())
    }

    /// Bytes of content in one record, so that some records always fit beside each other.
    fn max_content(&self) -> usize {
        (self.capacity / 4 - HEADER).min(MAX_CONTENT)
    }

    fn head(&self, at: Position) -> Option<Header> {
        let mut bytes = [0; HEADER];
        self.get_exact(at, &mut bytes);
        Header::decode(bytes)
    }

    fn size_content(&self, at: Position) -> SizeContent {
        let mut bytes = [0; SIZE_CONTENT];
        self.get_exact(at + HEADER as u64, &mut bytes);
        SizeContent::decode(bytes)
    }

    /// Copies a stretch of the ring, which may go over its end, to the end of `into`.
    fn get(&self, at: Position, length: usize, into: &mut Vec<u8>) {
        let (place, first) = self.place(at, length);
        self.map.append_to(place, first, into);
        self.map.append_to(header::PAGE, length - first, into);
    }

    fn get_exact(&self, at: Position, into: &mut [u8]) {
        let (place, first) = self.place(at, into.len());
        let (front, back) = into.split_at_mut(first);
        self.map.copy_to(place, front);
        self.map.copy_to(header::PAGE, back);
    }

    fn put(&mut self, at: Position, bytes: &[u8]) {
        let (place, first) = self.place(at, bytes.len());
        let (front, back) = bytes.split_at(first);
        self.map.copy_from(place, front);
        self.map.copy_from(header::PAGE, back);
    }

    /// Where a position is in the map, and how many of `length` bytes stand there before the ring begins again.
    fn place(&self, at: Position, length: usize) -> (usize, usize) {
        let index = (at % self.capacity as u64) as usize;
        (header::PAGE + index, length.min(self.capacity - index))
    }
}

/// Milliseconds on the machine's steady clock.
fn steady_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    seconds * 1_000 + nanoseconds / 1_000_000
}

/// Bytes that [`Journal::room`] leaves for size changes.
const RESERVE: usize = 16 * (HEADER + SIZE_CONTENT);
/// So that what is computed with positions stays within a `u64`.
const MAX_POSITION: u64 = 1 << 62;

#[cfg(test)]
mod tests;
