//! The encryption of a back-up: the format age, version 1, with one passphrase (<https://c2sp.org/age>, "scrypt recipient stanza").
//!
//! Its primitives are those of `ring`, and scrypt (RFC 7914) by the crate of that name. What the tool `age` writes is read, and what is
//! written here, the tool reads.

mod payload;

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Write};

use base64ct::{Base64Unpadded, Encoding};
use ring::{aead, hkdf, hmac, rand::SecureRandom};
use zeroize::Zeroizing;

use self::payload::{Opening, Sealed};
use super::BackupError;

/// What opens a back-up. It is wiped from memory when it is dropped.
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// This text; none where it is empty.
    pub fn new(text: Zeroizing<String>) -> Option<Self> {
        (!text.is_empty()).then_some(Self(text))
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Passphrase")
    }
}

/// Where a back-up is written to, encrypted or not.
pub(super) enum Sealing<W: Write> {
    Plain(W),
    Encrypted(Box<Sealed<W>>),
}

impl<W: Write> Sealing<W> {
    pub(super) fn begin(passphrase: Option<&Passphrase>, to: W) -> io::Result<Self> {
        match passphrase {
            None => Ok(Self::Plain(to)),
            Some(passphrase) => {
                Self::encrypted(passphrase, WORK, to).map(|sealed| Self::Encrypted(Box::new(sealed)))
            }
        }
    }

    fn encrypted(passphrase: &Passphrase, work: u8, mut to: W) -> io::Result<Sealed<W>> {
        let key = FileKey::random()?;
        let salt: [u8; SALT] = random()?;
        let wrapping = wrapping_key(passphrase, &salt, work).ok_or_else(refused)?;
        let mut wrapped = Zeroizing::new(Vec::with_capacity(KEY + TAG));
        wrapped.extend_from_slice(&key.0);
        wrapping
            .seal_in_place_append_tag(only_nonce(), aead::Aad::empty(), &mut *wrapped)
            .map_err(|_| refused())?;
        let head = format!(
            "{VERSION}\n{STANZA}{} {work}\n{}\n{END}",
            Base64Unpadded::encode_string(&salt),
            Base64Unpadded::encode_string(&wrapped),
        );
        let mac = Base64Unpadded::encode_string(hmac::sign(&key.mac_key(), head.as_bytes()).as_ref());
        let nonce: [u8; NONCE] = random()?;
        to.write_all(format!("{head} {mac}\n").as_bytes())?;
        to.write_all(&nonce)?;
        Ok(Sealed::new(key.payload_key(&nonce), to))
    }

    /// Writes the end, without which it would be a file that was cut off.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut to) => to.flush(),
            Self::Encrypted(sealed) => sealed.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(to) => to.write(bytes),
            Self::Encrypted(sealed) => sealed.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Encrypted(sealed) => sealed.flush(),
        }
    }
}

type Input = BufReader<Chain<Cursor<Vec<u8>>, Box<dyn Read>>>;

/// A back-up that is to be read.
pub struct Source {
    input: Input,
    is_encrypted: bool,
}

impl Source {
    /// Looks at the beginning.
    ///
    /// # Errors
    /// Where it cannot be read, or is no back-up.
    pub fn open(mut from: Box<dyn Read>) -> Result<Self, BackupError> {
        let mut head = Vec::with_capacity(BLOCK);
        let read = (&mut from).take(BLOCK as u64).read_to_end(&mut head);
        read.map_err(|error| BackupError::Damaged(error.to_string()))?;
        let is_encrypted = head.starts_with(AGE);
        if !is_encrypted && head.get(TAR.0..TAR.0 + TAR.1.len()) != Some(TAR.1) {
            return Err(BackupError::NotOne);
        }
        Ok(Self {
            input: BufReader::new(Cursor::new(head).chain(from)),
            is_encrypted,
        })
    }

    /// Whether a passphrase opens it.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The archive in it.
    pub(super) fn unseal(mut self, passphrase: Option<&Passphrase>) -> Result<Unsealed, BackupError> {
        if !self.is_encrypted {
            return Ok(Unsealed::Plain(self.input));
        }
        let head = Head::read(&mut self.input)?;
        let key = head.open(passphrase.ok_or(BackupError::Encrypted)?)?;
        let mut nonce = [0; NONCE];
        self.input.read_exact(&mut nonce).map_err(unread)?;
        let opening = Opening::new(key.payload_key(&nonce), self.input);
        Ok(Unsealed::Encrypted(Box::new(opening)))
    }
}

/// The archive of a back-up. What is changed or cut off is an error where it is read.
pub(super) enum Unsealed {
    Plain(Input),
    Encrypted(Box<Opening<Input>>),
}

impl Read for Unsealed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(to),
            Self::Encrypted(opening) => opening.read(to),
        }
    }
}

/// The header of a file.
struct Head {
    salt: [u8; SALT],
    work: u8,
    wrapped: [u8; KEY + TAG],
    /// What the MAC is of.
    text: String,
    mac: Vec<u8>,
}

impl Head {
    fn read(from: &mut impl BufRead) -> Result<Self, BackupError> {
        let [version, stanza, wrapped, end] = [line(from)?, line(from)?, line(from)?, line(from)?];
        if version != VERSION {
            return Err(BackupError::Damaged("another version of age wrote it".to_owned()));
        }
        let arguments = stanza.strip_prefix(STANZA).ok_or(BackupError::ForAKey)?;
        let parse = || {
            let (salt, work) = arguments.split_once(' ')?;
            let digits = Some(work).filter(|work| !work.starts_with(['0', '+']));
            let (mark, mac) = end.split_once(' ')?;
            (mark == END).then_some(())?;
            Some(Self {
                salt: decoded(salt)?.try_into().ok()?,
                work: digits?.parse().ok()?,
                wrapped: decoded(&wrapped)?.try_into().ok()?,
                text: format!("{version}\n{stanza}\n{wrapped}\n{END}"),
                mac: decoded(mac)?,
            })
        };
        parse().ok_or_else(|| BackupError::Damaged("its header is not one of age".to_owned()))
    }

    fn open(self, passphrase: &Passphrase) -> Result<FileKey, BackupError> {
        if self.work > MOST_WORK {
            return Err(BackupError::Damaged(format!(
                "its passphrase takes 2^{} rounds to try, and 2^{MOST_WORK} are tried at most",
                self.work
            )));
        }
        let wrapping = wrapping_key(passphrase, &self.salt, self.work);
        let wrapping =
            wrapping.ok_or_else(|| BackupError::Damaged("its header is not one of age".to_owned()))?;
        // It is opened where it is, and wiped there.
        let mut wrapped = Zeroizing::new(self.wrapped);
        let key = wrapping
            .open_in_place(only_nonce(), aead::Aad::empty(), &mut *wrapped)
            .map_err(|_| BackupError::WrongPassphrase)?;
        let key = FileKey(Zeroizing::new(key.to_vec()));
        hmac::verify(&key.mac_key(), self.text.as_bytes(), &self.mac)
            .map_err(|_| BackupError::Damaged("its header was changed".to_owned()))?;
        Ok(key)
    }
}

/// The key of one file; on the heap, since what is moved leaves a copy behind.
struct FileKey(Zeroizing<Vec<u8>>);

impl FileKey {
    fn random() -> io::Result<Self> {
        let mut key = Zeroizing::new(vec![0; KEY]);
        fill(&mut key)?;
        Ok(Self(key))
    }

    fn mac_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &*self.derived(&[], b"header"))
    }

    fn payload_key(&self, nonce: &[u8; NONCE]) -> aead::LessSafeKey {
        cipher(&self.derived(nonce, b"payload"))
    }

    /// HKDF-SHA-256 (RFC 5869).
    fn derived(&self, salt: &[u8], info: &[u8]) -> Zeroizing<[u8; DERIVED]> {
        let mut derived = Zeroizing::new([0; DERIVED]);
        let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&self.0);
        secret
            .expand(&[info], hkdf::HKDF_SHA256)
            .and_then(|output| output.fill(&mut *derived))
            .expect("32 bytes are what SHA-256 gives");
        derived
    }
}

/// The key that a passphrase gives for the key of a file; `None` where scrypt knows no such work.
fn wrapping_key(passphrase: &Passphrase, salt: &[u8; SALT], work: u8) -> Option<aead::LessSafeKey> {
    let params = scrypt::Params::new(work, 8, 1).ok()?;
    let salt = [LABEL, salt].concat();
    let mut key = Zeroizing::new([0; DERIVED]);
    scrypt::scrypt(passphrase.0.as_bytes(), &salt, &params, &mut *key).ok()?;
    Some(cipher(&key))
}

fn cipher(key: &[u8; DERIVED]) -> aead::LessSafeKey {
    let key = aead::UnboundKey::new(&aead::CHACHA20_POLY1305, key);
    aead::LessSafeKey::new(key.expect("a key of ChaCha20-Poly1305 has 32 bytes"))
}

/// The key of a passphrase seals one thing, once: its salt is drawn anew for each.
fn only_nonce() -> aead::Nonce {
    aead::Nonce::assume_unique_for_key([0; aead::NONCE_LEN])
}

/// A line of a header, without its newline.
fn line(from: &mut impl BufRead) -> Result<String, BackupError> {
    let mut line = Vec::new();
    from.take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .map_err(unread)?;
    if line.pop() != Some(b'\n') {
        return Err(BackupError::Damaged("it is cut off".to_owned()));
    }
    String::from_utf8(line).map_err(|_| BackupError::Damaged("its header is not one of age".to_owned()))
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    Base64Unpadded::decode_vec(text).ok()
}

pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    ring::rand::SystemRandom::new().fill(bytes).map_err(|_| refused())
}

fn refused() -> io::Error {
    io::Error::other("the system gives no random bytes, or no memory to make a key")
}

fn unread(error: io::Error) -> BackupError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => BackupError::Damaged("it is cut off".to_owned()),
        _ => BackupError::Damaged(error.to_string()),
    }
}

/// What the file of either kind has, and where.
const AGE: &[u8] = b"age-encryption.org/";
const TAR: (usize, &[u8]) = (257, b"ustar");
/// A block of a tar archive.
const BLOCK: usize = 512;

/// Lines of a header.
const VERSION: &str = "age-encryption.org/v1";
const STANZA: &str = "-> scrypt ";
const END: &str = "---";
const LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
/// Bytes, of which age's header needs no more.
const LONGEST_LINE: u64 = 4096;

/// Bytes: of a file's key, of a salt, of a payload's nonce, of a tag, and of what is derived.
const KEY: usize = 16;
const SALT: usize = 16;
const NONCE: usize = 16;
const TAG: usize = 16;
const DERIVED: usize = 32;

/// 2¹⁸ rounds over 256 MiB, as the tool `age` does it: about a second.
const WORK: u8 = 18;
/// What somebody else may have encrypted it with: 1 GiB. More is not tried, for a file that is hostile.
const MOST_WORK: u8 = 20;

#[cfg(test)]
mod tests;
