//! The archive: a tar (POSIX.1-1988, ustar) whose first member says what the others are.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use certs::{files, hex};
use protocol::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, Entry, Header};
use zeroize::Zeroizing;

use super::{
    BackupError,
    error::up,
    seal::{Sealing, Unsealed},
};

/// What a back-up says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this form of archive.
    pub format: u64,
    /// When it was made.
    pub made_at: Timestamp,
    /// The version of the program that made it.
    pub version: String,
    /// The build of the web app in that; none where it had none.
    pub build: Option<String>,
    /// The daemon's lasting id.
    pub instance: String,
    /// The pin of its identity key, `sha256/<base64url>`.
    pub pin: String,
    /// The version of the store.
    pub schema: u64,
    /// The number of the last row of the audit trail.
    pub audit_row: u64,
    /// How many devices are paired.
    pub devices: u64,
    /// Whether it was locked down.
    pub locked_down: bool,
    /// The other members.
    pub files: Vec<PartRecord>,
}

/// A member of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Its name: that of the file in the state directory, or `config.toml`.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of it, in hex digits.
    pub sha256: String,
}

/// What goes into an archive under a name.
pub(super) enum Content {
    Bytes(Zeroizing<Vec<u8>>),
    File(PathBuf),
}

impl Manifest {
    /// The version of what [`write`] writes.
    pub(super) const FORMAT: u64 = 1;
}

impl Content {
    fn open(&self) -> Result<Box<dyn Read + '_>, BackupError> {
        match self {
            Self::Bytes(bytes) => Ok(Box::new(&bytes[..])),
            Self::File(path) => {
                let file = File::open(path).map_err(BackupError::reading(path))?;
                Ok(Box::new(file))
            }
        }
    }

    /// The record of this member.
    pub(super) fn record(&self, name: &str) -> Result<PartRecord, BackupError> {
        let mut hashing = Hashing {
            to: io::sink(),
            hash: Sha256::new(),
            bytes: 0,
        };
        io::copy(&mut self.open()?, &mut hashing).map_err(BackupError::Output)?;
        Ok(hashing.record(name))
    }
}

/// Writes the archive.
pub(super) fn write(
    manifest: &Manifest,
    contents: &BTreeMap<String, Content>,
    to: Sealing<impl Write>,
) -> Result<(), BackupError> {
    let mut archive = Builder::new(to);
    let text = serde_json::to_vec_pretty(manifest).expect("a manifest has string keys and whole numbers");
    let mut append = |name: &str, bytes: u64, from: &mut dyn Read| {
        let mut header = Header::new_ustar();
        header.set_mode(0o600);
        header.set_size(bytes);
        header.set_mtime(manifest.made_at.as_second().max(0).cast_unsigned());
        archive
            .append_data(&mut header, name, from)
            .map_err(BackupError::Output)
    };
    append(MANIFEST, text.len() as u64, &mut &text[..])?;
    for part in &manifest.files {
        let content = &contents[&part.name];
        append(&part.name, part.bytes, &mut content.open()?)?;
    }
    let sealed = archive.into_inner().map_err(BackupError::Output)?;
    sealed.finish().map_err(BackupError::Output)
}

/// Puts the members of an archive into an empty folder, private each, and checks them against the manifest, whole.
///
/// # Errors
/// Where it is damaged, newer, or no back-up.
pub(super) fn extract(from: Unsealed, folder: &Path) -> Result<Manifest, BackupError> {
    let mut archive = Archive::new(from);
    // Raw: records about the next member, which may be of any length, are members themselves then, and refused.
    let mut members = archive.entries().map_err(damaged)?.raw(true);
    let first = members.next().ok_or(BackupError::NotOne)?.map_err(damaged)?;
    let manifest = manifest(first)?;
    files::directory(&folder.join("keys")).map_err(up)?;
    let mut missing = manifest.files.clone();
    for member in members {
        let mut member = member.map_err(damaged)?;
        let name = member.path().map_err(damaged)?.to_str().map(str::to_owned);
        let name = name.filter(|name| is_known(name) && member.header().entry_type().is_file());
        let name = name
            .ok_or_else(|| BackupError::Damaged("it has a file in it that belongs into none".to_owned()))?;
        let not_it = || BackupError::Damaged(format!("{name} is not what was written"));
        let place = missing.iter().position(|part| part.name == name);
        let part = missing.swap_remove(place.ok_or_else(not_it)?);
        let mut most = (&mut member).take(part.bytes.saturating_add(1));
        if put(&name, &mut most, &folder.join(&name))? != part {
            return Err(not_it());
        }
    }
    if let Some(part) = missing.first() {
        return Err(BackupError::Damaged(format!("{} is missing in it", part.name)));
    }
    // To its end, which alone shows that nothing was cut off.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(damaged)?;
    Ok(manifest)
}

fn manifest(member: Entry<'_, Unsealed>) -> Result<Manifest, BackupError> {
    #[derive(Deserialize)]
    struct Format {
        format: u64,
        version: String,
    }
    if member.path().map_err(damaged)? != Path::new(MANIFEST) {
        return Err(BackupError::NotOne);
    }
    let mut text = Vec::new();
    member.take(MOST).read_to_end(&mut text).map_err(damaged)?;
    let refused = |error: serde_json::Error| BackupError::Damaged(format!("its manifest: {error}"));
    // Looked at first: of a newer one nothing else may be of a shape that we know.
    let Format { format, version } = serde_json::from_slice(&text).map_err(refused)?;
    if format > Manifest::FORMAT {
        return Err(BackupError::Newer {
            version,
            what: "format",
            found: format,
            supported: Manifest::FORMAT,
        });
    }
    serde_json::from_slice(&text).map_err(refused)
}

fn put(name: &str, member: &mut impl Read, path: &Path) -> Result<PartRecord, BackupError> {
    let mut file = Hashing {
        to: files::create_partial(path).map_err(up)?,
        hash: Sha256::new(),
        bytes: 0,
    };
    let mut piece = Zeroizing::new(vec![0; PIECE]);
    loop {
        // Apart from each other: what cannot be read is the archive's fault, what cannot be written is not.
        let length = member.read(&mut piece).map_err(damaged)?;
        if length == 0 {
            break;
        }
        let written = file.write_all(&piece[..length]);
        written.map_err(BackupError::writing(path))?;
    }
    file.to.sync_all().map_err(BackupError::writing(path))?;
    Ok(file.record(name))
}

/// Whether a member can have this name: nothing of it leads out of the folder.
fn is_known(name: &str) -> bool {
    let is_plain = |name: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        !name.is_empty() && !name.starts_with('.') && name.chars().all(is_letter)
    };
    match name.strip_prefix("keys/") {
        Some(key) => is_plain(key),
        None => [STORE, CONFIGURATION, LOCK_DOWN].contains(&name),
    }
}

fn damaged(error: io::Error) -> BackupError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => BackupError::Damaged("it is cut off".to_owned()),
        _ => BackupError::Damaged(error.to_string()),
    }
}

/// Counts and hashes what is written through it.
struct Hashing<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W> Hashing<W> {
    fn record(self, name: &str) -> PartRecord {
        PartRecord {
            name: name.to_owned(),
            bytes: self.bytes,
            sha256: hex(&self.hash.finalize()),
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Names of members.
pub(super) const STORE: &str = "transom.db";
pub(super) const CONFIGURATION: &str = "config.toml";
pub(super) const LOCK_DOWN: &str = "lockdown";
const MANIFEST: &str = "manifest.json";

/// Bytes of a manifest.
const MOST: u64 = 1 << 20;
/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::is_known;

    #[test]
    fn no_member_leads_out_of_the_folder() {
        for known in [
            "transom.db",
            "config.toml",
            "lockdown",
            "keys/epoch",
            "keys/identity.pem",
        ] {
            assert!(is_known(known), "{known}");
        }
        for other in [
            "",
            "keys",
            "keys/",
            "keys/..",
            "keys/../transom.db",
            "keys/a/b",
            "keys/.hidden",
            "/etc/passwd",
            "../transom.db",
            "./transom.db",
            "sessions/x",
            "manifest.json",
        ] {
            assert!(!is_known(other), "{other}");
        }
    }
}
