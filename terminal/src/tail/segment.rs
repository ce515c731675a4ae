//! One file of records.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Place;
use crate::journal::record::{HEADER, Header, Kind, Records, SIZE_CONTENT, SizeContent};
use crate::offset::Offset;

/// A segment, and where to look in it.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    /// The offset of its first record.
    pub(super) first: Offset,
    /// Bytes of the file; of its whole records, once it was scanned.
    pub(super) length: u64,
    is_scanned: bool,
    end: Offset,
    /// One more than the number of its newest size change.
    next_size: u64,
    /// Where some of the records of output begin, ascending.
    marks: Vec<Mark>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    offset: Offset,
    at: u64,
}

impl Segment {
    /// A segment that another process left, if this is the name of one.
    pub(super) fn found(path: &Path) -> io::Result<Option<Self>> {
        let Some(first) = path.file_name().and_then(|name| first_of(Path::new(name))) else {
            return Ok(None);
        };
        Ok(Some(Self::new(
            path.to_owned(),
            first,
            fs::metadata(path)?.len(),
            false,
        )))
    }

    /// The segment that begins with these records.
    pub(super) fn beginning(records: &[u8], directory: &Path) -> Option<Self> {
        let first = Header::decode(*records.first_chunk()?)?.offset;
        let path = directory.join(format!("{:020}.seg", first.0));
        Some(Self::new(path, first, 0, true))
    }

    fn new(path: PathBuf, first: Offset, length: u64, is_scanned: bool) -> Self {
        Self {
            path,
            first,
            length,
            is_scanned,
            end: first,
            next_size: 0,
            marks: Vec::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The offset behind its last record and one more than the number of its newest size change; of one that was
    /// scanned or written here.
    pub(super) fn end(&self) -> (Offset, u64) {
        (self.end, self.next_size)
    }

    /// Takes note of records that were written behind the others.
    pub(super) fn appended(&mut self, records: &[u8]) {
        for (head, content) in Records(records) {
            self.note(head, content.first_chunk());
        }
    }

    /// Goes through all records, up to the first that does not follow the one before, if that was not done yet.
    pub(super) fn scan(&mut self) -> io::Result<()> {
        if self.is_scanned {
            return Ok(());
        }
        // In the place of this one once all of it was read: a read that fails is tried again.
        let mut scanned = Self::new(self.path.clone(), self.first, 0, true);
        scanned.note_all(self.length)?;
        *self = scanned;
        Ok(())
    }

    /// Takes note of all records in the file, which has so many bytes.
    fn note_all(&mut self, file_length: u64) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(BUFFER, File::open(&self.path)?);
        let mut magic = [0; MAGIC.len()];
        if file_length >= MAGIC.len() as u64 {
            reader.read_exact(&mut magic)?;
        }
        if magic != *MAGIC {
            return Ok(());
        }
        self.length = MAGIC.len() as u64;
        while let Some(head) = self.next(&mut reader, file_length)? {
            let mut content = [0; SIZE_CONTENT];
            let is_size = head.kind == Kind::Size;
            if is_size {
                reader.read_exact(&mut content)?;
            } else {
                reader.seek_relative(head.length as i64)?;
            }
            self.note(head, is_size.then_some(&content));
        }
        Ok(())
    }

    /// The header of the next record while scanning, if there is a whole one that follows the one before.
    fn next(&self, reader: &mut impl Read, file_length: u64) -> io::Result<Option<Header>> {
        let left = file_length - self.length;
        if left < HEADER as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER];
        reader.read_exact(&mut bytes)?;
        let head = Header::decode(bytes);
        Ok(head.filter(|head| head.offset == self.end && (HEADER + head.length) as u64 <= left))
    }

    fn note(&mut self, head: Header, size: Option<&[u8; SIZE_CONTENT]>) {
        match head.kind {
            Kind::Output => {
                if self.marks.last().is_none_or(|mark| self.length - mark.at >= STEP) {
                    self.marks.push(Mark {
                        offset: head.offset,
                        at: self.length,
                    });
                }
            }
            Kind::Size => {
                if let Some(content) = size {
                    let content = SizeContent::decode(*content);
                    self.next_size = content.number.saturating_add(1);
                }
            }
        }
        self.end = head.end();
        self.length += (HEADER + head.length) as u64;
    }

    /// Appends whole records to `into`, as they are written, from the first on that is at or behind a place: `limit`
    /// bytes and the rest of the last one. Nothing, if all of it is before that place.
    pub(super) fn copy(&mut self, place: Place, limit: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let mut file = self.file_before(place.offset)?;
        let before = into.len();
        while let Some(head) = file.next()? {
            let begin = into.len();
            into.extend_from_slice(&head.encode());
            let is_before = match head.kind {
                Kind::Output if begin == before && head.end() <= place.offset => {
                    file.skip(head.length)?;
                    true
                }
                Kind::Output => {
                    file.take(head.length, into)?;
                    false
                }
                Kind::Size => {
                    file.take(head.length, into)?;
                    let content = into.last_chunk().map(|content| SizeContent::decode(*content));
                    let number = content.map_or(0, |content| content.number);
                    begin == before && (head.offset < place.offset || number < place.next_size)
                }
            };
            if is_before {
                into.truncate(begin);
            } else if into.len() - before >= limit {
                break;
            }
        }
        Ok(())
    }

    /// The file, at a record before all that is at `offset`.
    fn file_before(&mut self, offset: Offset) -> io::Result<Rest> {
        self.scan()?;
        // A size change at `offset` stands before the output there.
        let behind = self.marks.partition_point(|mark| mark.offset < offset);
        let mark = behind.checked_sub(1).and_then(|index| self.marks.get(index));
        let at = mark.map_or(MAGIC.len() as u64, |mark| mark.at);
        let mut file = BufReader::with_capacity(BUFFER, File::open(&self.path)?);
        if at < self.length {
            file.seek(SeekFrom::Start(at))?;
        }
        Ok(Rest {
            file,
            left: self.length.saturating_sub(at),
        })
    }
}

/// The rest of a file, whose headers were looked at before.
struct Rest {
    file: BufReader<File>,
    /// Bytes of records from here on.
    left: u64,
}

impl Rest {
    fn next(&mut self) -> io::Result<Option<Header>> {
        if self.left < HEADER as u64 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER];
        self.file.read_exact(&mut bytes)?;
        let head = Header::decode(bytes);
        // Changed by somebody since it was scanned.
        let head = head.filter(|head| (HEADER + head.length) as u64 <= self.left);
        self.left -= head.map_or(self.left, |head| (HEADER + head.length) as u64);
        Ok(head)
    }

    fn skip(&mut self, length: usize) -> io::Result<()> {
        self.file.seek_relative(length as i64)
    }

    fn take(&mut self, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let begin = into.len();
        into.resize(begin + length, 0);
        let read = self.file.read_exact(&mut into[begin..]);
        if read.is_err() {
            into.truncate(begin);
        }
        read
    }
}

/// The offset that a segment's name says.
fn first_of(name: &Path) -> Option<Offset> {
    let digits = name.to_str()?.strip_suffix(".seg")?;
    let is_plain = digits.len() == 20 && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_plain.then(|| digits.parse().ok().map(Offset)).flatten()
}

/// How a segment begins, with its version.
pub(super) const MAGIC: &[u8; 16] = b"transom tail  1\n";
/// Bytes of records between two marks.
const STEP: u64 = 64 * 1024;
/// Bytes read at once.
const BUFFER: usize = 16 * 1024;
