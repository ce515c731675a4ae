//! What the trail needs now and then: rows that are too old go, and what was not written one by one is said.

use std::{sync::Arc, time::Duration};

use pairing::UnixMillis;
use tokio::{
    task::spawn_blocking,
    time::{Instant, interval, sleep, timeout},
};

use crate::{
    access::Access,
    clock,
    shutdown::{Shutdown, Stop},
    store::StoreError,
};

/// Looks after the trail until the soft stop.
pub(crate) async fn run(access: Arc<Access>, stop: Stop) {
    let mut days = interval(DAY);
    loop {
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            _ = days.tick() => prune(&access, clock::now()).await,
            () = sleep(LOOK) => say(&access, false).await,
        }
    }
}

/// Deletes rows that are too old, unless the time is in doubt.
async fn prune(access: &Access, now: UnixMillis) {
    let reader = access.store.audit_reader();
    let has_leapt = spawn_blocking(move || reader.has_leapt(now)).await;
    let pruned = match has_leapt {
        Ok(Ok(false)) => access.store.prune_audit(now).await,
        Ok(Ok(true)) => {
            tracing::info!(
                "the clock was set far ahead, or nothing was done here for long: no audit row is deleted"
            );
            Ok(())
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(StoreError::Closed),
    };
    if let Err(error) = pruned {
        tracing::warn!(%error, "audit rows that are too old could not be deleted");
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

#[cfg(test)]
mod tests {
    use pairing::UnixMillis;

    use super::{DAY, prune};
    use crate::{audit::AuditRow, clock, testing::TestServer};

    #[tokio::test]
    async fn a_clock_that_is_wrong_once_takes_no_row_away() {
        let server = TestServer::start().await;
        let now = clock::now();
        let at = |days: i64| UnixMillis(now.0 + days * i64::try_from(DAY.as_millis()).unwrap());
        let store = &server.access.store;
        let mut first = 0;
        for days in [-20, -10, 0] {
            let row = AuditRow::new(at(days), "owner", "", "a", days);
            store.append_audit(row).await.unwrap();
            first += 1;
        }
        let count = async || store.audit_rows(99).await.unwrap().len();
        assert_eq!(count().await, first);
        prune(&server.access, at(1_500)).await;
        assert_eq!(count().await, first, "it was wrong at once");
        let wrong = AuditRow::new(at(1_500), "owner", "", "a", "wrong");
        store.append_audit(wrong).await.unwrap();
        prune(&server.access, at(1_501)).await;
        assert_eq!(count().await, first + 1, "and is wrong still");
        for days in (25..=425).step_by(25) {
            let row = AuditRow::new(at(days), "owner", "", "a", days);
            store.append_audit(row).await.unwrap();
        }
        let before = count().await;
        prune(&server.access, at(426)).await;
        assert_eq!(
            count().await,
            before - 3,
            "it is right again, and those are too old"
        );
    }
}
