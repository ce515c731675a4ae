//! The audit trail of input that comes by requests: one row per principal, session and ten seconds; how much, never what.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pairing::{Principal, UnixMillis};
use server::{clock, peer::Peer, store::Store};
use tokio::time::{Instant, sleep};

use super::{SessionError, record::Record};
use crate::actor;

/// What was typed into one session and is not written down yet.
#[derive(Default)]
pub(super) struct Typed {
    counted: Mutex<HashMap<Principal, Counted>>,
}

#[derive(Clone)]
struct Counted {
    peer: Peer,
    bytes: u64,
    first: UnixMillis,
    last: UnixMillis,
    /// Rows could not be written for a whole period: nobody could say who typed, so nobody of this name may.
    is_stuck: bool,
}

impl Typed {
    fn counted(&self) -> MutexGuard<'_, HashMap<Principal, Counted>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes input that is about to be typed; a row follows within ten seconds.
///
/// # Errors
/// [`SessionError::StoreFailed`] where the rows of earlier input cannot be written.
pub(super) async fn count(
    record: &Arc<Record>,
    store: &Store,
    principal: &Principal,
    peer: &Peer,
    bytes: usize,
) -> Result<(), SessionError> {
    let is_stuck = record
        .typed
        .counted()
        .get(principal)
        .is_some_and(|counted| counted.is_stuck);
    if is_stuck && !flush(record, store, principal).await {
        return Err(SessionError::StoreFailed);
    }
    let now = clock::now();
    let mut counted = record.typed.counted();
    if let Some(counted) = counted.get_mut(principal) {
        counted.bytes += bytes as u64;
        counted.last = now;
        return Ok(());
    }
    let first = Counted {
        peer: peer.clone(),
        bytes: bytes as u64,
        first: now,
        last: now,
        is_stuck: false,
    };
    counted.insert(principal.clone(), first);
    drop(counted);
    tokio::spawn(write_down(record.clone(), store.clone(), principal.clone()));
    Ok(())
}

/// Writes what is counted of a session, for the daemon's own end.
pub(super) async fn flush_all(record: &Record, store: &Store) {
    let principals: Vec<Principal> = record.typed.counted().keys().cloned().collect();
    for principal in principals {
        flush(record, store, &principal).await;
    }
}

async fn write_down(record: Arc<Record>, store: Store, principal: Principal) {
    sleep(PERIOD).await;
    let deadline = Instant::now() + PERIOD;
    while !flush(&record, &store, &principal).await {
        if Instant::now() >= deadline {
            if let Some(counted) = record.typed.counted().get_mut(&principal) {
                counted.is_stuck = true;
            }
            return;
        }
        sleep(RETRY).await;
    }
}

/// Whether everything counted is written.
async fn flush(record: &Record, store: &Store, principal: &Principal) -> bool {
    let Some(taken) = record.typed.counted().remove(principal) else {
        return true;
    };
    let Counted {
        bytes, first, last, ..
    } = taken;
    let (from, to) = (clock::timestamp(first), clock::timestamp(last));
    let row = actor::row(principal, &taken.peer, "input", &record.resource)
        .detail(format!("{bytes} bytes from {from} to {to}"));
    if store.append_audit(row).await.is_ok() {
        return true;
    }
    let mut counted = record.typed.counted();
    let later = counted.remove(principal);
    let both = later.map_or(taken.clone(), |later| Counted {
        bytes: bytes + later.bytes,
        last: later.last,
        ..taken
    });
    counted.insert(principal.clone(), both);
    false
}

/// One row stands for the input of so long.
const PERIOD: Duration = Duration::from_secs(10);

/// Between two tries at a row that could not be written.
const RETRY: Duration = Duration::from_secs(1);
