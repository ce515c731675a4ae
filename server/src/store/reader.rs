//! Reading beside the writer: what looks through the whole trail must not hold up a revocation.

use std::path::{Path, PathBuf};

use pairing::UnixMillis;
use rusqlite::{Connection, OpenFlags, Transaction};

use super::{StoreError, audit, chain, epoch::Epoch, schema, verify};
use crate::audit::{AuditEntry, AuditFilter, AuditVerdict};

/// Where a store is; clones read the same one. It works while a daemon has the store open, and while none has.
#[derive(Clone, Debug)]
pub struct AuditReader {
    path: PathBuf,
    keys: PathBuf,
}

impl AuditReader {
    /// A reader of this store and the directory of its keys; nothing is opened yet.
    pub fn new(path: &Path, keys: &Path) -> Self {
        Self {
            path: path.to_owned(),
            keys: keys.to_owned(),
        }
    }

    /// The rows that a filter lets through: the first behind `after` if that is said, else the latest; oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn rows(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        self.reading(|transaction| audit::query(transaction, filter))
    }

    /// Follows the chain from its beginning, and compares its end with how far it had come.
    ///
    /// # Errors
    /// When it cannot be read, or the audit key is missing or another.
    pub fn verify(&self) -> Result<AuditVerdict, StoreError> {
        // Before the rows are read: rows that come meanwhile are behind it.
        let epoch = Epoch::read(&self.keys)?;
        self.reading(|transaction| {
            let key = chain::load(transaction, &self.keys)?;
            verify::verify(transaction, &key, epoch.as_ref())
        })
    }

    /// Whether the time now is doubted, by what the rows say of it: then none is deleted for its age.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) fn has_leapt(&self, now: UnixMillis) -> Result<bool, StoreError> {
        self.reading(|transaction| audit::has_leapt(transaction, now))
    }

    fn reading<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let read = || {
            let mut connection: Connection = schema::connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let transaction = connection.transaction()?;
            read(&transaction)
        };
        read().map_err(|error| error.in_file(&self.path))
    }
}
