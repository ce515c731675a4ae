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
    /// What draws it into a fresh screen of that size, with lines of scrollback before it.
    pub(crate) bytes: Vec<u8>,
}

impl Checkpoint {
    /// Puts it in the place of the directory's former one, as a whole. Blocks.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
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
        fs::rename(waiting, directory.join("checkpoint"))
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

    /// The directory's checkpoint, if it has a whole one. Blocks.
    pub(crate) fn read(directory: &Path) -> io::Result<Option<Self>> {
        let file = match fs::read(directory.join("checkpoint")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Self::decode(&file))
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

    fn decode(file: &[u8]) -> Option<Self> {
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
    use super::{Checkpoint, FORMER_HEAD, FORMER_MAGIC, former_sum};
    use crate::offset::Offset;
    use crate::screen::Numbering;
    use crate::size::Size;

    #[test]
    fn a_checkpoint_is_read_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("session");
        assert_eq!(Checkpoint::read(&place).unwrap(), None);
        let checkpoint = Checkpoint {
            ground: Offset(1 << 40),
            sizes: 7,
            size: Size::new(100, 30),
            first_size: Size::new(80, 24),
            numbering: Some(Numbering {
                top: 1_000_000,
                output: Some((999_000, None)),
            }),
            bytes: b"\x1b[31mred".to_vec(),
        };
        checkpoint.write(&place).unwrap();
        checkpoint.write(&place).unwrap();
        assert_eq!(Checkpoint::read(&place).unwrap().as_ref(), Some(&checkpoint));
        let path = place.join("checkpoint");
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(Checkpoint::read(&place).unwrap(), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert_ne!(
                Checkpoint::read(&place).unwrap().as_ref(),
                Some(&checkpoint),
                "{at}"
            );
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
        let checkpoint = Checkpoint::read(directory.path()).unwrap().unwrap();
        assert_eq!((checkpoint.ground, checkpoint.numbering), (Offset(7), None));
        assert_eq!(
            (checkpoint.size, &*checkpoint.bytes),
            (Size::new(20, 20), &drawing[..])
        );
    }
}
