//! The audit trail: its rows, and whether it is whole. For the owner alone.

use std::{sync::Arc, time::Duration};

use axum::Json;
use pairing::marker::AuditView;
use protocol::audit as wire;
use tokio::time::{Instant, sleep_until};

use crate::{
    access::Access,
    audit::{AuditEntry, AuditFilter, AuditVerdict},
    clock::{millis, timestamp},
    error::Failure,
    extract::Query,
    operation::Operation,
    router::{App, On, Permitted},
    store::{AuditReader, StoreError},
};

/// `GET /v1/audit`: rows, oldest first; with `wait` the answer is held back until there is one behind `after`.
pub(crate) async fn list(
    App(access): App<Arc<Access>>,
    Permitted(_): Permitted<AuditView>,
    On(connection): On,
    Query(query): Query<wire::AuditQuery>,
) -> Result<Json<Vec<wire::AuditRecord>>, Failure> {
    let wait = Duration::from_secs(query.wait.unwrap_or_default()).min(LONGEST_WAIT);
    if !wait.is_zero() && query.after.is_none() {
        return Err(Failure::malformed(
            "`wait` needs `after`: the last row that is known",
        ));
    }
    let (reader, filter) = (access.store.audit_reader(), filter(query));
    let mut growth = access.store.audit_growth();
    let deadline = Instant::now() + wait;
    loop {
        // Before the look, so that a row which comes in between is not missed.
        growth.borrow_and_update();
        let rows = look(&reader, &filter).await?;
        if !rows.is_empty() || Instant::now() >= deadline {
            return Ok(Json(rows.into_iter().map(record).collect()));
        }
        tokio::select! {
            biased;
            () = connection.revoked() => return Err(Failure::Ended),
            () = connection.ending() => return Ok(Json(Vec::new())),
            () = sleep_until(deadline) => {}
            Ok(()) = growth.changed() => {}
        }
    }
}

/// `GET /v1/audit/verify`: follows the chain from its beginning to its end.
pub(crate) async fn verify(
    App(access): App<Arc<Access>>,
    Permitted(_): Permitted<AuditView>,
) -> Result<Json<wire::AuditVerdict>, Failure> {
    let reader = access.store.audit_reader();
    let verdict = reading(move || reader.verify()).await?;
    Ok(Json(described(&verdict)))
}

/// The rows as the wire has them, for who reads the store where no daemon runs as well.
pub fn record(AuditEntry { sequence, row }: AuditEntry) -> wire::AuditRecord {
    wire::AuditRecord {
        sequence,
        time: timestamp(row.time),
        principal: row.principal,
        peer: row.peer,
        action: row.action.into_owned(),
        target: row.target,
        outcome: row.outcome.into_owned(),
        detail: row.detail,
    }
}

/// The filter of a query, for who reads the store where no daemon runs as well.
pub fn filter(query: wire::AuditQuery) -> AuditFilter {
    AuditFilter {
        after: query.after,
        since: query.since.map(millis),
        until: query.until.map(millis),
        principal: query.principal,
        device: query.device,
        session: query.session,
        action: query.action,
        limit: query.limit.unwrap_or(DEFAULT_ROWS).min(MOST_ROWS),
    }
}

/// The verdict as the wire has it, for who reads the store where no daemon runs as well.
pub fn described(verdict: &AuditVerdict) -> wire::AuditVerdict {
    let faults = verdict.faults.iter().map(|fault| wire::AuditFault {
        kind: fault.code().to_owned(),
        detail: fault.to_string(),
    });
    wire::AuditVerdict {
        whole: verdict.fault_count == 0,
        rows: verdict.rows,
        first: verdict.first,
        last: verdict.last,
        fault_count: verdict.fault_count,
        faults: faults.collect(),
    }
}

async fn look(reader: &AuditReader, filter: &AuditFilter) -> Result<Vec<AuditEntry>, Failure> {
    let (reader, filter) = (reader.clone(), filter.clone());
    reading(move || reader.rows(&filter)).await
}

/// Off the tasks of connections: a trail of a year takes a while.
async fn reading<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|crash| Failure::internal(&crash))?
        .map_err(|error| Failure::internal(&error))
}

/// What a page of rows holds where nothing is said.
const DEFAULT_ROWS: u32 = 100;
/// Rows in one answer: about 300 KiB.
const MOST_ROWS: u32 = 1_000;
/// As the polls of pairing.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

pub(in crate::routes) const LIST: Operation =
    Operation::new("list_audit", "Reads the audit trail, oldest row first.")
        .explained("With `wait` and `after` the answer is held back until there is a row behind that one.")
        .asks::<wire::AuditQuery>()
        .gives::<Vec<wire::AuditRecord>>(200);

pub(in crate::routes) const VERIFY: Operation = Operation::new(
    "verify_audit",
    "Follows the chain of the audit trail from its beginning to its end.",
)
.gives::<wire::AuditVerdict>(200);

#[cfg(test)]
mod tests;
