//! Making a back-up.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
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
    _store: StoreCopy,
}

fn gather(paths: &Paths) -> Result<(Manifest, Contents), BackupError> {
    let nothing = || BackupError::Nothing(paths.state.clone());
    if !paths.state.exists() {
        return Err(nothing());
    }
    // Where no daemon has it, none may begin while the store is copied. One that has it lets it be copied.
    let _lock = match Lock::take(&paths.lock()) {
        Ok(lock) => {
            swap::finish_locked(paths)?;
            Some(lock)
        }
        Err(LockError::AlreadyRunning(_)) => None,
        Err(error) => return Err(up(error)),
    };
    let (keys, store, identity) = keys_and_store(paths)?.ok_or_else(nothing)?;
    let identity =
        identity.ok_or_else(|| BackupError::Damaged("keys/identity.pem is missing here".to_owned()))?;
    let mut parts: BTreeMap<String, Content> = keys
        .into_iter()
        .map(|(name, bytes)| (format!("keys/{name}"), Content::Bytes(bytes)))
        .collect();
    parts.insert(
        "keys/epoch".to_owned(),
        Content::Bytes(store.epoch.clone().into_bytes().into()),
    );
    parts.insert(STORE.to_owned(), Content::File(store.path()));
    if let Some(configuration) = configuration(&paths.config)? {
        parts.insert(CONFIGURATION.to_owned(), Content::Bytes(configuration.into()));
    }
    let locked_down = LockdownFile::new(&paths.state).is_locked();
    if locked_down {
        parts.insert(LOCK_DOWN.to_owned(), Content::Bytes(Vec::new().into()));
    }
    let files = parts.iter().map(|(name, content)| content.record(name));
    let manifest = Manifest {
        format: Manifest::FORMAT,
        made_at: clock::timestamp(clock::now()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: web::build(),
        instance: store.instance.clone(),
        pin: identity.pin().to_string(),
        schema: store.version as u64,
        audit_row: store.last_row,
        devices: store.devices as u64,
        locked_down,
        files: files.collect::<Result<_, _>>()?,
    };
    let contents = Contents { parts, _store: store };
    Ok((manifest, contents))
}

type Keys = BTreeMap<String, Zeroizing<Vec<u8>>>;

/// The keys, the store, and the identity of these keys, which did not change while the store was copied. `None` where there is no store.
fn keys_and_store(paths: &Paths) -> Result<Option<(Keys, StoreCopy, Option<Identity>)>, BackupError> {
    let mut before = keys(&paths.keys())?;
    for _ in 0..TRIES {
        let Some(store) = StoreCopy::of(&paths.store(), &paths.keys()).map_err(up)? else {
            return Ok(None);
        };
        let identity = Identity::load(&paths.keys()).map_err(up)?;
        let after = keys(&paths.keys())?;
        if before == after {
            return Ok(Some((after, store, identity)));
        }
        before = after;
    }
    Err(BackupError::Damaged(
        "the keys here change all the while".to_owned(),
    ))
}

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

/// How often the keys may change while the store is copied.
const TRIES: u32 = 5;

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
