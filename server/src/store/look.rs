//! Looking at a store without changing anything, while a daemon has it open and while none has.

use std::{
    env,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use certs::files;
use pairing::UnixMillis;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction};
use rustix::fs::statvfs;

use super::{StoreError, chain, devices, epoch, epoch::Epoch, guests, has_tokens, meta, schema, token_key};
use crate::random;

/// What a store is found to be, where a daemon can open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The version of its schema.
    pub version: usize,
    /// The version that this binary brings it to.
    pub supported: usize,
    /// How many devices are paired; none where an older version says it otherwise.
    pub devices: Option<usize>,
    /// When the last row of the audit trail was written.
    pub last_written: Option<UnixMillis>,
}

impl Look {
    /// Looks at a store with the directory of its keys; `None` where there is none.
    ///
    /// # Errors
    /// As [`Store::open`](super::Store::open): what would keep a daemon from opening it.
    pub fn at(path: &Path, keys: &Path) -> Result<Option<Self>, StoreError> {
        let journal = schema::suffixed(path, "-wal");
        let has_journal = files::check(&journal)?;
        if !files::check(path)? {
            return match has_journal {
                true => Err(StoreError::corrupt(
                    path,
                    format!("it is missing and its journal {} is there", journal.display()),
                )),
                false => epoch::miss(path, keys).map(|()| None),
            };
        }
        files::check(&schema::suffixed(path, "-shm"))?;
        let look = || {
            let (_copy, mut connection) = untouched(path, has_journal)?;
            let (version, supported) = schema::look(&connection, path)?;
            if version < supported {
                return Ok(Self {
                    version,
                    supported,
                    devices: None,
                    last_written: None,
                });
            }
            // Before the rows are read: rows that come meanwhile are behind it.
            let reached = Epoch::read(keys);
            let transaction = connection.transaction()?;
            let devices = checked(&transaction, (path, keys), reached)?;
            Ok(Self {
                version,
                supported,
                devices: Some(devices),
                last_written: last_written(&transaction)?,
            })
        };
        look().map(Some).map_err(|error: StoreError| error.in_file(path))
    }
}

/// Checks that it belongs to its keys and is not older than what was written last; says how many devices there are.
pub(super) fn checked(
    transaction: &Transaction<'_>,
    (path, keys): (&Path, &Path),
    reached: Result<Option<Epoch>, StoreError>,
) -> Result<usize, StoreError> {
    let begins = meta::audit_key(transaction)?.is_none();
    let key = match begins {
        true => chain::read(keys)?,
        false => Some(chain::load(transaction, keys)?),
    };
    if let Some(key) = key
        && let Some(reason) = epoch::behind(transaction, &key, reached, begins)?
    {
        return Err(StoreError::Older {
            path: path.to_owned(),
            reason,
        });
    }
    let (devices, guests) = (devices::all(transaction)?, guests::all(transaction)?);
    token_key::load(transaction, keys, has_tokens(&devices, &guests))?;
    Ok(devices.len())
}

fn last_written(transaction: &Transaction<'_>) -> Result<Option<UnixMillis>, StoreError> {
    let last = "SELECT time FROM audit WHERE sequence > 0 ORDER BY sequence DESC LIMIT 1";
    let time = transaction.query_row(last, [], |row| row.get(0)).optional()?;
    Ok(time.map(UnixMillis))
}

/// A connection that makes no file and changes none, with the copy that it is to, where it is to one.
pub(super) fn untouched(path: &Path, has_journal: bool) -> Result<(Option<Aside>, Connection), StoreError> {
    if !has_journal {
        // Whoever reads a store without a journal would make one beside it.
        return Ok((None, by_uri(path, "immutable=1")?));
    }
    let index = schema::suffixed(path, "-shm");
    let is_missing = |error: &StoreError| {
        let code = match error {
            StoreError::Sql(error) => error.sqlite_error_code(),
            _ => None,
        };
        code == Some(ErrorCode::CannotOpen) && !index.exists()
    };
    // Tried first where the index is missing too: in the process that has the store open SQLite still has it, and there nothing may
    // be copied, as closing another descriptor of the store lets go of all locks that the process has on it (fcntl(2)).
    match by_uri(path, "readonly_shm=1") {
        Err(error) if is_missing(&error) => {}
        opened => return Ok((None, opened?)),
    }
    // It would be made.
    let copy = Aside::of(path)?;
    // Where there is one now, a daemon has begun meanwhile, and may have written what is copied.
    if !index.exists() {
        let connection = schema::connect(&copy.store(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        return Ok((Some(copy), connection));
    }
    Ok((None, by_uri(path, "readonly_shm=1")?))
}

/// A folder for a copy of a store, where nothing lasts. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Aside(PathBuf);

impl Aside {
    /// A new one, in memory where there is room for so many bytes.
    pub(super) fn with_room(bytes: u64) -> Result<Self, StoreError> {
        let name = format!("transom-look-{:016x}", u64::from_be_bytes(random::bytes()));
        let make = |place: PathBuf| {
            let folder = place.join(&name);
            DirBuilder::new()
                .mode(0o700)
                .create(&folder)
                .map(|()| Self(folder))
        };
        let memory = PathBuf::from("/dev/shm");
        let free = statvfs(&memory).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let in_memory = match free {
            Ok(free) if free >= bytes => make(memory),
            _ => Err(io::ErrorKind::StorageFull.into()),
        };
        in_memory
            .or_else(|_| make(env::temp_dir()))
            .map_err(StoreError::Copy)
    }

    /// A store with its journal, file by file.
    fn of(path: &Path) -> Result<Self, StoreError> {
        let files = ["", "-wal"].map(|suffix| (schema::suffixed(path, suffix), suffix));
        let lengths = files
            .iter()
            .map(|(file, _)| fs::metadata(file).map(|file| file.len()));
        let bytes = lengths.sum::<io::Result<u64>>().map_err(StoreError::Copy)?;
        let copy = Self::with_room(bytes)?;
        for (file, suffix) in files {
            fs::copy(file, schema::suffixed(&copy.store(), suffix)).map_err(StoreError::Copy)?;
        }
        Ok(copy)
    }

    /// Where the copy is, or is to be.
    pub(super) fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// A connection that only reads, with a parameter (sqlite.org/c3ref/open.html, `immutable` and `readonly_shm`).
fn by_uri(path: &Path, parameter: &str) -> Result<Connection, StoreError> {
    use std::{fmt::Write as _, os::unix::ffi::OsStrExt};
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            byte => write!(uri, "%{byte:02x}").expect("writing to a String cannot fail"),
        }
    }
    uri.push('?');
    uri.push_str(parameter);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    schema::connect(Path::new(&uri), flags)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

    use pairing::UnixMillis;

    use super::{Look, untouched};
    use crate::{
        audit::AuditRow,
        store::{Store, StoreError},
    };

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let plain = entries.filter(|entry| entry.path().is_file());
        plain
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read(entry.path()).unwrap())
            })
            .collect()
    }

    async fn row(store: &Store) {
        let row = AuditRow::new(NOW, "owner", "", "test", "");
        store.append_audit(row).await.unwrap();
    }

    #[tokio::test]
    async fn a_store_is_looked_at_open_and_closed_and_nothing_is_made_of_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a folder? with #signs%41");
        fs::create_dir(&folder).unwrap();
        let (path, keys) = (folder.join("transom.db"), folder.join("keys"));
        assert_eq!(Look::at(&path, &keys).unwrap(), None);
        assert!(files(&folder).is_empty());
        let opened = Store::open(&path, &keys, NOW).unwrap();
        row(&opened.store).await;
        let look = Look::at(&path, &keys).unwrap().unwrap();
        assert_eq!((look.devices, look.last_written), (Some(0), Some(NOW)));
        assert_eq!(look.version, look.supported);
        drop(opened);
        let before = files(&folder);
        assert_eq!(before.len(), 1, "{:?}", before.keys());
        assert_eq!(Look::at(&path, &keys).unwrap(), Some(look));
        assert!(files(&folder) == before);
    }

    #[tokio::test]
    async fn in_the_process_that_has_it_open_it_is_looked_at_in_its_place_without_its_index() {
        let home = tempfile::tempdir().unwrap();
        let (path, keys) = (home.path().join("transom.db"), home.path().join("keys"));
        let opened = Store::open(&path, &keys, NOW).unwrap();
        row(&opened.store).await;
        let index = home.path().join("transom.db-shm");
        fs::remove_file(&index).unwrap();
        let (copy, _connection) = untouched(&path, true).unwrap();
        assert!(copy.is_none(), "a copy would let go of its locks");
        let look = Look::at(&path, &keys).unwrap().unwrap();
        assert_eq!(look.last_written, Some(NOW), "the row is in the journal alone");
        assert!(!index.exists());
    }

    #[tokio::test]
    async fn what_a_daemon_left_that_was_killed_is_looked_at_with_its_journal_and_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let (path, keys) = (home.path().join("transom.db"), home.path().join("keys"));
        let opened = Store::open(&path, &keys, NOW).unwrap();
        row(&opened.store).await;
        let all = files(home.path());
        drop(opened);
        for left in [
            &["transom.db", "transom.db-wal"][..],
            &["transom.db", "transom.db-wal", "transom.db-shm"],
        ] {
            for name in all.keys() {
                fs::remove_file(home.path().join(name)).ok();
            }
            for name in left {
                let file = home.path().join(name);
                fs::write(&file, &all[*name]).unwrap();
                fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
            }
            let before = files(home.path());
            let look = Look::at(&path, &keys).unwrap().unwrap();
            assert_eq!(look.last_written, Some(NOW), "the row is in the journal alone");
            assert!(files(home.path()) == before, "{left:?}");
        }
    }

    #[tokio::test]
    async fn what_keeps_a_daemon_from_opening_it_is_said() {
        let home = tempfile::tempdir().unwrap();
        let (path, keys) = (home.path().join("transom.db"), home.path().join("keys"));
        let opened = Store::open(&path, &keys, NOW).unwrap();
        let older = fs::read(&path).unwrap();
        row(&opened.store).await;
        drop(opened);
        let newest = fs::read(&path).unwrap();
        fs::write(&path, &older).unwrap();
        assert!(matches!(Look::at(&path, &keys), Err(StoreError::Older { .. })));
        fs::write(&path, &newest[..newest.len() / 2]).unwrap();
        assert!(matches!(Look::at(&path, &keys), Err(StoreError::Corrupt { .. })));
        fs::write(&path, &newest).unwrap();
        let away = home.path().join("away");
        fs::rename(&path, &away).unwrap();
        assert!(matches!(Look::at(&path, &keys), Err(StoreError::Missing { .. })));
        fs::rename(&away, &path).unwrap();
        fs::remove_file(keys.join("audit.key")).unwrap();
        assert!(matches!(Look::at(&path, &keys), Err(StoreError::AuditKey { .. })));
    }
}
