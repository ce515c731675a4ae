//! The end of a lock-down: the remote ways in are opened again.

use std::sync::{Arc, atomic::Ordering};

use pairing::Principal;
use tokio::time::timeout;

use super::{DISK, OpenDoors, Order, shut_as_written_down};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    peer::Peer,
    request,
};

/// Opens the remote ways in again.
///
/// # Errors
/// When the row could not be written, a listener not bound, or the file not removed: it is locked still, and a second row says so
/// of the latter two.
pub(crate) async fn lift(
    access: &Arc<Access>,
    principal: &Principal,
    peer: &Peer,
) -> Result<protocol::access::LockdownLifted, Failure> {
    let access = Arc::clone(access);
    let row = AuditRow::new(
        clock::now(),
        name_of(principal),
        peer,
        action::LOCKDOWN_LIFTED,
        "",
    );
    let opening = request::spawn(async move { open_all(&access, row).await });
    opening
        .await
        .unwrap_or_else(|crash| Err(Failure::internal(&crash)))
}

async fn open_all(access: &Access, row: AuditRow) -> Result<protocol::access::LockdownLifted, Failure> {
    let lockdown = &access.lockdown;
    // After the lock-downs that are under way; one that comes from now on is none that is lifted here.
    let attempt = {
        let _closing = lockdown.closing.lock().await;
        lockdown.wanted.load(Ordering::Acquire)
    };
    let _turn = lockdown.turn.lock().await;
    if !lockdown.is_closed() {
        // Whoever waits for the turn shall not wait for a disk that hangs.
        let Ok(is_written_down) = timeout(DISK, lockdown.is_written_down()).await else {
            return Err(Failure::NotLifted(
                "the disk does not answer whether it is locked down".to_owned(),
            ));
        };
        if !is_written_down {
            return Ok(protocol::access::LockdownLifted { listeners: 0 });
        }
        let _closing = lockdown.closing.lock().await;
        if !lockdown.is_closed() {
            shut_as_written_down(access).await;
        }
    }
    // Whoever was a guest before is none after, also where the lock-down could not say so to the store.
    let written = access.store.end_guests(Vec::new(), clock::latest(), row.clone());
    written.await.map_err(|error| {
        tracing::error!(%error, "an audit row could not be written");
        Failure::StoreFailed
    })?;
    let opened = match bind_and_unlock(access, attempt).await {
        Ok(opened) => opened,
        Err(why) => {
            lockdown.doors.closed();
            let row = row.outcome("not_lifted").detail(&why);
            if let Err(error) = access.store.append_audit(row).await {
                tracing::error!(%error, "that a lock-down was not lifted could not be written to the audit trail");
            }
            return Err(Failure::NotLifted(why));
        }
    };
    tracing::info!(listeners = opened, "the lock-down is lifted");
    Ok(protocol::access::LockdownLifted { listeners: opened })
}

/// Nothing that comes in by what is bound is served before all is done; says how many listeners there are.
async fn bind_and_unlock(access: &Access, attempt: u64) -> Result<u64, String> {
    let lockdown = &access.lockdown;
    let opened = lockdown.doors.open().await.map_err(|error| error.to_string())?;
    let removed = lockdown.remove_file(attempt).await;
    removed.map_err(|error| error.to_string())?;
    open(access, attempt, opened).ok_or_else(|| "another lock-down came meanwhile".to_owned())
}

/// Lets devices come in again, unless a lock-down is wanted since this attempt; says by how many listeners.
fn open(access: &Access, attempt: u64, opened: OpenDoors) -> Option<u64> {
    let lockdown = &access.lockdown;
    let orders = lockdown.sender();
    if lockdown.wanted.load(Ordering::Acquire) != attempt {
        return None;
    }
    access.set_link_authority(opened.link_authority);
    access.connections().open();
    lockdown.lifted();
    let count = opened.listeners.len() as u64;
    // Where nobody serves any more they close by themselves.
    orders.send(Order::Open(opened.listeners)).ok();
    Some(count)
}
