//! The table `audit`.

use std::{borrow::Cow, time::Duration};

use pairing::UnixMillis;
use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};

use super::{
    StoreError,
    chain::{AuditKey, Link},
};
use crate::audit::{AuditEntry, AuditFilter, AuditRow};

/// Appends a row to the chain.
pub(super) fn append(
    transaction: &Transaction<'_>,
    key: &AuditKey,
    row: &AuditRow,
) -> Result<(), StoreError> {
    let previous = last(transaction)?;
    let sequence = previous.sequence.saturating_add(1);
    let hmac = key.hmac(&previous.hmac, sequence, row);
    insert(transaction, sequence, row, Some(hmac))
}

/// Puts in a row in its place, with the HMAC that it was written with.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    sequence: u64,
    row: &AuditRow,
    hmac: Option<[u8; 32]>,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT INTO audit (sequence, time, principal, peer, action, target, outcome, detail, hmac)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            number(sequence),
            row.time.0,
            row.principal,
            row.peer,
            row.action,
            row.target,
            row.outcome,
            row.detail,
            hmac.as_ref().map(<[u8; 32]>::as_slice)
        ])?;
    Ok(())
}

/// The last row's place in the chain; where none is left, that of the last one that was pruned.
pub(super) fn last(transaction: &Transaction<'_>) -> Result<Link, StoreError> {
    let last = transaction
        .prepare_cached("SELECT sequence, hmac FROM audit WHERE sequence > 0 ORDER BY sequence DESC LIMIT 1")?
        .query_row([], link)
        .optional()?;
    match last {
        Some(last) => Ok(last),
        None => Ok(pruned(transaction)?.0),
    }
}

/// The HMAC of a row, or of the last one that was pruned.
pub(super) fn hmac_at(transaction: &Transaction<'_>, sequence: u64) -> Result<Option<[u8; 32]>, StoreError> {
    let (pruned, _) = pruned(transaction)?;
    if sequence == pruned.sequence {
        return Ok(Some(pruned.hmac));
    }
    let found = transaction
        .query_row(
            "SELECT sequence, hmac FROM audit WHERE sequence = ?",
            [number(sequence)],
            link,
        )
        .optional()?;
    Ok(found.map(|link| link.hmac))
}

/// The last row that was deleted for its age, and the seal under which that was noted.
pub(super) fn pruned(transaction: &Transaction<'_>) -> Result<(Link, Vec<u8>), StoreError> {
    Ok(
        transaction.query_row("SELECT sequence, hmac, seal FROM audit_pruned", [], |row| {
            Ok((link(row)?, row.get("seal")?))
        })?,
    )
}

/// Chains the rows of before there was a chain.
pub(super) fn chain_all(transaction: &Transaction<'_>, key: &AuditKey) -> Result<(), StoreError> {
    let mut update = transaction.prepare("UPDATE audit SET hmac = ? WHERE sequence = ?")?;
    let mut previous = Link::BEGIN;
    each(transaction, |entry, _| {
        let sequence = entry.sequence;
        let hmac = key.hmac(&previous.hmac, sequence, &entry.row);
        update.execute(params![hmac.as_slice(), number(sequence)])?;
        previous = Link { sequence, hmac };
        Ok(())
    })
}

/// Calls back with each row and its HMAC, in order.
pub(super) fn each(
    transaction: &Transaction<'_>,
    mut with: impl FnMut(AuditEntry, Option<[u8; 32]>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut statement = transaction.prepare("SELECT * FROM audit ORDER BY sequence")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let hmac: Option<Vec<u8>> = row.get("hmac")?;
        with(entry(row)?, hmac.and_then(|hmac| hmac.try_into().ok()))?;
    }
    Ok(())
}

/// Deletes rows that are older than they are kept, from the beginning and at most so many as delay nobody; says whether any
/// may be left.
pub(super) fn prune(
    transaction: &Transaction<'_>,
    key: &AuditKey,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let oldest = now.0.saturating_sub(KEPT.as_millis() as i64);
    // Up to the first row that is kept: a clock that went back leaves no hole.
    let point = transaction
        .query_row(
            "SELECT sequence, hmac FROM (SELECT * FROM audit ORDER BY sequence LIMIT :batch)
             WHERE sequence < coalesce((SELECT min(sequence) FROM audit WHERE time >= :oldest), :max)
             ORDER BY sequence DESC LIMIT 1",
            named_params! {":batch": number(BATCH), ":oldest": oldest, ":max": i64::MAX},
            link,
        )
        .optional()?;
    let Some(point) = point else {
        return Ok(false);
    };
    transaction.execute(
        "UPDATE audit_pruned SET sequence = ?, hmac = ?, seal = ?",
        params![
            number(point.sequence),
            point.hmac.as_slice(),
            key.seal(&point).as_slice()
        ],
    )?;
    let deleted = transaction.execute("DELETE FROM audit WHERE sequence <= ?", [number(point.sequence)])?;
    Ok(deleted as u64 >= BATCH)
}

/// Whether the time now, or that of a row which is not too old, is far ahead of the row before. Then it is not told by the time
/// what is old: either nobody was here for long, or the clock is wrong, and rows that are deleted are gone for good. A row from
/// the future is of a clock that was wrong and is not any more.
pub(super) fn has_leapt(transaction: &Transaction<'_>, now: UnixMillis) -> Result<bool, StoreError> {
    let has_leapt = transaction.query_row(
        "SELECT EXISTS (
            SELECT 1 FROM (
                SELECT time, lag(time) OVER (ORDER BY sequence) AS before
                FROM (SELECT sequence, time FROM audit WHERE time <= :now UNION ALL SELECT :end, :now)
            )
            WHERE time >= :oldest AND time - before > :leap
        )",
        named_params! {
            ":now": now.0,
            ":end": i64::MAX,
            ":oldest": now.0.saturating_sub(KEPT.as_millis() as i64),
            ":leap": LEAP.as_millis() as i64,
        },
        |row| row.get(0),
    )?;
    Ok(has_leapt)
}

/// The rows that the filter lets through: the first behind `after` if that is said, else the latest; oldest first.
pub(super) fn query(
    transaction: &Transaction<'_>,
    filter: &AuditFilter,
) -> Result<Vec<AuditEntry>, StoreError> {
    let order = if filter.after.is_some() { "ASC" } else { "DESC" };
    let mut statement = transaction.prepare(&format!(
        "SELECT * FROM audit
         WHERE sequence > :after AND time >= :since AND time < :until
            AND (:principal IS NULL OR principal = :principal)
            AND (:device IS NULL OR :device IN (principal, target))
            AND (:session IS NULL OR :session IN (principal, target))
            AND (:action IS NULL OR action = :action)
         ORDER BY sequence {order} LIMIT :limit"
    ))?;
    let mut entries = statement
        .query_map(
            named_params! {
                ":after": number(filter.after.unwrap_or_default()),
                ":since": filter.since.map_or(i64::MIN, |since| since.0),
                ":until": filter.until.map_or(i64::MAX, |until| until.0),
                ":principal": filter.principal,
                ":device": filter.device,
                ":session": filter.session,
                ":action": filter.action,
                ":limit": filter.limit,
            },
            entry,
        )?
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort_unstable_by_key(|entry| entry.sequence);
    Ok(entries)
}

fn link(row: &Row<'_>) -> rusqlite::Result<Link> {
    let hmac: Option<Vec<u8>> = row.get("hmac")?;
    Ok(Link {
        sequence: row.get::<_, i64>("sequence")?.cast_unsigned(),
        // One that somebody took away matches nothing, and the next row does not hide that.
        hmac: hmac.and_then(|hmac| hmac.try_into().ok()).unwrap_or([0xff; 32]),
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    Ok(AuditEntry {
        sequence: row.get::<_, i64>("sequence")?.cast_unsigned(),
        row: AuditRow {
            time: UnixMillis(row.get("time")?),
            principal: row.get("principal")?,
            peer: row.get("peer")?,
            action: Cow::Owned(row.get("action")?),
            target: row.get("target")?,
            outcome: Cow::Owned(row.get("outcome")?),
            detail: row.get("detail")?,
        },
    })
}

/// A number as SQL has it; there are fewer rows than that.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How long rows are kept.
const KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Between two rows; the next time is doubted.
const LEAP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Rows deleted in one transaction: a revocation waits for no more.
const BATCH: u64 = 5_000;
