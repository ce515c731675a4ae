//! What is known of the time since a back-up.

use certs::files;
use pairing::{Device, GuestRecord, Tombstone, UnixMillis};
use rusqlite::Transaction;

use super::Former;
use crate::{
    audit::AuditEntry,
    store::{
        StoreError, audit, backup, chain,
        chain::{AuditKey, Link},
        devices,
        epoch::{self, Epoch},
        guests, meta, schema,
    },
};

/// What is known of the time since a back-up.
pub(super) enum Known {
    /// Nothing: no daemon ever served here.
    Unknown,
    /// That nothing happened that the back-up does not say itself.
    Nothing,
    /// Nothing: what is there is another daemon's.
    Another,
    /// All: the store that is there has the back-up's whole trail, and what came later.
    Store(Box<Later>),
    /// That there was such a time, or may have been, and not what happened.
    Row {
        /// How far the trail had come, where that is known.
        row: Option<u64>,
        /// Why no more is known.
        why: String,
    },
}

/// What a store says of the time since a back-up.
pub(super) struct Later {
    /// The rows behind the back-up's last one, as they stand there.
    pub(super) rows: Vec<(AuditEntry, Option<[u8; 32]>)>,
    pub(super) devices: Vec<Device>,
    pub(super) tombstones: Vec<Tombstone>,
    pub(super) guests: Vec<GuestRecord>,
    pub(super) revocations: u64,
}

impl Known {
    /// Compares the state that is there with the store of a back-up.
    pub(super) fn of(
        former: Former<'_>,
        restored: &Transaction<'_>,
        key: &AuditKey,
        now: UnixMillis,
    ) -> Result<Self, StoreError> {
        // Only another key is another daemon: one that is missing or damaged may have been this one.
        let there = chain::read(former.keys);
        if let Ok(Some(there)) = &there
            && there.id() != key.id()
        {
            return Ok(Self::Another);
        }
        let never_served = matches!(there, Ok(None));
        let reached = Epoch::of(restored)?;
        let file = Epoch::read(former.keys);
        match Self::of_store(former, (restored, &reached), key, now) {
            Ok(Some(known)) => Ok(known),
            Ok(None) if never_served && matches!(file, Ok(None)) => Ok(Self::Unknown),
            Ok(None) => Self::of_epoch(file, restored, &reached, None),
            Err(error) => Self::of_epoch(file, restored, &reached, Some(&error)),
        }
    }

    /// By the store, where there is one that a daemon would open; it is only looked at.
    fn of_store(
        former: Former<'_>,
        (restored, reached): (&Transaction<'_>, &Epoch),
        key: &AuditKey,
        now: UnixMillis,
    ) -> Result<Option<Self>, StoreError> {
        if !files::check(former.store)? {
            return Ok(None);
        }
        let (aside, copy) = backup::copied(former.store)?;
        drop(copy);
        // A copy: an earlier version's is brought to the present one there.
        let mut copy = schema::open(&aside.store(), now)?;
        let there = copy.transaction()?;
        chain::load(&there, former.keys)?;
        if let Some(reason) = epoch::behind(&there, key, Epoch::read(former.keys), false)? {
            return Err(StoreError::Older {
                path: former.store.to_owned(),
                reason,
            });
        }
        let last = audit::last(&there)?;
        if has(&there, &reached.last)? {
            return Later::read(&there, reached.last.sequence)
                .map(|later| Some(Self::Store(Box::new(later))));
        }
        if has(restored, &last)? && meta::revocations(&there)? <= reached.revocations {
            return Ok(Some(Self::Nothing));
        }
        Ok(Some(Self::Row {
            row: Some(last.sequence),
            why: "the store that is here and the back-up have gone different ways".to_owned(),
        }))
    }

    /// By `keys/epoch` alone, where the store is gone, or cannot be used for this reason.
    fn of_epoch(
        file: Result<Option<Epoch>, StoreError>,
        restored: &Transaction<'_>,
        reached: &Epoch,
        error: Option<&StoreError>,
    ) -> Result<Self, StoreError> {
        let why = error.map_or_else(
            || "the store that was here is gone".to_owned(),
            |error| format!("the store that is here cannot be used ({error})"),
        );
        let row = match (file, error) {
            (Ok(Some(file)), _) if has(restored, &file.last)? && file.revocations <= reached.revocations => {
                return Ok(Self::Nothing);
            }
            (Ok(Some(file)), _) => Some(file.last.sequence),
            (Ok(None) | Err(_), _) => None,
        };
        Ok(Self::Row { row, why })
    }
}

impl Later {
    fn read(there: &Transaction<'_>, behind: u64) -> Result<Self, StoreError> {
        let mut rows = Vec::new();
        audit::each(there, |entry, hmac| {
            if entry.sequence > behind {
                rows.push((entry, hmac));
            }
            Ok(())
        })?;
        Ok(Self {
            rows,
            devices: devices::all(there)?,
            tombstones: devices::tombstones(there)?,
            guests: guests::all(there)?,
            revocations: meta::revocations(there)?,
        })
    }
}

/// Whether a trail has this very row, or had it before it was pruned up to it.
fn has(trail: &Transaction<'_>, row: &Link) -> Result<bool, StoreError> {
    Ok(audit::hmac_at(trail, row.sequence)? == Some(row.hmac))
}
