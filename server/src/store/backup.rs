//! A copy of a store as of one moment, also while a daemon writes to it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use certs::files;
use rusqlite::{Connection, OpenFlags, backup::Backup};

use super::{StoreError, epoch::Epoch, look, look::Aside, meta, schema};

/// A copy of a store, in a file of its own and with no journal beside it. Dropping it removes it.
#[derive(Debug)]
pub struct StoreCopy {
    aside: Aside,
    /// The version of its schema.
    pub version: usize,
    /// The daemon's lasting id.
    pub instance: String,
    /// How many devices are paired.
    pub devices: usize,
    /// The number of the last row of its audit trail.
    pub last_row: u64,
    /// What `keys/epoch` has to say beside this store, and no other.
    pub epoch: String,
}

impl StoreCopy {
    /// Copies a store with the directory of its keys; `None` where there is none. Nothing of it is changed. The caller holds the
    /// daemon's lock where no daemon does: none may begin meanwhile.
    ///
    /// # Errors
    /// As [`Look::at`](super::Look::at): what would keep a daemon from opening it is no store to go back to. Or when there is no room
    /// for the copy.
    pub fn of(path: &Path, keys: &Path) -> Result<Option<Self>, StoreError> {
        if look::Look::at(path, keys)?.is_none() {
            return Ok(None);
        }
        Self::make(path, keys)
            .map(Some)
            .map_err(|error| error.in_file(path))
    }

    fn make(path: &Path, keys: &Path) -> Result<Self, StoreError> {
        // Before the rows are copied: rows that come meanwhile are behind it.
        let reached = Epoch::read(keys);
        let (aside, mut copy) = copied(path)?;
        let (version, supported) = schema::look(&copy, path)?;
        if version < supported {
            return Err(StoreError::Earlier {
                path: path.to_owned(),
                found: version,
                supported,
            });
        }
        let transaction = copy.transaction()?;
        let devices = look::checked(&transaction, (path, keys), reached)?;
        let epoch = Epoch::of(&transaction)?;
        let instance = meta::instance(&transaction)?;
        drop(transaction);
        Ok(Self {
            aside,
            version,
            instance,
            devices,
            last_row: epoch.last.sequence,
            epoch: epoch.text(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.aside.store()
    }
}

/// Copies a store as of one moment, and opens the copy.
pub(super) fn copied(path: &Path) -> Result<(Aside, Connection), StoreError> {
    let journal = schema::suffixed(path, "-wal");
    let has_journal = files::check(&journal)?;
    let lengths = [path, &journal].map(|file| file.metadata().map_or(0, |file| file.len()));
    let aside = Aside::with_room(lengths.iter().sum())?;
    let (_source_copy, source) = look::untouched(path, has_journal)?;
    files::create_partial(&aside.store())?;
    let mut copy = schema::connect(&aside.store(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // In one step, under one read lock: what a daemon commits meanwhile is in it whole or not at all.
    Backup::new(&source, &mut copy)?.run_to_completion(i32::MAX, PAUSE, None)?;
    copy.pragma_update(None, "journal_mode", "delete")?;
    Ok((aside, copy))
}

/// Between two tries where the store is locked, as while a daemon opens it.
const PAUSE: Duration = Duration::from_millis(20);
