//! The table `audit`.

use std::borrow::Cow;

use pairing::UnixMillis;
use rusqlite::{Row, Transaction, params};

use super::StoreError;
use crate::audit::AuditRow;

pub(super) fn append(transaction: &Transaction<'_>, row: &AuditRow) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO audit (time, principal, peer, action, target, outcome, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
        params![row.time.0, row.principal, row.peer, row.action, row.target, row.outcome, row.detail],
    )?;
    Ok(())
}

pub(super) fn latest(transaction: &Transaction<'_>, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
    let mut statement = transaction.prepare(
        "SELECT time, principal, peer, action, target, outcome, detail FROM audit ORDER BY sequence DESC LIMIT ?",
    )?;
    let mut rows = statement
        .query_map([limit], audit_row)?
        .collect::<Result<Vec<_>, _>>()?;
    rows.reverse();
    Ok(rows)
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        time: UnixMillis(row.get("time")?),
        principal: row.get("principal")?,
        peer: row.get("peer")?,
        action: Cow::Owned(row.get("action")?),
        target: row.get("target")?,
        outcome: Cow::Owned(row.get("outcome")?),
        detail: row.get("detail")?,
    })
}
