//! Ends that the store did not take. They are tried again until it does: with a restart who has ended would be back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pairing::{EndedGuest, GuestId, Revoked};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    access::Access,
    audit::AuditRow,
    shutdown::{Shutdown, Stop},
};

/// What the trail is to say of ends that it has no row of.
#[derive(Default)]
pub(crate) struct Unstored {
    /// By whom they are about.
    rows: Mutex<HashMap<String, AuditRow>>,
    noted: Notify,
}

impl Unstored {
    fn rows(&self) -> MutexGuard<'_, HashMap<String, AuditRow>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn row(&self, about: impl ToString) -> Option<AuditRow> {
        self.rows().get(&about.to_string()).cloned()
    }

    /// Keeps the row, then has `note` say that the end is to be made again: whoever takes that up finds the row.
    fn note(&self, row: AuditRow, note: impl FnOnce()) {
        self.rows().insert(row.target.clone(), row);
        note();
        self.noted.notify_one();
    }
}

impl Access {
    /// Stores the end of a device. One that fails is tried again later, or when somebody revokes it again.
    pub(crate) async fn store_end(&self, revoked: Revoked, row: AuditRow) -> bool {
        let device = revoked.device.id;
        let stored = self
            .store
            .revoke_device(revoked.tombstone.clone(), row.clone())
            .await;
        let Err(error) = stored else {
            self.unstored.rows().remove(&row.target);
            return true;
        };
        self.unstored
            .note(row, || self.devices().end_was_not_stored(revoked));
        tracing::error!(%device, %error, "an ended device could not be stored as such; it would return after a restart");
        false
    }

    /// The same for a guest or an invitation.
    pub(crate) async fn store_guest_end(&self, ended: EndedGuest, row: AuditRow) -> bool {
        let guest: GuestId = ended.record.id;
        let Err(error) = self.store.end_guest(ended.record, row.clone()).await else {
            self.unstored.rows().remove(&row.target);
            return true;
        };
        self.unstored
            .note(row, || self.guests().end_was_not_stored(guest));
        tracing::error!(%guest, %error, "an ended guest could not be stored as such; it would return after a restart");
        false
    }
}

/// Tries again until the soft stop.
pub(crate) async fn run(access: Arc<Access>, stop: Stop) {
    loop {
        let again = async {
            access.unstored.noted.notified().await;
            sleep(PAUSE).await;
        };
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            () = again => store_all(&access).await,
        }
    }
}

/// Tries for the last time; a store that hangs does not hold up the daemon's end.
pub(crate) async fn finish(access: &Access) {
    if timeout(LAST, store_all(access)).await.is_err() {
        tracing::error!(
            "ends could not be stored before the daemon's own; who they are about returns with the next"
        );
    }
}

async fn store_all(access: &Access) {
    let (devices, guests) = (access.devices().take_unstored(), access.guests().take_unstored());
    for revoked in devices {
        // Each was noted with its row.
        let Some(row) = access.unstored.row(revoked.device.id) else {
            continue;
        };
        if access.store_end(revoked, row).await {
            tracing::info!("the end of a device is stored now");
        }
    }
    for ended in guests {
        let Some(row) = access.unstored.row(ended.record.id) else {
            continue;
        };
        if access.store_guest_end(ended, row).await {
            tracing::info!("the end of a guest is stored now");
        }
    }
}

/// Between a failure and the next try.
const PAUSE: Duration = Duration::from_secs(1);
/// Time for the last try of a daemon that ends.
const LAST: Duration = Duration::from_secs(1);
