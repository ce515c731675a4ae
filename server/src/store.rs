//! The store: one SQLite file that remembers devices, guests, tombstones and the audit trail.
//!
//! Every change is one transaction together with its audit row, synced before its method returns. A change that was asked
//! for is made even if nobody waits for the answer any more. Nothing but this module writes the file.

mod audit;
mod backup;
mod chain;
mod columns;
mod devices;
mod epoch;
mod error;
mod guests;
mod look;
mod meta;
mod reader;
mod restore;
mod schema;
mod token_key;
mod verify;
mod writer;

use std::{path::Path, sync::Arc};

use pairing::{Device, DeviceId, GuestRecord, TokenKey, Tombstone, UnixMillis};
use rusqlite::Transaction;
use tokio::sync::watch;

pub use self::{
    backup::StoreCopy,
    error::StoreError,
    look::Look,
    reader::AuditReader,
    restore::{Beyond, Former, Restored, Trust, restore},
};
use self::{
    chain::AuditKey,
    epoch::{Epoch, EpochKeeper},
    writer::{Lane, Writer},
};
use crate::{
    audit::{AuditRow, action},
    metrics::{Histogram, Tally},
};

/// The open store. Clones share one writer; the file is closed when the last of them is gone.
#[derive(Clone)]
pub struct Store {
    /// Before the trail: what it has not done yet still writes rows.
    writer: Arc<Writer>,
    trail: Arc<Trail>,
    reader: AuditReader,
}

/// What the audit trail needs besides its table.
struct Trail {
    key: AuditKey,
    epoch: EpochKeeper,
    /// The number of the last row.
    last: watch::Sender<u64>,
    /// How often what was done, of all that the access layer has a name for.
    tally: Tally,
}

/// What became of the changes since the store was opened.
pub(crate) struct StoreWrites<'a> {
    /// How long each took.
    pub(crate) durations: &'a Histogram,
    /// How many have failed.
    pub(crate) failed: u64,
}

/// Whether a store may be used that is older than what was written last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OlderStore {
    /// It may not: devices that were revoked since would be back.
    #[default]
    Refused,
    /// The owner knows, and wants it all the same.
    Accepted,
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
    /// Guests and invitations, and those that ended in the last 90 days; the first invited first.
    pub guests: Vec<GuestRecord>,
    /// The daemon's lasting id: 16 lower-case hex digits, made once.
    pub instance: String,
    /// The key of the token hashes.
    pub token_key: TokenKey,
}

impl Store {
    /// Opens the store, or makes it where there is none, and reads token key and audit key from the directory of keys.
    ///
    /// The caller holds the daemon's lock: two processes never open it at the same time.
    ///
    /// # Errors
    /// When the file is newer than this binary (it stays byte-identical), corrupt, not private, gone while its keys are there, or older than what was written
    /// last; when the token key is missing or another while there are devices or guests; when the audit key is.
    pub fn open(path: &Path, keys: &Path, now: UnixMillis) -> Result<Opened, StoreError> {
        Self::open_with(path, keys, now, OlderStore::Refused)
    }

    /// The same, and says what to do with an older store.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(
        path: &Path,
        keys: &Path,
        now: UnixMillis,
        older: OlderStore,
    ) -> Result<Opened, StoreError> {
        Self::open_as_it_is(path, keys, now, older).map_err(|error| error.in_file(path))
    }

    fn open_as_it_is(
        path: &Path,
        keys: &Path,
        now: UnixMillis,
        older: OlderStore,
    ) -> Result<Opened, StoreError> {
        if older == OlderStore::Refused {
            epoch::miss(path, keys)?;
        }
        let mut connection = schema::open(path, now)?;
        let transaction = connection.transaction()?;
        let (key, begins) = chain::load_or_begin(&transaction, keys)?;
        let reason = epoch::behind(&transaction, &key, Epoch::read(keys), begins)?;
        let is_new = begins || reason.is_some();
        if let Some(reason) = reason {
            accept(&transaction, &key, (path, reason), now, older)?;
        }
        devices::forget_tombstones(&transaction, now)?;
        guests::forget(&transaction, now)?;
        let devices = devices::all(&transaction)?;
        let tombstones = devices::tombstones(&transaction)?;
        let guests = guests::all(&transaction)?;
        let instance = meta::instance(&transaction)?;
        let is_needed = has_tokens(&devices, &guests);
        let token_key = token_key::load_or_create(&transaction, keys, is_needed)?;
        let reached = Epoch::of(&transaction)?;
        if is_new {
            // Before the store says so itself: one without is refused.
            reached.write_in(keys)?;
        }
        transaction.commit()?;
        let trail = Trail {
            key,
            epoch: EpochKeeper::start(keys)?,
            last: watch::Sender::new(reached.last.sequence),
            tally: Tally::default(),
        };
        trail.epoch.note(reached, false);
        let store = Self {
            writer: Arc::new(Writer::start(connection)?),
            trail: Arc::new(trail),
            reader: AuditReader::new(path, keys),
        };
        Ok(Opened {
            store,
            devices,
            tombstones,
            guests,
            instance,
            token_key,
        })
    }

    /// Stores a newly paired device.
    ///
    /// # Errors
    /// When it could not be made to last: then nothing of it is stored.
    pub async fn commit_device(&self, device: Device, audit: AuditRow) -> Result<(), StoreError> {
        self.change(Lane::Ordinary, audit, move |transaction| {
            devices::insert(transaction, &device)
        })
        .await
    }

    /// Replaces a device by its tombstone, ahead of everything that waits.
    ///
    /// # Errors
    /// When it could not be made to last: the device would return after a restart.
    pub async fn revoke_device(&self, tombstone: Tombstone, audit: AuditRow) -> Result<(), StoreError> {
        self.change(Lane::Priority, audit, move |transaction| {
            devices::bury(transaction, &tombstone)?;
            meta::count_revocation(transaction)
        })
        .await
    }

    /// Stores a change of a device; without a row, where that is counted elsewhere. Gives the row's number.
    ///
    /// # Errors
    /// When it could not be made to last: then nothing of it is stored.
    pub async fn change_device(
        &self,
        device: Device,
        audit: Option<AuditRow>,
    ) -> Result<Option<u64>, StoreError> {
        let work = move |transaction: &Transaction<'_>| devices::change(transaction, &device);
        match audit {
            Some(row) => self
                .change_numbered(Lane::Ordinary, vec![row], work)
                .await
                .map(Some),
            None => self.writer.run(Lane::Ordinary, work).await.map(|()| None),
        }
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
        self.change(Lane::Ordinary, row, |_| Ok(())).await
    }

    /// The same for a row that nobody is to cut off unnoticed; gives its number, for [`Store::until_epoch`].
    ///
    /// # Errors
    /// As [`Store::append_audit`].
    pub(crate) async fn append_audit_numbered(&self, row: AuditRow) -> Result<u64, StoreError> {
        self.change_numbered(Lane::Ordinary, vec![row], |_| Ok(())).await
    }

    /// Returns when `keys/epoch` is as far as a row that widens something, so that a store of before it is refused; where the disk
    /// does not take that, after a while, in which it is tried again and again.
    pub(crate) async fn until_epoch(&self, row: u64) {
        self.trail.epoch.until_written(row).await;
    }

    /// Deletes audit rows that are older than 400 days.
    ///
    /// # Errors
    /// When they could not be deleted; they still stand then.
    pub async fn prune_audit(&self, now: UnixMillis) -> Result<(), StoreError> {
        loop {
            let trail = Arc::clone(&self.trail);
            let work = move |transaction: &Transaction<'_>| audit::prune(transaction, &trail.key, now);
            if !self.writer.run(Lane::Ordinary, work).await? {
                return Ok(());
            }
        }
    }

    /// What reads the audit trail, beside the writer.
    pub fn audit_reader(&self) -> AuditReader {
        self.reader.clone()
    }

    /// How often what was done since the store was opened.
    pub(crate) fn tally(&self) -> &Tally {
        &self.trail.tally
    }

    /// How long changes took, from when they were wished for until they were synced or had failed.
    pub(crate) fn writes(&self) -> StoreWrites<'_> {
        let writes = self.writer.writes();
        StoreWrites {
            durations: &writes.durations,
            failed: writes.failed.get(),
        }
    }

    /// The number of the last audit row, and its changes.
    pub fn audit_growth(&self) -> watch::Receiver<u64> {
        self.trail.last.subscribe()
    }

    /// Makes a change and its audit row last, in one transaction. It is queued when this is called.
    fn change<W>(
        &self,
        lane: Lane,
        row: AuditRow,
        work: W,
    ) -> impl Future<Output = Result<(), StoreError>> + use<W>
    where
        W: FnOnce(&Transaction<'_>) -> Result<(), StoreError> + Send + 'static,
    {
        self.change_all(lane, vec![row], work)
    }

    /// The same with several rows.
    fn change_all<W>(
        &self,
        lane: Lane,
        rows: Vec<AuditRow>,
        work: W,
    ) -> impl Future<Output = Result<(), StoreError>> + use<W>
    where
        W: FnOnce(&Transaction<'_>) -> Result<(), StoreError> + Send + 'static,
    {
        let stored = self.change_numbered(lane, rows, work);
        async move { stored.await.map(drop) }
    }

    /// The same, and gives the number of the last of the rows.
    fn change_numbered<W>(
        &self,
        lane: Lane,
        rows: Vec<AuditRow>,
        work: W,
    ) -> impl Future<Output = Result<u64, StoreError>> + use<W>
    where
        W: FnOnce(&Transaction<'_>) -> Result<(), StoreError> + Send + 'static,
    {
        let (trail, told) = (Arc::clone(&self.trail), Arc::clone(&self.trail));
        let is_urgent = rows.iter().any(|row| action::is_urgent(&row.action));
        let done: Vec<&'static str> = rows.iter().filter_map(AuditRow::done).collect();
        let work = move |transaction: &Transaction<'_>| {
            work(transaction)?;
            for row in &rows {
                audit::append(transaction, &trail.key, row)?;
            }
            Epoch::of(transaction)
        };
        let stored = self.writer.run_then(lane, work, move |reached: &Epoch| {
            done.into_iter().for_each(|action| told.tally.count(action));
            told.epoch.note(*reached, is_urgent);
            told.last.send_replace(reached.last.sequence);
        });
        async move { stored.await.map(|reached| reached.last.sequence) }
    }

    /// The latest audit rows, oldest first.
    #[cfg(test)]
    pub(crate) async fn audit_rows(&self, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        let filter = crate::audit::AuditFilter {
            limit,
            ..Default::default()
        };
        let entries = self.reader.rows(&filter)?;
        Ok(entries.into_iter().map(|entry| entry.row).collect())
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

    /// No change is made until what is given is dropped.
    #[cfg(test)]
    pub(crate) fn hold_writes(&self) -> std::sync::mpsc::Sender<()> {
        self.writer.hold()
    }

    /// How many changes wait that are no revocations.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.writer.waiting()
    }

    #[cfg(test)]
    async fn set_query_only(&self, on: bool) {
        self.writer.set_query_only(on).await;
    }
}

/// Whether there is anybody whose token was hashed under the token key.
fn has_tokens(devices: &[Device], guests: &[GuestRecord]) -> bool {
    !devices.is_empty() || guests.iter().any(|guest| guest.ended.is_none())
}

/// Goes on with an older store if the owner wants it: its trail says so from then on.
fn accept(
    transaction: &Transaction<'_>,
    key: &AuditKey,
    (path, reason): (&Path, String),
    now: UnixMillis,
    older: OlderStore,
) -> Result<(), StoreError> {
    if older == OlderStore::Refused {
        return Err(StoreError::Older {
            path: path.to_owned(),
            reason,
        });
    }
    let row = AuditRow::new(now, "owner", "", action::OLDER_STORE_ACCEPTED, "").detail(reason);
    audit::append(transaction, key, &row)
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Store")
    }
}

#[cfg(test)]
mod tests;
