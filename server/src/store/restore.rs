//! A store out of a back-up, made fit to take the place of another: nothing that was taken away since the back-up is given back
//! by it, unless the owner says so.
//!
//! What is known of the time since is, at best, the store that is there. Where that has the back-up's whole trail, its later rows
//! are taken over, and of the back-up's devices and guests those stay who are in both, each with what both allow.
//! Where it cannot be read, `keys/epoch` still says whether there was a time since. Where there was, the owner decides.

mod known;

use std::path::Path;

use pairing::{Device, EndCause, GuestEnd, GuestRecord, Tombstone, UnixMillis};
use rusqlite::{Connection, Transaction};

use self::known::Known;
use super::{
    AuditReader, StoreError, audit, chain, chain::AuditKey, devices, epoch::Epoch, guests, has_tokens, meta,
    schema, token_key,
};
use crate::audit::{AuditRow, action};

/// The state that a restored store takes the place of, usable or not.
#[derive(Clone, Copy, Debug)]
pub struct Former<'a> {
    /// The store.
    pub store: &'a Path,
    /// The directory of its keys.
    pub keys: &'a Path,
}

/// What becomes of a back-up's devices and guests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nobody comes back who was ended since, as far as that is known; where it is not, it is refused.
    #[default]
    AsKnown,
    /// All come back, as they were then: the owner knows.
    Kept,
    /// None does: each must pair again.
    Ended,
}

/// What was known of the audit trail beyond the last row of a back-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Whether there is more is not known here: this daemon never served here, as far as can be told.
    Unknown,
    /// Nothing: what is here had come no further than the back-up.
    Nothing,
    /// It had come to this row, and all of them stand in the restored trail.
    Kept(u64),
    /// It had come to this row, if that is known, and none of them stands in the restored trail.
    Lost(Option<u64>),
}

/// What a restored store is like.
#[derive(Debug)]
pub struct Restored {
    /// How many devices are paired in it.
    pub devices: usize,
    /// Those of the back-up that are not.
    pub ended: Vec<Device>,
    /// Those of the back-up that may less than it says.
    pub narrowed: Vec<Device>,
    /// How many of the back-up's guests and invitations were ended.
    pub guests_ended: usize,
    /// The last row of the back-up's audit trail.
    pub last_row: u64,
    /// What was known beyond that.
    pub beyond: Beyond,
    /// Whether what was there is another daemon's.
    pub is_anothers: bool,
    /// What is wrong with the back-up's audit trail.
    pub faults: u64,
}

/// Makes a store out of a back-up fit to be used, with the keys that came with it: it is brought to the present version, `keys/epoch`
/// is written for it, and its trail says where it comes from, in `row`, to which the facts are added. It is then one file, synced.
///
/// # Errors
/// As [`Store::open`](super::Store::open); [`StoreError::Undecided`]. The back-up's files are of no use then, and nothing else was
/// changed.
pub fn restore(
    store: &Path,
    keys: &Path,
    former: Option<Former<'_>>,
    trust: Trust,
    row: AuditRow,
) -> Result<Restored, StoreError> {
    let mut connection = schema::open(store, row.time)?;
    let transaction = connection.transaction()?;
    let (key, _) = chain::load_or_begin(&transaction, keys)?;
    let last_row = audit::last(&transaction)?.sequence;
    let mut change = Change {
        transaction: &transaction,
        key: &key,
        row: &row,
        ended: Vec::new(),
        narrowed: Vec::new(),
        guests_ended: 0,
    };
    let known = former.map_or(Ok(Known::Unknown), |former| {
        Known::of(former, &transaction, &key, row.time)
    })?;
    let beyond = change.apply(&known, trust)?;
    let Change {
        ended,
        narrowed,
        guests_ended,
        ..
    } = change;
    let paired = devices::all(&transaction)?;
    token_key::load(
        &transaction,
        keys,
        has_tokens(&paired, &guests::all(&transaction)?),
    )?;
    let mut restored = Restored {
        devices: paired.len(),
        ended,
        narrowed,
        guests_ended,
        last_row,
        beyond,
        is_anothers: matches!(known, Known::Another),
        faults: 0,
    };
    let told = match row.detail.as_deref() {
        Some(detail) => format!("{detail}: {}", restored.in_words()),
        None => restored.in_words(),
    };
    audit::append(&transaction, &key, &row.detail(told))?;
    Epoch::of(&transaction)?.write_in(keys)?;
    transaction.commit()?;
    alone(connection)?;
    restored.faults = AuditReader::new(store, keys).verify()?.fault_count;
    Ok(restored)
}

impl Restored {
    /// The facts, for the audit trail.
    fn in_words(&self) -> String {
        let beyond = match self.beyond {
            Beyond::Unknown => ", what came later is not known here".to_owned(),
            Beyond::Nothing => String::new(),
            Beyond::Kept(row) => format!(", rows to {row} were kept"),
            Beyond::Lost(Some(row)) => format!(", rows to {row} are not in this trail"),
            Beyond::Lost(None) => ", what came later is not in this trail".to_owned(),
        };
        let Self {
            last_row,
            devices,
            ended,
            narrowed,
            guests_ended,
            ..
        } = self;
        format!(
            "row {last_row}{beyond}; devices: {devices} paired, {} ended, {} narrowed; guests: {guests_ended} ended",
            ended.len(),
            narrowed.len()
        )
    }
}

/// The change of a restored store, and what came of it.
struct Change<'a> {
    transaction: &'a Transaction<'a>,
    key: &'a AuditKey,
    /// By whom and when it is done.
    row: &'a AuditRow,
    ended: Vec<Device>,
    narrowed: Vec<Device>,
    guests_ended: usize,
}

impl Change<'_> {
    fn apply(&mut self, known: &Known, trust: Trust) -> Result<Beyond, StoreError> {
        let beyond = match known {
            Known::Unknown | Known::Another => Beyond::Unknown,
            Known::Nothing => Beyond::Nothing,
            Known::Store(later) => {
                self.go_on(later)?;
                if trust == Trust::AsKnown {
                    self.meet(later)?;
                }
                match later.rows.last() {
                    Some((entry, _)) => Beyond::Kept(entry.sequence),
                    None => Beyond::Nothing,
                }
            }
            Known::Row { row, why } => {
                if trust == Trust::AsKnown {
                    return Err(StoreError::Undecided {
                        row: audit::last(self.transaction)?.sequence,
                        known: row.map_or_else(
                            || "how far that had come is not known".to_owned(),
                            |row| format!("that had come to row {row}"),
                        ),
                        why: why.clone(),
                    });
                }
                Beyond::Lost(*row)
            }
        };
        if trust == Trust::Ended {
            self.end_all()?;
        }
        Ok(beyond)
    }

    /// Takes over the rows that came later, and how many were ended by then.
    fn go_on(&self, later: &known::Later) -> Result<(), StoreError> {
        for (entry, hmac) in &later.rows {
            audit::insert(self.transaction, entry.sequence, &entry.row, *hmac)?;
        }
        meta::raise_revocations(self.transaction, later.revocations)
    }

    /// Leaves who is in both, each with what both allow. Whoever came since is not in the back-up.
    fn meet(&mut self, later: &known::Later) -> Result<(), StoreError> {
        for device in devices::all(self.transaction)? {
            let known = later.devices.iter().find(|known| known.id == device.id);
            match known.map(|known| lesser(&device, known)) {
                None => {
                    devices::bury(self.transaction, &ended(&device, self.row.time))?;
                    self.ended.push(device);
                }
                Some((lesser, is_less)) => {
                    devices::change(self.transaction, &lesser)?;
                    if let (Some(at), Some(from)) = (lesser.last_seen, &lesser.last_address) {
                        devices::seen(self.transaction, lesser.id, at, from)?;
                    }
                    self.narrowed.extend(is_less.then_some(lesser));
                }
            }
        }
        // Also of those that the back-up does not know: whoever has such a token is told why it opens nothing.
        for tombstone in &later.tombstones {
            devices::bury(self.transaction, tombstone)?;
        }
        for guest in self.live_guests()? {
            let known = later.guests.iter().find(|known| known.id == guest.id);
            match known {
                // As it is: a link that was used since does not work once more.
                Some(known) => guests::bury(self.transaction, known)?,
                None => self.end_guest(&guest)?,
            }
            let lives = known.is_some_and(|known| known.ended.is_none());
            self.guests_ended += usize::from(!lives);
        }
        Ok(())
    }

    /// Ends every device and guest, with a row for each device.
    fn end_all(&mut self) -> Result<(), StoreError> {
        for device in devices::all(self.transaction)? {
            devices::bury(self.transaction, &ended(&device, self.row.time))?;
            meta::count_revocation(self.transaction)?;
            let AuditRow {
                time,
                principal,
                peer,
                ..
            } = self.row;
            let row = AuditRow::new(*time, principal, peer, action::DEVICE_REVOKED, device.id);
            let row = row.detail("not let back in by the back-up that was restored");
            audit::append(self.transaction, self.key, &row)?;
            self.ended.push(device);
        }
        for guest in self.live_guests()? {
            self.end_guest(&guest)?;
            meta::count_revocation(self.transaction)?;
            self.guests_ended += 1;
        }
        Ok(())
    }

    fn live_guests(&self) -> Result<Vec<GuestRecord>, StoreError> {
        let mut guests = guests::all(self.transaction)?;
        guests.retain(|guest| guest.ended.is_none());
        Ok(guests)
    }

    fn end_guest(&self, guest: &GuestRecord) -> Result<(), StoreError> {
        let guest = GuestRecord {
            ended: Some((GuestEnd::Revoked, self.row.time)),
            ..guest.clone()
        };
        guests::bury(self.transaction, &guest)
    }
}

fn ended(device: &Device, now: UnixMillis) -> Tombstone {
    Tombstone {
        id: device.id,
        token_hash: device.token_hash.clone(),
        cause: EndCause::Revoked,
        ended: now,
    }
}

/// A device of a back-up with no more than it has by now, bound as it is by now; and whether that is less than the back-up says.
fn lesser(device: &Device, known: &Device) -> (Device, bool) {
    let ends = [device.expires_at, known.expires_at].into_iter().flatten().min();
    let lesser = Device {
        role: device.role.min(known.role),
        can_revoke: device.can_revoke && known.can_revoke,
        expires_at: ends,
        tailnet: known.tailnet.clone(),
        last_seen: known.last_seen,
        last_address: known.last_address.clone(),
        ..device.clone()
    };
    let is_less = (lesser.role, lesser.can_revoke, lesser.expires_at)
        != (device.role, device.can_revoke, device.expires_at);
    (lesser, is_less)
}

/// Leaves the store without a journal beside it: it is moved as one file.
fn alone(connection: Connection) -> Result<(), StoreError> {
    connection.pragma_update(None, "journal_mode", "delete")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}
