//! `POST /v1/devices`: the owner adds a device without a key, whose token alone opens what its role does.

use std::sync::Arc;

use axum::Json;
use http::StatusCode;
use pairing::{ByHand, LivesTooLong, Role, marker::DeviceManage};
use protocol::{
    WireSecret,
    access::{DeviceAdded, NewDevice},
};

use crate::{
    access::{Access, Newcomer},
    audit::{AuditRow, action},
    authenticate::name_of,
    clock::{self, shown},
    error::Failure,
    extract,
    operation::{Operation, problems},
    peer::Peer,
    random, request,
    router::{App, Permitted},
    routes::{label, lifetime},
};

pub(crate) async fn add(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    extract::Json(body): extract::Json<NewDevice>,
) -> Result<(StatusCode, Json<DeviceAdded>), Failure> {
    let wish = ByHand {
        label: label(&body.label)?,
        role: body.role.unwrap_or(Role::Viewer),
        from: peer.to_string(),
        expires_in: lifetime(body.expires_in)?,
    };
    let (device, token) = wish.make(&access.token_key, clock::latest(), &mut random::rng())?;
    let expires_at = shown(device.ends_at(access.devices().idle()));
    let row = AuditRow::new(
        clock::now(),
        name_of(permit.principal()),
        &peer,
        action::DEVICE_ADDED,
        device.id,
    )
    .detail(format!("role {}, until {expires_at}", device.role));
    // In a task of its own: an owner that hangs up now must not leave a record that memory does not know.
    let adding = Arc::clone(&access);
    let record = device.clone();
    let stored = request::spawn(async move {
        adding.store.commit_device(record.clone(), row).await?;
        let newcomer = Newcomer::of(&record);
        adding.devices().add(record);
        adding.welcome(newcomer);
        Ok::<_, crate::store::StoreError>(())
    });
    let stored = stored.await.map_err(|crash| Failure::internal(&crash))?;
    stored.map_err(|error| {
        tracing::error!(device = %device.id, %error, "a device could not be stored");
        Failure::StoreFailed
    })?;
    tracing::info!(device = %device.id, role = %device.role, "added a device without a key");
    let added = DeviceAdded {
        device_id: device.id,
        token: WireSecret::new(token.reveal().as_str()),
        role: device.role,
        expires_at: device.expires_at.map_or(expires_at, shown),
    };
    Ok((StatusCode::CREATED, Json(added)))
}

pub(in crate::routes) const ADD: Operation = Operation::new(
    "add_device",
    "Adds a device without a key, for scripts: its token alone opens what its role does.",
)
.takes::<NewDevice>()
.gives::<DeviceAdded>(201)
.fails(|| {
    let mut all = problems([LivesTooLong]);
    all.extend(problems(label("").err()));
    all.extend(problems([Failure::StoreFailed]));
    all
});
