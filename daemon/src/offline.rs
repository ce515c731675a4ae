//! What the owner does to a store that no daemon serves.

use std::time::Duration;

use pairing::{DeviceId, Devices, GuestId, Guests, Principal};
use protocol::{
    access::{DeviceRecord, Revoked},
    audit::{AuditQuery, AuditRecord, AuditVerdict},
    guests::{GuestEnded, GuestRecord},
};
pub use server::store::Look;
use server::{
    LocalPeer, LockdownFile, Peer,
    audit::{AuditRow, action},
    clock,
    routes::{audit, device_record, guest_record},
    store::{AuditReader, Opened, Store, StoreError},
};
use tokio::time::Instant;

use crate::{backup, lock::Lock, paths::Paths, sessions::touched_on_disk, up::UpError};

/// The store of a state directory, with the lock of its daemon.
pub struct Offline {
    store: Store,
    devices: Devices,
    guests: Guests,
    paths: Paths,
    /// Let go last: until then no daemon opens the store.
    _lock: Lock,
}

impl Offline {
    /// Takes the place of the daemon; `None` where there is no store.
    ///
    /// # Errors
    /// Where a daemon runs, or the store cannot be used.
    pub fn take(paths: Paths) -> Result<Option<Self>, UpError> {
        backup::finish(&paths)?;
        if !paths.store().exists() {
            return Ok(None);
        }
        let lock = Lock::take(&paths.lock())?;
        backup::finish_under(&paths, &lock)?;
        let Opened {
            store,
            devices,
            tombstones,
            guests,
            ..
        } = Store::open(&paths.store(), &paths.keys(), clock::now())?;
        Ok(Some(Self {
            devices: Devices::load(devices, tombstones, Duration::MAX),
            guests: Guests::load(guests),
            store,
            paths,
            _lock: lock,
        }))
    }

    /// The paired devices. None has a connection.
    pub fn devices(&self) -> Vec<DeviceRecord> {
        self.devices
            .iter()
            .map(|device| device_record(device, 0))
            .collect()
    }

    /// Ends a device for good; `None` where there is no such device.
    ///
    /// # Errors
    /// Where it could not be made to last: the next daemon would let it in.
    pub async fn revoke(&mut self, id: DeviceId) -> Result<Option<Revoked>, UpError> {
        let began = Instant::now();
        let Ok(revoked) = self.devices.revoke(&Principal::Owner, id, clock::now()) else {
            return Ok(None);
        };
        let row = row(action::DEVICE_REVOKED, &id.to_string());
        self.store.revoke_device(revoked.tombstone, row).await?;
        Ok(Some(Revoked {
            device_id: id,
            closed: 0,
            sessions: touched_on_disk(&self.paths.state.join("sessions"), id),
            elapsed_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        }))
    }

    /// Guests and invitations, and those of the ended that the owner is shown. None has a connection.
    pub fn guests(&self) -> Vec<GuestRecord> {
        let now = clock::now();
        self.guests
            .shown()
            .map(|guest| guest_record(guest, 0, now))
            .collect()
    }

    /// Ends a guest or an invitation for good; `None` where there is none of that id, or not any more.
    ///
    /// # Errors
    /// Where it could not be made to last: the next daemon would let it in.
    pub async fn end_guest(&mut self, id: GuestId) -> Result<Option<GuestEnded>, UpError> {
        let began = Instant::now();
        let Ok(ended) = self.guests.end(&Principal::Owner, id, clock::now()) else {
            return Ok(None);
        };
        let row = row(action::GUEST_ENDED, &id.to_string());
        self.store.end_guest(ended.record, row).await?;
        Ok(Some(GuestEnded {
            guest_id: id,
            closed: 0,
            elapsed_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        }))
    }

    /// Has the next daemon open the remote ways in again. Says whether it was locked.
    ///
    /// # Errors
    /// Where the row or the change could not be made to last: then it is locked still.
    pub async fn lift(&self) -> Result<bool, UpError> {
        let file = LockdownFile::new(&self.paths.state);
        if !file.is_locked() {
            return Ok(false);
        }
        // Whoever was a guest before is none after, also where the lock-down could not say so to the store.
        let row = row(action::LOCKDOWN_LIFTED, "");
        self.store.end_guests(Vec::new(), clock::now(), row).await?;
        file.remove()?;
        Ok(true)
    }
}

/// Has every daemon that begins from now on open no remote way in. It only narrows, so it is done whoever runs.
///
/// # Errors
/// Where it could not be made to last.
pub fn write_lock_down(paths: &Paths) -> Result<(), UpError> {
    Ok(LockdownFile::new(&paths.state).create()?)
}

/// Has the next daemon open no remote way in. It narrows, so it is done even where the store cannot be used: what
/// is given is why it does not stand in the audit trail then.
///
/// # Errors
/// Where a daemon runs, or it could not be made to last.
pub async fn lock_down(paths: &Paths) -> Result<Option<StoreError>, UpError> {
    let _lock = Lock::take(&paths.lock())?;
    write_lock_down(paths)?;
    let written = match Store::open(&paths.store(), &paths.keys(), clock::now()) {
        Ok(opened) => {
            let row = row(action::LOCKED_DOWN, "");
            opened.store.end_guests(Vec::new(), clock::now(), row).await
        }
        Err(error) => Err(error),
    };
    Ok(written.err())
}

/// Looks at the store without changing anything, whether a daemon serves it or not; `None` where there is no store.
///
/// # Errors
/// What would keep a daemon from starting with it.
pub fn look(paths: &Paths) -> Result<Option<Look>, UpError> {
    backup::look(paths)?;
    Ok(Look::at(&paths.store(), &paths.keys())?)
}

/// Whether no daemon opens a remote way in, as long as nobody lifts that.
pub fn is_locked_down(paths: &Paths) -> bool {
    LockdownFile::new(&paths.state).is_locked()
}

/// Whether a daemon ever served here.
pub fn has_store(paths: &Paths) -> bool {
    paths.store().exists()
}

/// Rows of the audit trail, of a store that no daemon need serve; `None` where there is no store.
///
/// # Errors
/// Where they cannot be read.
pub fn audit_rows(paths: &Paths, query: AuditQuery) -> Result<Option<Vec<AuditRecord>>, UpError> {
    let rows = reader(paths).map(|reader| reader.rows(&audit::filter(query)));
    let rows = rows.transpose()?;
    Ok(rows.map(|rows| rows.into_iter().map(audit::record).collect()))
}

/// Whether the audit trail is whole, of a store that no daemon need serve; `None` where there is no store.
///
/// # Errors
/// Where it cannot be read, or its key is missing.
pub fn audit_verify(paths: &Paths) -> Result<Option<AuditVerdict>, UpError> {
    let verdict = reader(paths).map(|reader| reader.verify()).transpose()?;
    Ok(verdict.as_ref().map(audit::described))
}

fn reader(paths: &Paths) -> Option<AuditReader> {
    let store = paths.store();
    store.exists().then(|| AuditReader::new(&store, &paths.keys()))
}

fn row(action: &'static str, target: &str) -> AuditRow {
    let peer = Peer::Local(LocalPeer {
        uid: rustix::process::geteuid().as_raw(),
        pid: i32::try_from(std::process::id()).ok(),
    });
    AuditRow::new(clock::now(), "owner", peer, action, target).detail("without a daemon")
}
