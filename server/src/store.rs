//! The store: one SQLite file that remembers devices, tombstones and the audit trail.
//!
//! Every change is one transaction together with its audit row, synced before its method returns. A change that was asked
//! for is made even if nobody waits for the answer any more. Nothing but this module writes the file.

mod audit;
mod devices;
mod error;
mod meta;
mod schema;
mod token_key;
mod writer;

use std::{path::Path, sync::Arc};

use pairing::{Device, DeviceId, TokenKey, Tombstone, UnixMillis};

pub use self::error::StoreError;
use self::writer::{Lane, Writer};
use crate::audit::AuditRow;

/// The open store. Clones share one writer; the file is closed when the last of them is gone.
#[derive(Clone)]
pub struct Store {
    writer: Arc<Writer>,
}

/// What the store held when it was opened.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Store,
    /// The paired devices.
    pub devices: Vec<Device>,
    /// What is remembered of devices whose trust ended in the last 90 days.
    pub tombstones: Vec<Tombstone>,
    /// The daemon's lasting id: 16 lower-case hex digits, made once.
    pub instance: String,
    /// The key of the token hashes.
    pub token_key: TokenKey,
}

impl Store {
    /// Opens the store, or makes it where there is none, and reads the token key from the directory of keys.
    ///
    /// The caller holds the daemon's lock: two processes never open it at the same time.
    ///
    /// # Errors
    /// When the file is newer than this binary (it stays byte-identical), corrupt, or not private; when the token key is
    /// missing or another while there are devices.
    pub fn open(path: &Path, keys: &Path, now: UnixMillis) -> Result<Opened, StoreError> {
        Self::open_as_it_is(path, keys, now).map_err(|error| error.in_file(path))
    }

    fn open_as_it_is(path: &Path, keys: &Path, now: UnixMillis) -> Result<Opened, StoreError> {
        let mut connection = schema::open(path, now)?;
        let transaction = connection.transaction()?;
        devices::forget_tombstones(&transaction, now)?;
        let devices = devices::all(&transaction)?;
        let tombstones = devices::tombstones(&transaction)?;
        let instance = meta::instance(&transaction)?;
        let token_key = token_key::load_or_create(&transaction, keys, !devices.is_empty())?;
        transaction.commit()?;
        let store = Self {
            writer: Arc::new(Writer::start(connection)?),
        };
        Ok(Opened {
            store,
            devices,
            tombstones,
            instance,
            token_key,
        })
    }

    /// Stores a newly paired device.
    ///
    /// # Errors
    /// When it could not be made to last: then nothing of it is stored.
    pub async fn commit_device(&self, device: Device, audit: AuditRow) -> Result<(), StoreError> {
        self.writer
            .run(Lane::Ordinary, move |transaction| {
                devices::insert(transaction, &device)?;
                audit::append(transaction, &audit)
            })
            .await
    }

    /// Replaces a device by its tombstone, ahead of everything that waits.
    ///
    /// # Errors
    /// When it could not be made to last: the device would return after a restart.
    pub async fn revoke_device(&self, tombstone: Tombstone, audit: AuditRow) -> Result<(), StoreError> {
        self.writer
            .run(Lane::Priority, move |transaction| {
                devices::bury(transaction, &tombstone)?;
                audit::append(transaction, &audit)
            })
            .await
    }

    /// Notes when and where a device was last seen.
    ///
    /// # Errors
    /// When it could not be written.
    pub async fn seen(&self, id: DeviceId, at: UnixMillis, address: String) -> Result<(), StoreError> {
        self.writer
            .run(Lane::Ordinary, move |transaction| {
                devices::seen(transaction, id, at, &address)
            })
            .await
    }

    /// Appends an audit row and syncs it.
    ///
    /// # Errors
    /// When it could not be made to last: what it is about must not be done.
    pub async fn append_audit(&self, row: AuditRow) -> Result<(), StoreError> {
        self.writer
            .run(Lane::Ordinary, move |transaction| {
                audit::append(transaction, &row)
            })
            .await
    }

    /// The latest audit rows, oldest first.
    ///
    /// # Errors
    /// When they could not be read.
    pub async fn audit_rows(&self, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        self.writer
            .run(Lane::Ordinary, move |transaction| {
                audit::latest(transaction, limit)
            })
            .await
    }

    /// From now on every change fails, as on a full disk.
    #[cfg(test)]
    pub(crate) async fn break_writes(&self) {
        self.set_query_only(true).await;
    }

    /// Changes succeed again.
    #[cfg(test)]
    pub(crate) async fn mend_writes(&self) {
        self.set_query_only(false).await;
    }

    #[cfg(test)]
    async fn set_query_only(&self, on: bool) {
        self.writer.set_query_only(on).await;
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Store")
    }
}

#[cfg(test)]
mod tests;
