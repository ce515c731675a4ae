//! A session's screen on disk, so that it can be drawn again without all that was ever written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::offset::Offset;
use crate::screen::{Emulator, Numbering, Screen};
use crate::size::Size;

/// A screen at a ground offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// Output continues from here.
    pub(crate) ground: Offset,
    /// How many size changes the screen has made.
    pub(crate) sizes: u64,
    /// The terminal's size.
    pub(crate) size: Size,
    /// The size that the session began with.
    pub(crate) first_size: Size,
    /// The numbers of its lines; older processes wrote none.
    pub(crate) numbering: Option<Numbering>,
    /// Whether scrollback is in it.
    pub(crate) is_whole: bool,
    /// What draws it into a fresh screen of that size, with lines of scrollback before it.
    pub(crate) bytes: Vec<u8>,
}

impl Checkpoint {
    /// Puts it in the place of the directory's former one of its kind, and a whole one in that of both. Blocks.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let name = if self.is_whole { WHOLE } else { BARE };
        let waiting = directory.join("checkpoint.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&waiting)?;
        let written = file
            .write_all(&self.head())
            .and_then(|()| file.write_all(&self.bytes));
        if let Err(error) = written {
            let _ = fs::remove_file(&waiting);
            return Err(error);
        }
        fs::rename(waiting, directory.join(name))?;
        if !self.is_whole {
            return Ok(());
        }
        match fs::remove_file(directory.join(BARE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The checkpoint that a screen is drawn again from, of those the directory has at or before `end`: the last with
    /// scrollback, unless there is much to draw behind it, or what is behind it `is_there` no more. Blocks.
    pub(crate) fn last(
        directory: &Path,
        end: Offset,
        is_there: impl FnOnce(Offset) -> io::Result<bool>,
    ) -> io::Result<Option<Self>> {
        let read = |name| Ok::<_, io::Error>(Self::read(directory, name)?.filter(|read| read.ground <= end));
        let (whole, bare) = (read(WHOLE)?, read(BARE)?);
        Ok(match (whole, bare) {
            (Some(whole), Some(bare)) if bare.ground > whole.ground => {
                let is_near = bare.ground.since(whole.ground) <= MAX_REDRAWN;
                Some(if is_near && is_there(whole.ground)? {
                    whole
                } else {
                    bare
                })
            }
            (whole, bare) => whole.or(bare),
        })
    }

    /// The screen that it draws. A drawing asks nothing, and what it says was said.
    pub(crate) fn draw(&self) -> Emulator {
        let mut screen = Emulator::new(self.size);
        screen.feed(&self.bytes);
        if let Some(numbering) = self.numbering {
            screen.renumber(numbering);
        }
        screen.take_replies();
        screen.take_signals();
        screen
    }

    fn read(directory: &Path, name: &str) -> io::Result<Option<Self>> {
        let file = match fs::read(directory.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Self::decode(&file, name == WHOLE))
    }

    fn head(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        let (top, output) = self
            .numbering
            .map_or((NONE, None), |numbering| (numbering.top, numbering.output));
        let (start, end) = output.map_or((NONE, NONE), |(start, end)| (start, end.unwrap_or(NONE)));
        head[..16].copy_from_slice(MAGIC);
        head[16..24].copy_from_slice(&self.ground.0.to_le_bytes());
        head[24..32].copy_from_slice(&self.sizes.to_le_bytes());
        head[32..34].copy_from_slice(&self.size.columns().to_le_bytes());
        head[34..36].copy_from_slice(&self.size.rows().to_le_bytes());
        head[36..38].copy_from_slice(&self.first_size.columns().to_le_bytes());
        head[38..40].copy_from_slice(&self.first_size.rows().to_le_bytes());
        head[48..56].copy_from_slice(&top.to_le_bytes());
        head[56..64].copy_from_slice(&start.to_le_bytes());
        head[64..72].copy_from_slice(&end.to_le_bytes());
        let sum = sum(&[&head[48..], &self.bytes]);
        head[40..48].copy_from_slice(&sum.to_le_bytes());
        head
    }

    fn decode(file: &[u8], is_whole: bool) -> Option<Self> {
        let is_former = file.starts_with(FORMER_MAGIC);
        if !is_former && !file.starts_with(MAGIC) {
            return None;
        }
        let (head, bytes) = file.split_at_checked(if is_former { FORMER_HEAD } else { HEAD })?;
        let word = |at: usize| head[at..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let side = |at: usize| head[at..].first_chunk().map(|side| u16::from_le_bytes(*side));
        let checkpoint = Self {
            ground: Offset(word(16)?),
            sizes: word(24)?,
            size: Size::new(side(32)?, side(34)?),
            first_size: Size::new(side(36)?, side(38)?),
            numbering: match is_former {
                true => None,
                false => numbering(word(48)?, word(56)?, word(64)?),
            },
            is_whole,
            bytes: bytes.to_vec(),
        };
        let sum = match is_former {
            true => former_sum(bytes),
            false => sum(&[&head[48..], bytes]),
        };
        // One that a failing machine left half is none.
        (word(40)? == sum).then_some(checkpoint)
    }
}

fn numbering(top: u64, start: u64, end: u64) -> Option<Numbering> {
    let known = |number| (number != NONE).then_some(number);
    Some(Numbering {
        top: known(top)?,
        output: known(start).map(|start| (start, known(end))),
    })
}

/// FNV-1a over words instead of bytes, each mixed down, and over how many bytes there are.
fn sum(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(FNV_BASIS, |sum, part| {
        let (words, rest) = part.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
        words.chain([part.len() as u64]).fold(sum, |sum, word| {
            let mixed = (sum ^ word).wrapping_mul(FNV_PRIME);
            mixed ^ mixed >> 32
        })
    })
}

/// FNV-1a, of the first version.
fn former_sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_BASIS, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
    })
}

/// The file of the last screen with scrollback, and of a later one without, if there is one.
const WHOLE: &str = "checkpoint";
const BARE: &str = "screen";
/// Bytes of output that are drawn again for the sake of the scrollback.
const MAX_REDRAWN: u64 = 8 * 1024 * 1024;

/// How the file begins, with its version.
const MAGIC: &[u8; 16] = b"transom screen2\n";
/// Bytes before the drawing.
const HEAD: usize = 72;
/// The same of the first version, which had no numbers of lines.
const FORMER_MAGIC: &[u8; 16] = b"transom screen1\n";
const FORMER_HEAD: usize = 48;
/// In the place of a line's number: there is none.
const NONE: u64 = u64::MAX;
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::{BARE, Checkpoint, FORMER_HEAD, FORMER_MAGIC, former_sum};
    use std::path::Path;

    use crate::offset::Offset;
    use crate::screen::Numbering;
    use crate::size::Size;

    fn last(directory: &Path) -> Option<Checkpoint> {
        Checkpoint::last(directory, Offset(u64::MAX), |_| Ok(true)).unwrap()
    }

    #[test]
    fn the_last_with_scrollback_is_taken_where_the_rest_can_be_drawn() {
        let directory = tempfile::tempdir().unwrap();
        let at = |ground, is_whole| {
            let checkpoint = Checkpoint {
                ground: Offset(ground),
                sizes: 0,
                size: Size::new(80, 24),
                first_size: Size::new(80, 24),
                numbering: None,
                is_whole,
                bytes: Vec::new(),
            };
            checkpoint.write(directory.path()).unwrap();
        };
        let taken = |end, is_there: bool| {
            let last = Checkpoint::last(directory.path(), Offset(end), |from| {
                assert_eq!(from, Offset(7));
                Ok(is_there)
            });
            last.unwrap().map(|last| last.ground.0)
        };
        at(5, true);
        at(6, false);
        at(7, true);
        assert!(!directory.path().join(BARE).exists());
        at(1 << 20, false);
        assert_eq!(taken(u64::MAX, true), Some(7));
        assert_eq!(taken(u64::MAX, false), Some(1 << 20));
        assert_eq!((taken(1000, false), taken(6, false)), (Some(7), None));
        at(1 << 30, false);
        assert_eq!(taken(u64::MAX, true), Some(1 << 30));
    }

    #[test]
    fn a_checkpoint_is_read_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("session");
        assert_eq!(last(&place), None);
        let checkpoint = Checkpoint {
            ground: Offset(1 << 40),
            sizes: 7,
            size: Size::new(100, 30),
            first_size: Size::new(80, 24),
            numbering: Some(Numbering {
                top: 1_000_000,
                output: Some((999_000, None)),
            }),
            is_whole: true,
            bytes: b"\x1b[31mred".to_vec(),
        };
        checkpoint.write(&place).unwrap();
        checkpoint.write(&place).unwrap();
        assert_eq!(last(&place).as_ref(), Some(&checkpoint));
        let path = place.join("checkpoint");
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(last(&place), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_ne!(last(&place).as_ref(), Some(&checkpoint), "{at}");
        }
    }

    #[test]
    fn what_an_older_process_wrote_is_read_and_has_no_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let drawing = b"\x1b[31mred";
        let mut file = [0; FORMER_HEAD].to_vec();
        file[..16].copy_from_slice(FORMER_MAGIC);
        file[16] = 7;
        for side in (32..40).step_by(2) {
            file[side] = 20;
        }
        file[40..].copy_from_slice(&former_sum(drawing).to_le_bytes());
        file.extend_from_slice(drawing);
        std::fs::write(directory.path().join("checkpoint"), &file).unwrap();
        let checkpoint = last(directory.path()).unwrap();
        assert_eq!((checkpoint.ground, checkpoint.numbering), (Offset(7), None));
        assert_eq!(
            (checkpoint.size, &*checkpoint.bytes),
            (Size::new(20, 20), &drawing[..])
        );
    }
}
