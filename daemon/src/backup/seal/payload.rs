//! The payload: chunks of 64 KiB, each sealed under its number and whether it is the last (age's STREAM).

use std::io::{self, BufRead, Read, Write};

use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};
use zeroize::Zeroizing;

use super::TAG;

/// What is written through it is sealed.
pub(in crate::backup) struct Sealed<W: Write> {
    key: LessSafeKey,
    to: W,
    /// What is not sealed yet: a whole chunk at most, since the last one is told by what comes behind it.
    chunk: Zeroizing<Vec<u8>>,
    number: u64,
}

impl<W: Write> Sealed<W> {
    pub(super) fn new(key: LessSafeKey, to: W) -> Self {
        Self {
            key,
            to,
            chunk: Zeroizing::new(Vec::with_capacity(CHUNK + TAG)),
            number: 0,
        }
    }

    /// Seals what is left as the last chunk.
    pub(in crate::backup) fn finish(mut self) -> io::Result<W> {
        self.seal(true)?;
        Ok(self.to)
    }

    fn seal(&mut self, is_last: bool) -> io::Result<()> {
        self.key
            .seal_in_place_append_tag(nonce(self.number, is_last), Aad::empty(), &mut *self.chunk)
            .map_err(|_| io::Error::other("a chunk of the back-up could not be encrypted"))?;
        self.to.write_all(&self.chunk)?;
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }
}

impl<W: Write> Write for Sealed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.chunk.len() == CHUNK {
            self.seal(false)?;
        }
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// A chunk that is not full is the last, so nothing of it leaves before the end.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// What is read through it was sealed so, and nothing is missing.
pub(in crate::backup) struct Opening<R> {
    key: LessSafeKey,
    from: R,
    /// What was opened and not read yet.
    chunk: Zeroizing<Vec<u8>>,
    read: usize,
    number: u64,
    is_over: bool,
    is_failed: bool,
}

impl<R: BufRead> Opening<R> {
    pub(super) fn new(key: LessSafeKey, from: R) -> Self {
        Self {
            key,
            from,
            // Never made larger: that would leave a copy behind.
            chunk: Zeroizing::new(Vec::with_capacity(CHUNK + TAG + PROBE)),
            read: 0,
            number: 0,
            is_over: false,
            is_failed: false,
        }
    }

    /// Opens the next chunk; where that fails nothing is read any more.
    fn open(&mut self) -> io::Result<()> {
        let opened = self.open_next();
        if opened.is_err() {
            self.chunk.clear();
            self.is_failed = true;
        }
        opened
    }

    fn open_next(&mut self) -> io::Result<()> {
        self.chunk.clear();
        self.read = 0;
        let most = (CHUNK + TAG) as u64;
        (&mut self.from).take(most).read_to_end(&mut self.chunk)?;
        if self.chunk.len() < TAG {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.is_over = loop {
            match self.from.fill_buf() {
                Ok(next) => break next.is_empty(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let nonce = nonce(self.number, self.is_over);
        let opened = self.key.open_in_place(nonce, Aad::empty(), &mut self.chunk);
        let length = opened
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it was changed or cut off"))?
            .len();
        self.chunk.truncate(length);
        // Only where there is nothing at all is there an empty chunk.
        if length == 0 && self.number > 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it ends in nothing"));
        }
        self.number += 1;
        Ok(())
    }
}

impl<R: BufRead> Read for Opening<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.is_failed {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it was changed or cut off",
            ));
        }
        if self.read == self.chunk.len() && !self.is_over {
            self.open()?;
        }
        let taken = to.len().min(self.chunk.len() - self.read);
        to[..taken].copy_from_slice(&self.chunk[self.read..][..taken]);
        self.read += taken;
        Ok(taken)
    }
}

/// Eleven bytes of number, big-endian, and whether it is the last.
fn nonce(number: u64, is_last: bool) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[3..11].copy_from_slice(&number.to_be_bytes());
    bytes[11] = u8::from(is_last);
    Nonce::assume_unique_for_key(bytes)
}

/// Bytes of a chunk before it is sealed.
const CHUNK: usize = 64 << 10;
/// Bytes that are left free for whoever reads to an end, to see that it is one.
const PROBE: usize = 32;

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
    use zeroize::ZeroizeOnDrop;

    use super::{Opening, Sealed};

    #[test]
    fn what_is_sealed_or_opened_is_wiped_when_it_is_dropped() {
        fn is_wiped(_: &impl ZeroizeOnDrop) {}
        let key = || LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &[7; 32]).unwrap());
        is_wiped(&Sealed::new(key(), Vec::new()).chunk);
        is_wiped(&Opening::new(key(), Cursor::new(Vec::new())).chunk);
    }
}
