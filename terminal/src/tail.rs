//! A session's records on disk: what no longer fits into its journal.
//!
//! A directory holds **segments**, files named after the offset of their first record (`<20 digits>.seg`, 0600), each
//! of about 1 MiB of records as the journal has them. Inside of a segment nothing is missing; where something was,
//! because the disk was full or slower than the program, a new segment begins. The oldest go first.
//!
//! Nothing here runs on the path of reading: a thread of its own copies records, a cursor into the journal that
//! nobody waits for.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::journal::record::{Kind, Records, SizeContent};
use crate::journal::{Journal, Position};
use crate::offset::Offset;
use crate::size::Size;
use segment::Segment;

mod segment;
pub(crate) mod worker;

/// The disk tail of one session.
#[derive(Debug)]
pub(crate) struct Tail {
    directory: PathBuf,
    /// Bytes of segments to keep.
    limit: u64,
    files: Mutex<Files>,
}

/// What stands next in a tail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Output, which was appended to the reader's buffer.
    Output,
    /// The `number`th size change.
    Size { number: u64, size: Size, offset: Offset },
    /// What was asked for is not here; the tail goes on at `to`.
    Gap { to: Offset },
    /// What was asked for is not here, nor anything behind it.
    End,
}

/// A place between records: behind all output before `offset` and all size changes before number `next_size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: Offset,
    pub(crate) next_size: u64,
}

impl Tail {
    /// The tail in `directory`, which is looked at when it is first needed.
    pub(crate) fn new(directory: PathBuf, limit: u64) -> Self {
        Self {
            directory,
            limit,
            files: Mutex::new(Files::default()),
        }
    }

    /// Writes the next records of the journal, about 64 KiB at once; a disk that took nothing a moment ago is left
    /// alone, unless nobody will ask again. Returns whether there may be more. Blocks.
    ///
    /// # Errors
    /// When the disk takes them not. They are tried again by a later call, as long as the journal has them; what it
    /// gave up until then is missing here.
    pub(crate) fn write(
        &self,
        journal: &Mutex<Journal>,
        is_last: bool,
        buffer: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let mut files = self.listed()?;
        if !is_last && files.retry.is_some_and(|retry| Instant::now() < retry) {
            return Ok(false);
        }
        // Whatever fails below, until it was tried again.
        files.retry = Some(Instant::now() + RETRY);
        files.resume()?;
        buffer.clear();
        let (next, end) = {
            let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            let (start, end) = journal.positions();
            let (offset, next_size) = files.end();
            if offset > journal.end() {
                files.forget_all()?;
                files.retry = None;
                return Ok(true);
            }
            let cursor = files
                .cursor
                .unwrap_or_else(|| journal.position_of(offset, next_size));
            if cursor < start || offset < journal.start() {
                files.current = None;
            }
            let from = cursor.max(start);
            if from >= end {
                files.cursor = Some(from);
                files.retry = None;
                return Ok(false);
            }
            (journal.copy_records(from, CHUNK, buffer), end)
        };
        files.append(buffer, &self.directory, self.limit)?;
        files.retry = None;
        files.cursor = Some(next);
        // What came meanwhile is not worth a write of its own yet.
        Ok(next < end)
    }

    /// What stands at a place: a size change, or at most `limit` bytes of output up to the next size change, appended
    /// to `into`. Blocks.
    pub(crate) fn read(&self, place: Place, limit: usize, into: &mut Vec<u8>) -> io::Result<Stored> {
        let mut raw = Vec::new();
        let gap = self.copy(place, limit, &mut raw)?;
        let before = into.len();
        for (head, content) in Records(&raw) {
            let taken = into.len() - before;
            match (head.kind, content.first_chunk()) {
                (Kind::Output, _) => {
                    let skipped = usize::try_from(place.offset.since(head.offset)).unwrap_or(0);
                    let rest = content.get(skipped..).unwrap_or_default();
                    into.extend_from_slice(&rest[..rest.len().min(limit - taken)]);
                }
                (Kind::Size, Some(change)) if taken == 0 => {
                    let SizeContent { number, size } = SizeContent::decode(*change);
                    let offset = head.offset;
                    return Ok(Stored::Size { number, size, offset });
                }
                (Kind::Size, _) => break,
            }
        }
        Ok(match gap {
            _ if into.len() > before => Stored::Output,
            Some(to) => Stored::Gap { to },
            None => Stored::End,
        })
    }

    /// Appends whole records to `into`, as they are written, from a place on: about `limit` bytes of them. Where none is
    /// at that place, returns the offset at which the tail goes on, if it does. Blocks.
    pub(crate) fn copy(&self, place: Place, limit: usize, into: &mut Vec<u8>) -> io::Result<Option<Offset>> {
        let mut files = self.listed()?;
        let before = files
            .segments
            .partition_point(|segment| segment.first < place.offset);
        let mut index = before.saturating_sub(1);
        while let Some(segment) = files.segments.get_mut(index) {
            if segment.first > place.offset {
                return Ok(Some(segment.first));
            }
            match segment.copy(place, limit, into) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => files.lose(index),
                copied => {
                    copied?;
                    index += 1;
                }
            }
            if !into.is_empty() {
                break;
            }
        }
        Ok(None)
    }

    /// Whether nothing is missing here from one offset up to another; nothing is that cannot be read now. Blocks.
    pub(crate) fn holds(&self, from: Offset, to: Offset) -> io::Result<bool> {
        let mut files = self.listed()?;
        let behind = files.segments.partition_point(|segment| segment.first <= from);
        let mut at = from;
        for segment in files.segments.range_mut(behind.saturating_sub(1)..) {
            if at >= to || segment.first > at {
                break;
            }
            match segment.scan() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                scanned => scanned?,
            }
            at = at.max(segment.end().0);
        }
        Ok(at >= to)
    }

    /// Whether the journal has records that are not here. Blocks.
    pub(crate) fn is_behind(&self, journal: &Mutex<Journal>) -> bool {
        let Ok(files) = self.listed() else { return true };
        let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        files.cursor != Some(journal.positions().1)
    }

    /// Whether the disk did not take what it was last given. Blocks.
    pub(crate) fn has_failed(&self) -> bool {
        self.listed().map_or(true, |files| files.retry.is_some())
    }

    /// Gives back the file that is written to, as nothing more is. Blocks.
    pub(crate) fn close(&self) {
        if let Ok(mut files) = self.listed() {
            files.current = None;
        }
    }

    /// The oldest offset here and the one behind the newest; none where nothing is. Blocks.
    pub(crate) fn bounds(&self) -> io::Result<Option<(Offset, Offset)>> {
        let mut files = self.listed()?;
        files.segments.back_mut().map(Segment::scan).transpose()?;
        let first = files.segments.front().map(|segment| segment.first);
        Ok(first.map(|first| (first, files.end().0)))
    }

    fn listed(&self) -> io::Result<MutexGuard<'_, Files>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.is_listed {
            files.list(&self.directory)?;
        }
        Ok(files)
    }
}

/// Bytes that a session's directory takes on disk, whatever its files are.
///
/// # Errors
/// When the directory cannot be read. One that is not there holds nothing.
pub fn stored_bytes(directory: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut sum = 0;
    for entry in entries {
        // One that went meanwhile is no error.
        sum += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    Ok(sum)
}

/// What a tail knows of its directory.
#[derive(Debug, Default)]
struct Files {
    is_listed: bool,
    /// Whether the newest segment of an earlier process was looked at, to go on behind it.
    is_resumed: bool,
    /// In the order of their offsets.
    segments: VecDeque<Segment>,
    /// The newest segment, to be written to; none where a new one begins.
    current: Option<File>,
    /// The journal's next record to write; none until it was looked for.
    cursor: Option<Position>,
    /// Not before then is a full disk tried again.
    retry: Option<Instant>,
}

impl Files {
    /// Looks at what an earlier process left.
    fn list(&mut self, directory: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            entries => Some(entries?),
        };
        let mut segments: Vec<Segment> = Vec::new();
        for entry in entries.into_iter().flatten() {
            segments.extend(Segment::found(&entry?.path())?);
        }
        segments.sort_by_key(|segment| segment.first);
        self.segments = segments.into();
        self.is_listed = true;
        Ok(())
    }

    /// Makes the newest segment of an earlier process one that can be written to.
    fn resume(&mut self) -> io::Result<()> {
        while let Some(newest) = self.segments.back_mut().filter(|_| !self.is_resumed) {
            newest.scan()?;
            if newest.length > segment::MAGIC.len() as u64 {
                let file = OpenOptions::new().write(true).open(newest.path())?;
                // What its writer did not end is no record.
                file.set_len(newest.length)?;
                self.current = Some(file);
                break;
            }
            newest.remove()?;
            self.segments.pop_back();
        }
        self.is_resumed = true;
        Ok(())
    }

    /// Gives up a segment that somebody took away: unlike one that cannot be read now, it does not come back.
    fn lose(&mut self, index: usize) {
        self.segments.remove(index);
        // It may be the one that is written to.
        self.current = None;
    }

    /// Gives up what is of another session, whose directory this was.
    fn forget_all(&mut self) -> io::Result<()> {
        self.current = None;
        self.cursor = None;
        self.segments.drain(..).try_for_each(|segment| segment.remove())
    }

    /// Where the tail ends: the offset and the number of size changes there.
    fn end(&self) -> (Offset, u64) {
        self.segments.back().map_or((Offset::START, 0), Segment::end)
    }

    /// Writes whole records behind the newest segment, or to a new one.
    fn append(&mut self, records: &[u8], directory: &Path, limit: u64) -> io::Result<()> {
        let size = SEGMENT.min(limit / 4);
        let is_full = self.segments.back().is_some_and(|newest| newest.length >= size);
        if is_full {
            self.current = None;
        }
        if self.current.is_none() {
            self.begin(records, directory, limit.saturating_sub(size))?;
        }
        let (Some(file), Some(newest)) = (&mut self.current, self.segments.back_mut()) else {
            return Ok(());
        };
        if let Err(error) = file.write_all_at(records, newest.length) {
            // As if it had not been tried; what stays of it is cut off by who opens the file next.
            let _ = file.set_len(newest.length);
            return Err(error);
        }
        newest.appended(records);
        Ok(())
    }

    /// Begins a new segment, once the old ones are within `limit`.
    fn begin(&mut self, records: &[u8], directory: &Path, limit: u64) -> io::Result<()> {
        let mut held: u64 = self.segments.iter().map(|segment| segment.length).sum();
        while held > limit {
            let Some(oldest) = self.segments.pop_front() else {
                break;
            };
            held -= oldest.length;
            oldest.remove()?;
        }
        let Some(mut segment) = Segment::beginning(records, directory) else {
            return Ok(());
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(segment.path())?;
        // One without output is written over.
        self.segments.retain(|other| other.first != segment.first);
        if let Err(error) = file.write_all(segment::MAGIC) {
            let _ = segment.remove();
            return Err(error);
        }
        segment.length = segment::MAGIC.len() as u64;
        self.segments.push_back(segment);
        self.current = Some(file);
        Ok(())
    }
}

/// Bytes of records written at once.
const CHUNK: usize = 64 * 1024;
/// Bytes of a segment, after which the next begins; a quarter of what may be kept, where that is less.
const SEGMENT: u64 = 1024 * 1024;
/// How long a disk that took nothing is left alone.
const RETRY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
