//! The tables `guests` and `guest_sights`: who was invited, who came, and how it ended. Times stand in them as the wall clock
//! says them, and in memory by [`crate::clock::latest`].

use std::sync::Arc;

use pairing::{GuestEnd, GuestId, GuestKey, GuestRecord, Login, Refusal, Sight, UnixMillis};
use rusqlite::{Row, Transaction, named_params, params};

use super::{
    Store, StoreError,
    columns::{Columns, KEPT},
    meta,
    writer::Lane,
};
use crate::{audit::AuditRow, clock::on_the_wall};

impl Store {
    /// Stores invitations, all or none. One that has ended meanwhile stays so.
    ///
    /// # Errors
    /// When they could not be made to last: then nothing of them is stored.
    pub(crate) async fn invite_guests(&self, all: Vec<(GuestRecord, AuditRow)>) -> Result<(), StoreError> {
        let (guests, rows): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        self.change_all(Lane::Ordinary, rows, move |transaction| {
            guests.iter().try_for_each(|guest| insert(transaction, guest))
        })
        .await
    }

    /// Stores that somebody came. The change is queued when this is called, so whoever holds the guests' lock has it done in the
    /// order in which it was decided; a guest that has ended meanwhile stays so.
    ///
    /// # Errors
    /// When it could not be made to last: then nothing of it is stored.
    pub(crate) fn guest_joined(
        &self,
        guest: GuestRecord,
        audit: Option<AuditRow>,
    ) -> impl Future<Output = Result<(), StoreError>> + use<> {
        let rows = Vec::from_iter(audit);
        self.change_all(Lane::Ordinary, rows, move |transaction| join(transaction, &guest))
    }

    /// Stores that somebody else showed a guest's link.
    ///
    /// # Errors
    /// When it could not be made to last.
    pub(crate) async fn guest_refused(&self, guest: GuestRecord, audit: AuditRow) -> Result<(), StoreError> {
        self.change(Lane::Ordinary, audit, move |transaction| {
            refuse(transaction, &guest)
        })
        .await
    }

    /// Stores the end of a guest, ahead of everything that waits.
    ///
    /// # Errors
    /// When it could not be made to last: the guest would return after a restart.
    pub async fn end_guest(&self, guest: GuestRecord, audit: AuditRow) -> Result<(), StoreError> {
        self.change(Lane::Priority, audit, move |transaction| {
            bury(transaction, &guest)?;
            meta::count_revocation(transaction)
        })
        .await
    }

    /// Ends every guest because of a lock-down: those that are given, and whoever else lives in the store.
    ///
    /// # Errors
    /// When it could not be made to last: it is to be done again before the lock-down is lifted.
    pub async fn end_guests(
        &self,
        ended: Vec<GuestRecord>,
        at: UnixMillis,
        audit: AuditRow,
    ) -> Result<(), StoreError> {
        self.change(Lane::Priority, audit, move |transaction| {
            for guest in &ended {
                bury(transaction, guest)?;
                meta::count_revocation(transaction)?;
            }
            end_all(transaction, at)
        })
        .await
    }
}

/// All of them, the first invited first.
pub(super) fn all(transaction: &Transaction<'_>) -> Result<Vec<GuestRecord>, StoreError> {
    let mut statement = transaction.prepare("SELECT * FROM guests ORDER BY created_at, id")?;
    let guests = statement.query_and_then([], |row| guest(transaction, row))?;
    guests.collect()
}

/// Forgets those that ended so long ago that nobody is told why any more.
pub(super) fn forget(transaction: &Transaction<'_>, now: UnixMillis) -> Result<(), StoreError> {
    let oldest = now.0.saturating_sub(KEPT.as_millis() as i64);
    transaction.execute("DELETE FROM guests WHERE ended_at < ?", [oldest])?;
    transaction.execute(
        "DELETE FROM guest_sights WHERE guest NOT IN (SELECT id FROM guests)",
        [],
    )?;
    Ok(())
}

fn insert(transaction: &Transaction<'_>, guest: &GuestRecord) -> Result<(), StoreError> {
    let joined = guest.joined.as_ref();
    let refused = guest.refused.as_ref();
    let inserted = transaction.execute(
        "INSERT OR IGNORE INTO guests (id, login, secret_hash, created_at, expires_at, public_key, token_hash, joined_from,
            joined_at, refused_count, refused_at, refused_from, cause, ended_at)
         VALUES (:id, :login, :secret_hash, :created_at, :expires_at, :public_key, :token_hash, :joined_from, :joined_at,
            :refused_count, :refused_at, :refused_from, :cause, :ended_at)",
        named_params! {
            ":id": guest.id.to_string(),
            ":login": guest.login.as_ref().map(Login::as_str),
            ":secret_hash": guest.secret_hash.as_bytes().as_slice(),
            ":created_at": on_the_wall(guest.created).0,
            ":expires_at": on_the_wall(guest.expires_at).0,
            ":public_key": joined.map(|key| key.public_key.as_bytes().as_slice()),
            ":token_hash": joined.map(|key| key.token_hash.as_bytes().as_slice()),
            ":joined_from": joined.map(|key| &key.from),
            ":joined_at": joined.map(|key| on_the_wall(key.at).0),
            ":refused_count": refused.map(|refused| refused.count),
            ":refused_at": refused.map(|refused| on_the_wall(refused.at).0),
            ":refused_from": refused.map(|refused| &refused.from),
            ":cause": guest.ended.map(|(cause, _)| cause.as_str()),
            ":ended_at": guest.ended.map(|(_, at)| on_the_wall(at).0),
        },
    )?;
    if inserted == 0 {
        return Ok(());
    }
    let mut statement = transaction.prepare_cached("INSERT INTO guest_sights VALUES (?, ?, ?, ?)")?;
    for (place, sight) in guest.sights.iter().enumerate() {
        let since = sight.since.map(|since| i64::try_from(since).unwrap_or(i64::MAX));
        let (id, place) = (guest.id.to_string(), place as i64);
        statement.execute(params![id, place, sight.resource.as_str(), since])?;
    }
    Ok(())
}

/// What waited behind the guest's end changes nothing.
fn join(transaction: &Transaction<'_>, guest: &GuestRecord) -> Result<(), StoreError> {
    let joined = guest.joined.as_ref();
    transaction.execute(
        "UPDATE guests SET public_key = ?, token_hash = ?, joined_from = ?, joined_at = ? WHERE id = ? AND ended_at IS NULL",
        params![
            joined.map(|key| key.public_key.as_bytes().as_slice()),
            joined.map(|key| key.token_hash.as_bytes().as_slice()),
            joined.map(|key| &key.from),
            joined.map(|key| on_the_wall(key.at).0),
            guest.id.to_string(),
        ],
    )?;
    Ok(())
}

/// Only that: a token that was given meanwhile is stored on its own.
fn refuse(transaction: &Transaction<'_>, guest: &GuestRecord) -> Result<(), StoreError> {
    let refused = guest.refused.as_ref();
    transaction.execute(
        "UPDATE guests SET refused_count = ?, refused_at = ?, refused_from = ? WHERE id = ?",
        params![
            refused.map(|refused| refused.count),
            refused.map(|refused| on_the_wall(refused.at).0),
            refused.map(|refused| &refused.from),
            guest.id.to_string(),
        ],
    )?;
    Ok(())
}

/// Puts an ended guest in the place of the one that lived; one whose invitation waits to be stored is there before it.
pub(super) fn bury(transaction: &Transaction<'_>, guest: &GuestRecord) -> Result<(), StoreError> {
    let id = guest.id.to_string();
    transaction.execute("DELETE FROM guests WHERE id = ?", [&id])?;
    transaction.execute("DELETE FROM guest_sights WHERE guest = ?", [&id])?;
    insert(transaction, guest)
}

fn end_all(transaction: &Transaction<'_>, at: UnixMillis) -> Result<(), StoreError> {
    let ended = transaction.execute(
        "UPDATE guests SET cause = ?, ended_at = ? WHERE ended_at IS NULL",
        params![GuestEnd::LockedDown.as_str(), on_the_wall(at).0],
    )?;
    (0..ended).try_for_each(|_| meta::count_revocation(transaction))
}

fn guest(transaction: &Transaction<'_>, row: &Row<'_>) -> Result<GuestRecord, StoreError> {
    let columns = Columns { table: "guests", row };
    let id = columns.parsed("id")?;
    Ok(GuestRecord {
        id,
        sights: sights(transaction, id)?,
        login: columns.parsed_if_any("login")?,
        secret_hash: columns.token_hash("secret_hash")?,
        created: columns.time("created_at")?,
        expires_at: columns.time("expires_at")?,
        joined: joined(&columns)?,
        refused: refused(&columns)?,
        ended: ended(&columns)?,
    })
}

fn joined(columns: &Columns<'_>) -> Result<Option<GuestKey>, StoreError> {
    let Some(public_key) = columns.public_key()? else {
        return Ok(None);
    };
    Ok(Some(GuestKey {
        public_key,
        token_hash: columns.token_hash("token_hash")?,
        from: columns.row.get("joined_from")?,
        at: columns.time("joined_at")?,
    }))
}

fn refused(columns: &Columns<'_>) -> Result<Option<Refusal>, StoreError> {
    let Some(count) = columns.row.get("refused_count")? else {
        return Ok(None);
    };
    Ok(Some(Refusal {
        count,
        at: columns.time("refused_at")?,
        from: columns.row.get("refused_from")?,
    }))
}

fn ended(columns: &Columns<'_>) -> Result<Option<(GuestEnd, UnixMillis)>, StoreError> {
    let Some(at) = columns.time_if_any("ended_at")? else {
        return Ok(None);
    };
    let cause: String = columns.row.get("cause")?;
    let cause = GuestEnd::ALL.into_iter().find(|known| known.as_str() == cause);
    let cause = cause.ok_or_else(|| columns.wrong("cause"))?;
    Ok(Some((cause, at)))
}

fn sights(transaction: &Transaction<'_>, guest: GuestId) -> Result<Arc<[Sight]>, StoreError> {
    let mut statement = transaction
        .prepare_cached("SELECT resource, since FROM guest_sights WHERE guest = ? ORDER BY place")?;
    let found = statement.query_and_then([guest.to_string()], |row| {
        let columns = Columns {
            table: "guest_sights",
            row,
        };
        let since: Option<i64> = row.get("since")?;
        let since = since.map(u64::try_from).transpose();
        Ok(Sight {
            resource: columns.parsed("resource")?,
            since: since.map_err(|_| columns.wrong("since"))?,
        })
    })?;
    let sights: Result<Vec<_>, StoreError> = found.collect();
    Ok(sights?.into())
}

#[cfg(test)]
mod tests;
