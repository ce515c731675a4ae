//! The end of a lock-down: the remote ways in are opened again.

use std::sync::Arc;

use pairing::Principal;

use super::{Lockdown, LockdownFile, OpenDoors, Order, shut_as_written_down};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    peer::Peer,
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
    let opening = tokio::spawn(async move { open_all(&access, row).await });
    opening
        .await
        .unwrap_or_else(|crash| Err(Failure::internal(&crash)))
}

async fn open_all(access: &Access, row: AuditRow) -> Result<protocol::access::LockdownLifted, Failure> {
    let lockdown = &access.lockdown;
    let _turn = lockdown.turn.lock().await;
    if !lockdown.is_closed() {
        if !lockdown.is_written_down().await {
            return Ok(protocol::access::LockdownLifted { listeners: 0 });
        }
        shut_as_written_down(access).await;
    }
    // Whoever was a guest before is none after, also where the lock-down could not say so to the store.
    let written = access.store.end_guests(Vec::new(), clock::latest(), row.clone());
    written.await.map_err(|error| {
        tracing::error!(%error, "an audit row could not be written");
        Failure::StoreFailed
    })?;
    let opened = match bind_and_unlock(lockdown).await {
        Ok(opened) => opened,
        Err(why) => {
            let row = row.outcome("not_lifted").detail(&why);
            if let Err(error) = access.store.append_audit(row).await {
                tracing::error!(%error, "that a lock-down was not lifted could not be written to the audit trail");
            }
            return Err(Failure::NotLifted(why));
        }
    };
    let OpenDoors {
        listeners,
        link_authority,
    } = opened;
    access.set_link_authority(link_authority);
    access.connections().open();
    lockdown.lifted();
    let count = listeners.len() as u64;
    // Where nobody serves any more they close by themselves.
    lockdown.order(Order::Open(listeners));
    tracing::info!(listeners = count, "the lock-down is lifted");
    Ok(protocol::access::LockdownLifted { listeners: count })
}

/// Nothing that comes in by what is bound is served yet.
async fn bind_and_unlock(lockdown: &Lockdown) -> Result<OpenDoors, String> {
    let opening = async {
        let opened = lockdown.doors.open().await.map_err(|error| error.to_string())?;
        let removed = lockdown.on_disk(LockdownFile::remove).await;
        removed.map_err(|error| error.to_string())?;
        Ok(opened)
    };
    let opened = opening.await;
    if opened.is_err() {
        lockdown.doors.closed();
    }
    opened
}
