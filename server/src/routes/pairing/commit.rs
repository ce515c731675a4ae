//! `POST /v1/pairing/requests/{id}/commit`: step 6, a device says that it has kept its token. Only now it exists.

use std::{convert::Infallible, sync::Arc};

use http::{HeaderMap, StatusCode};
use pairing::{
    AuthError, Commit, CommitError, Device, DeviceToken, Principal, RequestId, Revoked, UnixMillis,
};

use super::row_of_stranger;
use crate::{
    access::{Access, Newcomer},
    audit::{AuditRow, action},
    authenticate, clock,
    error::Failure,
    extract::Path,
    operation::{Credential, Operation, REQUEST, problems},
    peer::Peer,
    request, revocation,
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
    let task = request::spawn(async move { settle(&access, &peer, id, &token).await });
    task.await.map_err(|error| Failure::internal(&error))??;
    Ok(StatusCode::NO_CONTENT)
}

async fn settle(access: &Access, peer: &Peer, id: RequestId, token: &DeviceToken) -> Result<(), Failure> {
    // One at a time, so that a second commit of the same token finds what the first one did.
    let _turn = access.commits.lock().await;
    let now = clock::latest();
    if is_device(access, id, token, now)? {
        return Ok(());
    }
    let (prepared, ends) = {
        let mut authority = access.unlocked_authority()?;
        let prepared = authority.prepare_commit(id, token, &access.token_key, now)?;
        (prepared, access.lockdown.count())
    };
    let device = match prepared {
        Commit::Already(_) => return Ok(()),
        Commit::New(device) => device,
    };
    let newcomer = Newcomer::of(&device);
    if let Err(failure) = store(access, peer, id, device.clone()).await {
        give_up(access, id, ends, now);
        return Err(failure);
    }
    let ended = {
        let mut devices = access.devices();
        devices.add(device);
        match access.lockdown.count() == ends {
            true => None,
            // Before anybody can authenticate with it.
            false => devices.revoke(&Principal::Owner, newcomer.id, now).ok(),
        }
    };
    match ended {
        None => begin(access, id, newcomer, now),
        Some(revoked) => {
            give_up(access, id, ends, now);
            return Err(undo(access, id, revoked).await);
        }
    }
    Ok(())
}

/// Nothing came of this commit. The device may try again, unless all pairing was ended meanwhile.
fn give_up(access: &Access, id: RequestId, ends: u64, now: UnixMillis) {
    let mut authority = access.authority();
    match access.lockdown.count() == ends {
        true => authority.commit_failed(id),
        false => authority.commit_ended(id, now),
    }
    // Its time may have run out meanwhile.
    access.devices_changed.notify_one();
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

/// On the disk first: what is usable survives a crash.
async fn store(access: &Access, peer: &Peer, id: RequestId, device: Device) -> Result<(), Failure> {
    let row = row_of_stranger(peer, action::PAIRING_COMMITTED, device.id).detail(format!(
        "request {id}, role {}, can_revoke {}",
        device.role, device.can_revoke
    ));
    if let Err(error) = access.store.commit_device(device.clone(), row).await {
        tracing::error!(device = %device.id, %error, "a device could not be stored");
        return Err(Failure::StoreFailed);
    }
    Ok(())
}

fn begin(access: &Access, id: RequestId, newcomer: Newcomer, now: UnixMillis) {
    tracing::info!(request = %id, device = %newcomer.id, role = %newcomer.role, "paired a device");
    access.authority().committed(id, now);
    access.welcome(newcomer);
    access.pairing_changed.notify_waiters();
}

/// Revokes what a lock-down, or another identity key, found halfway into the store: each ends whatever is no device yet.
async fn undo(access: &Access, id: RequestId, revoked: Revoked) -> Failure {
    let device = revoked.device.id;
    let (why, failure) = match access.is_locked_down() {
        true => ("locked down", Failure::LockedDown),
        // Nobody can finish it any more.
        false => ("pairing was ended", CommitError::UnknownToken.into()),
    };
    let Ok(((), ended)) = access.connections().end(device, || Ok::<_, Infallible>(()));
    let row = AuditRow::new(clock::now(), "daemon", "", action::DEVICE_REVOKED, device)
        .detail(format!("request {id}, {why} before it was committed"));
    // What failed is in the log; the device is as dead as it can be.
    let _ = revocation::finish(access, revoked, &ended, row).await;
    access.pairing_changed.notify_waiters();
    tracing::warn!(%device, request = %id, "revoked a device that was being paired: {why}");
    failure
}

pub(in crate::routes) const COMMIT: Operation = Operation::new(
    "commit_request",
    "Step 6: a device says that it has kept its token. Only now it is one.",
)
.about(REQUEST)
.shown(Credential::HolderToken)
.gives_nothing(204)
.fails(|| {
    let mut all = problems([CommitError::UnknownToken, CommitError::Expired]);
    all.extend(problems([Failure::LockedDown, Failure::StoreFailed]));
    all
});
