//! The end of devices and guests whose time is over: their connections close at that moment, not at their next request. And
//! of approvals that nobody made use of.

use std::{pin::pin, sync::Arc, time::Duration};

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::note_seen,
    clock, guests, revocation,
    shutdown::{Shutdown, Stop},
};

/// Ends devices, guests and approvals as their time comes, until the soft stop.
pub(crate) async fn run(access: Arc<Access>, stop: Stop) {
    loop {
        // Enabled before the look at them, so that one which joins in between is not missed.
        let mut changed = pin!(access.devices_changed.notified());
        changed.as_mut().enable();
        let wait = next_wait(&access);
        let wait = async {
            match wait {
                Some(wait) => clock::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            () = changed => (),
            () = wait => {
                note_connected(&access);
                end_expired(&access);
                guests::expire(&access);
                let access = Arc::clone(&access);
                tokio::spawn(async move { note_lapsed(&access).await });
            }
        }
    }
}

/// The time until the next of them is over; none while there is nobody.
fn next_wait(access: &Access) -> Option<Duration> {
    let device = access.devices().next_expiry();
    let longest = LONGEST_WAIT.min(unnoted(access));
    let device = device.map(|at| at.since(clock::latest()).min(longest));
    let guest = access.guests().next_expiry();
    let guest = guest.map(|at| at.since(clock::latest()).min(GUESTS_WAIT));
    let lapse = access.authority().next_lapse();
    let lapse = lapse.map(|at| at.since(clock::latest()).min(LONGEST_WAIT));
    device.into_iter().chain(guest).chain(lapse).min()
}

/// Whoever is connected is there, although it may ask for nothing for months.
fn note_connected(access: &Access) {
    let (now, unnoted) = (clock::latest(), unnoted(access));
    let due: Vec<_> = access
        .devices()
        .iter()
        .filter(|device| now.since(device.last_seen.unwrap_or(device.created)) >= unnoted)
        .filter(|device| access.connections().count_of(device.id) > 0)
        .map(|device| (device.id, device.last_address.clone().unwrap_or_default()))
        .collect();
    for (device, address) in due {
        note_seen(access, device, address, now);
    }
}

/// How long ago a device that is connected may have been seen: well short of where it would end.
fn unnoted(access: &Access) -> Duration {
    access.devices().idle() / 4
}

/// Each ends at once, whatever the disk does about those before it.
fn end_expired(access: &Arc<Access>) {
    let now = clock::latest();
    let over = access.devices().expire(now);
    for revoked in over {
        let device = revoked.device.id;
        // It was dead before this lock is taken, so a connection that is being bound is refused or found here.
        let Ok(((), ended)) = access
            .connections()
            .end(device, || Ok::<_, std::convert::Infallible>(()));
        let closed = ended.count();
        let row = AuditRow::new(clock::now(), "daemon", "", action::DEVICE_EXPIRED, device);
        let access = Arc::clone(access);
        tokio::spawn(async move {
            // What failed is in the log; the device is as dead as it can be.
            let _ = revocation::finish(&access, revoked, &ended, row).await;
        });
        tracing::info!(%device, closed, "a device's time is over, closed its connections");
    }
}

/// Writes down which yes of the owner made no device in time: there is no other trace of one.
pub(crate) async fn note_lapsed(access: &Access) {
    let lapsed = access.authority().lapsed(clock::latest());
    for request in lapsed {
        let row = AuditRow::new(clock::now(), "daemon", "", action::PAIRING_LAPSED, request);
        if let Err(error) = access.store.append_audit(row).await {
            tracing::error!(%request, %error, "that a pairing lapsed could not be written to the audit trail");
        }
        tracing::info!(%request, "an approved device did not come for its token in time");
    }
}

/// Somebody may set the wall clock, so it is looked at now and then.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The same while there are guests, who end at their second.
const GUESTS_WAIT: Duration = Duration::from_secs(1);
