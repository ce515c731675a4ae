//! What the trail needs now and then: rows that are too old go, and what was not written one by one is said.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, interval, sleep, timeout};

use crate::{
    access::Access,
    clock,
    shutdown::{Shutdown, Stop},
};

/// Looks after the trail until the soft stop.
pub(crate) async fn run(access: Arc<Access>, stop: Stop) {
    let mut days = interval(DAY);
    loop {
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            _ = days.tick() => {
                if let Err(error) = access.store.prune_audit(clock::now()).await {
                    tracing::warn!(%error, "audit rows that are too old could not be deleted");
                }
            }
            () = sleep(LOOK) => say(&access, false).await,
        }
    }
}

/// Says what was not written one by one; at the daemon's end, where a store that hangs must not hold it up.
pub(crate) async fn finish(access: &Access) {
    let began = Instant::now();
    if timeout(LAST, say(access, true)).await.is_err() {
        tracing::warn!(after = ?began.elapsed(), "the last audit rows could not be written");
    }
}

async fn say(access: &Access, all: bool) {
    let rows = access.damper().due(clock::now(), all);
    for row in rows {
        let lost = row.detail.clone().unwrap_or_default();
        if let Err(error) = access.store.append_audit(row).await {
            tracing::warn!(%error, lost, "audit rows were omitted, and that could not be written either");
        }
    }
}

/// Between two looks at rows that are too old.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two looks at what was not written one by one.
const LOOK: Duration = Duration::from_secs(60);
/// Time for the last rows of a daemon that ends.
const LAST: Duration = Duration::from_secs(1);
