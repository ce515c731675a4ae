//! `POST /v1/pairing/requests/{id}/commit`: step 6, a device says that it has kept its token. Only now it exists.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use pairing::{AuthError, Commit, CommitError, Device, DeviceToken, Principal, RequestId, UnixMillis};

use crate::{
    access::{Access, Newcomer},
    audit::{AuditRow, action},
    authenticate::{self, name_of},
    clock,
    error::Failure,
    extract::Path,
    peer::Peer,
    router::App,
};

pub(in crate::routes) async fn commit(
    App(access): App<Arc<Access>>,
    peer: Peer,
    Path(id): Path<RequestId>,
    headers: HeaderMap,
) -> Result<StatusCode, Failure> {
    let token = DeviceToken::parse(authenticate::bearer(&headers)?.ok_or(Failure::Unauthenticated)?)?;
    // In a task of its own: a device that hangs up now must not leave a record that memory does not know.
    let task = tokio::spawn(async move { settle(&access, &peer, id, &token).await });
    task.await.map_err(|error| Failure::internal(&error))??;
    Ok(StatusCode::NO_CONTENT)
}

async fn settle(access: &Access, peer: &Peer, id: RequestId, token: &DeviceToken) -> Result<(), Failure> {
    // One at a time, so that a second commit of the same token finds what the first one did.
    let _turn = access.commits.lock().await;
    let now = clock::now();
    if is_device(access, id, token, now)? {
        return Ok(());
    }
    let prepared = access
        .authority()
        .prepare_commit(id, token, &access.token_key, now)?;
    match prepared {
        Commit::Already(_) => Ok(()),
        Commit::New(device) => store(access, peer, id, device, now).await,
    }
}

/// Whether the token is of a device already, as after a lost answer or a restart.
fn is_device(access: &Access, id: RequestId, token: &DeviceToken, now: UnixMillis) -> Result<bool, Failure> {
    match access.devices().authenticate(token, &access.token_key, now) {
        Ok(_) => {}
        Err(AuthError::Unknown) => return Ok(false),
        Err(ended) => return Err(ended.into()),
    }
    // After a restart the request is forgotten; one that is remembered must be the device's own.
    let remembered = access.authority().request_by_id(id, now);
    match remembered.is_none_or(|request| request.device_id == Some(token.id())) {
        true => Ok(true),
        false => Err(CommitError::UnknownToken.into()),
    }
}

/// On the disk first, then in memory: what is usable survives a crash.
async fn store(
    access: &Access,
    peer: &Peer,
    id: RequestId,
    device: Device,
    now: UnixMillis,
) -> Result<(), Failure> {
    let row = AuditRow::new(
        now,
        name_of(&Principal::Nobody),
        peer,
        action::PAIRING_COMMITTED,
        device.id,
    )
    .detail(format!(
        "request {id}, role {}, can_revoke {}",
        device.role, device.can_revoke
    ));
    if let Err(error) = access.store.commit_device(device.clone(), row).await {
        tracing::error!(device = %device.id, %error, "a device could not be stored");
        access.authority().commit_failed(id);
        return Err(Failure::StoreFailed);
    }
    tracing::info!(device = %device.id, role = %device.role, "paired a device");
    let newcomer = Newcomer::of(&device);
    access.devices().add(device);
    // Nobody may follow.
    let _ = access.newcomers.send(newcomer);
    access.authority().committed(id, now);
    access.devices_changed.notify_one();
    access.pairing_changed.notify_waiters();
    Ok(())
}
