//! Making a back-up.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use certs::{Identity, files};
use server::{LockdownFile, clock, store::StoreCopy};
use zeroize::Zeroizing;

use super::{
    BackupError, Manifest, Passphrase,
    archive::{self, CONFIGURATION, Content, LOCK_DOWN, STORE},
    error::up,
    seal::{self, Sealing},
    swap,
};
use crate::{
    lock::{Lock, LockError},
    paths::Paths,
};

/// Writes a back-up, encrypted where there is a passphrase. A daemon goes on meanwhile.
///
/// # Errors
/// [`BackupError`]; what was written by then is none.
pub fn create(
    paths: &Paths,
    passphrase: Option<&Passphrase>,
    to: impl Write,
) -> Result<Manifest, BackupError> {
    let (manifest, contents) = gather(paths)?;
    let sealing = Sealing::begin(passphrase, to).map_err(BackupError::Output)?;
    archive::write(&manifest, &contents.parts, sealing)?;
    Ok(manifest)
}

/// The same into a file that only its owner may open, which is there whole or not at all; and how many bytes it has. One that is
/// there is replaced only if that is said.
///
/// # Errors
/// [`BackupError`]; then nothing was written, and what was there is there still.
pub fn create_file(
    paths: &Paths,
    passphrase: Option<&Passphrase>,
    path: &Path,
    replaces: bool,
) -> Result<(Manifest, u64), BackupError> {
    match path.symlink_metadata() {
        Ok(there) if !there.is_file() || !replaces => return Err(BackupError::FileExists(path.to_owned())),
        _ => {}
    }
    let partial = Partial::begin(path)?;
    let writing = || BackupError::writing(path);
    let manifest = create(paths, passphrase, &partial.file).map_err(|error| match error {
        BackupError::Output(source) => writing()(source),
        other => other,
    })?;
    partial.file.sync_all().map_err(writing())?;
    let bytes = partial.file.metadata().map_err(writing())?.len();
    partial.finish(path, replaces)?;
    Ok((manifest, bytes))
}

/// The members of a back-up, and what has to live as long as they.
struct Contents {
    parts: BTreeMap<String, Content>,
    store: StoreCopy,
    pin: String,
    locked_down: bool,
}

fn gather(paths: &Paths) -> Result<(Manifest, Contents), BackupError> {
    if !paths.state.exists() {
        return Err(BackupError::Nothing(paths.state.clone()));
    }
    let contents = contents(paths)?;
    let Contents { parts, store, .. } = &contents;
    let files = parts.iter().map(|(name, content)| content.record(name));
    let manifest = Manifest {
        format: Manifest::FORMAT,
        made_at: clock::timestamp(clock::now()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: web::build(),
        instance: store.instance.clone(),
        pin: contents.pin.clone(),
        schema: store.version as u64,
        audit_row: store.last_row,
        devices: store.devices as u64,
        locked_down: contents.locked_down,
        files: files.collect::<Result<_, _>>()?,
    };
    Ok((manifest, contents))
}

/// The members, of one state: neither were its keys changed nor was another put in its place meanwhile.
fn contents(paths: &Paths) -> Result<Contents, BackupError> {
    for _ in 0..TRIES {
        let _lock = lock(paths)?;
        let before = Mark::of(paths)?;
        let found = Contents::of(paths, &before.keys);
        // What was looked at while another came may be of both, and be wrong for it.
        if before == Mark::of(paths)? {
            return found;
        }
    }
    Err(BackupError::Unfit("it changes all the while".to_owned()))
}

/// Where nobody has the lock, no daemon may begin while the store is copied. A daemon that has it lets it be copied, and so does who
/// does something in the place of one; who restores is waited for.
fn lock(paths: &Paths) -> Result<Option<Lock>, BackupError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Lock::take(&paths.lock()) {
            Ok(lock) => {
                swap::finish_locked(paths)?;
                return Ok(Some(lock));
            }
            Err(LockError::AlreadyRunning(_)) if !swap::is_begun(paths) => return Ok(None),
            Err(LockError::AlreadyRunning(_)) if Instant::now() < deadline => thread::sleep(LOOK),
            Err(LockError::AlreadyRunning(_)) => return Err(BackupError::Restoring(paths.state.clone())),
            Err(error) => return Err(up(error)),
        }
    }
}

/// What tells one state from another that is put in its place.
#[derive(PartialEq, Eq)]
struct Mark {
    keys: Keys,
    /// The device and number of the store's file.
    store: Option<(u64, u64)>,
    is_replaced: bool,
}

impl Mark {
    fn of(paths: &Paths) -> Result<Self, BackupError> {
        let store = paths.store().symlink_metadata();
        Ok(Self {
            keys: keys(&paths.keys())?,
            store: store.ok().map(|file| (file.dev(), file.ino())),
            is_replaced: swap::is_begun(paths),
        })
    }
}

impl Contents {
    fn of(paths: &Paths, keys: &Keys) -> Result<Self, BackupError> {
        let store = StoreCopy::of(&paths.store(), &paths.keys()).map_err(up)?;
        let store = store.ok_or_else(|| BackupError::Nothing(paths.state.clone()))?;
        let identity = Identity::load(&paths.keys()).map_err(up)?;
        let identity =
            identity.ok_or_else(|| BackupError::Unfit("keys/identity.pem is missing".to_owned()))?;
        let mut parts: BTreeMap<String, Content> = keys
            .iter()
            .map(|(name, bytes)| (format!("keys/{name}"), Content::Bytes(bytes.clone())))
            .collect();
        let plain = |bytes: Vec<u8>| Content::Bytes(bytes.into());
        parts.insert("keys/epoch".to_owned(), plain(store.epoch.clone().into()));
        parts.insert(STORE.to_owned(), Content::File(store.path()));
        if let Some(configuration) = configuration(&paths.config)? {
            parts.insert(CONFIGURATION.to_owned(), plain(configuration));
        }
        let locked_down = LockdownFile::new(&paths.state).is_locked();
        if locked_down {
            parts.insert(LOCK_DOWN.to_owned(), plain(Vec::new()));
        }
        Ok(Self {
            parts,
            store,
            pin: identity.pin().to_string(),
            locked_down,
        })
    }
}

type Keys = BTreeMap<String, Zeroizing<Vec<u8>>>;

/// Every key and certificate by the name of its file. How far the audit trail has come is the store's to say.
fn keys(folder: &Path) -> Result<Keys, BackupError> {
    let mut keys = Keys::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(keys),
        Err(error) => return Err(BackupError::reading(folder)(error)),
    };
    for entry in entries {
        let path = entry.map_err(BackupError::reading(folder))?.path();
        let is_key = path
            .extension()
            .is_some_and(|kind| kind == "pem" || kind == "key");
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|_| is_key) else {
            continue;
        };
        // One that was superseded meanwhile is gone.
        if let Some(bytes) = files::read(&path).map_err(up)? {
            keys.insert(name.to_owned(), bytes);
        }
    }
    Ok(keys)
}

fn configuration(path: &Path) -> Result<Option<Vec<u8>>, BackupError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BackupError::reading(path)(error)),
    }
}

/// The file under another name, until it is whole. Dropping it removes it.
struct Partial {
    file: File,
    path: PathBuf,
    is_finished: bool,
}

impl Partial {
    fn begin(path: &Path) -> Result<Self, BackupError> {
        // A name of its own: two that overlap do not write into each other's.
        let own = u64::from_be_bytes(seal::random().map_err(BackupError::writing(path))?);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{own:016x}"));
        let partial = files::partial(&path.with_file_name(name));
        let file = files::create_partial(&partial).map_err(|error| match error {
            files::FileError::Io { source, .. } => BackupError::writing(path)(source),
            other => up(other),
        })?;
        Ok(Self {
            file,
            path: partial,
            is_finished: false,
        })
    }

    fn finish(mut self, path: &Path, replaces: bool) -> Result<(), BackupError> {
        let published = match replaces {
            true => fs::rename(&self.path, path).map_err(BackupError::writing(path)),
            false => files::publish(&self.path, path).map_err(|error| match error {
                files::FileError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                    BackupError::FileExists(path.to_owned())
                }
                files::FileError::Io { source, .. } => BackupError::writing(path)(source),
                other => up(other),
            }),
        };
        published?;
        self.is_finished = true;
        files::sync(path).map_err(up)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_finished {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// How often the keys may change, or another state be put in place, while the store is copied.
const TRIES: u32 = 5;
/// How long a restore is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use certs::files;
    use zeroize::ZeroizeOnDrop;

    use super::{Content, keys};

    #[test]
    fn keys_are_wiped_when_they_are_dropped() {
        fn is_wiped(_: &impl ZeroizeOnDrop) {}
        let folder = tempfile::tempdir().unwrap();
        files::create(&folder.path().join("identity.pem"), b"a key").unwrap();
        let keys = keys(folder.path()).unwrap();
        is_wiped(&keys["identity.pem"]);
        if let Content::Bytes(bytes) = Content::Bytes(keys["identity.pem"].clone()) {
            is_wiped(&bytes);
        }
    }
}
