//! `DELETE /v1/devices/{id}/connections`: closes what a device has open; its trust stays.

use std::sync::Arc;

use axum::Json;
use pairing::{DeviceId, UnknownDevice, marker::DeviceManage};
use protocol::access::Disconnected;

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::Path,
    peer::Peer,
    router::{App, Permitted},
};

pub(crate) async fn disconnect(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    Path(id): Path<DeviceId>,
) -> Result<Json<Disconnected>, Failure> {
    if access.devices().get(id).is_none() {
        return Err(UnknownDevice.into());
    }
    let principal = name_of(permit.principal());
    let row = AuditRow::new(clock::now(), principal, &peer, action::DEVICE_DISCONNECTED, id);
    if let Err(error) = access.store.append_audit(row).await {
        // It gives nothing, so it goes on without its row.
        tracing::error!(%error, "a disconnect could not be written to the audit trail");
    }
    let closed = access.connections().disconnect(id) as u64;
    Ok(Json(Disconnected {
        device_id: id,
        closed,
    }))
}
