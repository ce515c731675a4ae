//! A session's screen on disk, so that it can be drawn again without all that was ever written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::offset::Offset;
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
        head[..16].copy_from_slice(MAGIC);
        head[16..24].copy_from_slice(&self.ground.0.to_le_bytes());
        head[24..32].copy_from_slice(&self.sizes.to_le_bytes());
        head[32..34].copy_from_slice(&self.size.columns().to_le_bytes());
        head[34..36].copy_from_slice(&self.size.rows().to_le_bytes());
        head[36..38].copy_from_slice(&self.first_size.columns().to_le_bytes());
        head[38..40].copy_from_slice(&self.first_size.rows().to_le_bytes());
        head[40..48].copy_from_slice(&sum(&self.bytes).to_le_bytes());
        head
    }

    fn decode(file: &[u8]) -> Option<Self> {
        let (head, bytes) = file.split_first_chunk::<HEAD>()?;
        let word = |at: usize| head[at..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let side = |at: usize| head[at..].first_chunk().map(|side| u16::from_le_bytes(*side));
        let checkpoint = Self {
            ground: Offset(word(16)?),
            sizes: word(24)?,
            size: Size::new(side(32)?, side(34)?),
            first_size: Size::new(side(36)?, side(38)?),
            bytes: bytes.to_vec(),
        };
        // One that a failing machine left half is none.
        (head.starts_with(MAGIC) && word(40)? == sum(bytes)).then_some(checkpoint)
    }
}

/// FNV-1a, which tells damage from none.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// How the file begins, with its version.
const MAGIC: &[u8; 16] = b"transom screen1\n";
/// Bytes before the drawing.
const HEAD: usize = 48;

#[cfg(test)]
mod tests {
    use super::Checkpoint;
    use crate::offset::Offset;
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
            bytes: b"\x1b[31mred".to_vec(),
        };
        checkpoint.write(&place).unwrap();
        checkpoint.write(&place).unwrap();
        assert_eq!(Checkpoint::read(&place).unwrap(), Some(checkpoint));
        let path = place.join("checkpoint");
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(Checkpoint::read(&place).unwrap(), None, "{length}");
        }
    }
}
