//! `POST /v1/devices/{id}/rebind`: a device that has moved to another node of the tailnet may bind itself there, or is bound to
//! none.

use std::sync::Arc;

use axum::Json;
use pairing::{Binding, ChangeError, DeviceChange, DeviceId, Fault, TailnetIdentity, marker::DeviceManage};
use protocol::access::{DeviceRecord, Rebind};

use super::{change, record};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::{OptionalJson, Path},
    operation::{DEVICE, Operation, problems},
    peer::Peer,
    router::{App, Permitted},
};

pub(crate) async fn rebind(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    Path(id): Path<DeviceId>,
    OptionalJson(Rebind { unbind }): OptionalJson<Rebind>,
) -> Result<Json<DeviceRecord>, Failure> {
    if unbind {
        return change::whole(access, permit.principal().clone(), peer, id, to(Binding::Nowhere)).await;
    }
    access.devices().may_be_bound(id)?;
    if !access.who_is.is_there() {
        return Err(no_tailnet());
    }
    let row = AuditRow::new(
        clock::now(),
        name_of(permit.principal()),
        &peer,
        action::DEVICE_MAY_REBIND,
        id,
    );
    access.store.append_audit(row).await.map_err(|error| {
        tracing::error!(%error, "an audit row could not be written");
        Failure::StoreFailed
    })?;
    let mut devices = access.devices();
    devices.let_rebind(id, clock::latest())?;
    let device = devices.get(id).ok_or(Failure::Ended)?;
    Ok(Json(record(&access, &devices, device)))
}

/// Binds a device to the node from which it has just proven its key, and closes what it had open elsewhere.
///
/// # Errors
/// Where it may not, any more, or that could not be stored.
pub(in crate::routes) async fn bind(
    access: &Arc<Access>,
    peer: &Peer,
    id: DeviceId,
    node: TailnetIdentity,
) -> Result<(), Failure> {
    let at = clock::latest();
    let change = to(Binding::Node { node, at });
    let by = access.devices().get(id).ok_or(Failure::Ended)?.principal();
    let bound = change::whole(Arc::clone(access), by, peer.clone(), id, change);
    bound.await.map(|_| ())
}

fn no_tailnet() -> Failure {
    let why = "this daemon is reached over no tailnet, so no device can come from another node";
    Failure::pairing("no_tailnet", Fault::Timing, why)
}

fn to(binding: Binding) -> DeviceChange {
    DeviceChange {
        binding: Some(binding),
        ..DeviceChange::default()
    }
}

pub(in crate::routes) const REBIND: Operation = Operation::new(
    "rebind_device",
    "Lets a device bind itself to another node of the tailnet, or binds it to none.",
)
.about(DEVICE)
.may_take::<Rebind>()
.gives::<DeviceRecord>(200)
.fails(|| {
    let mut all = problems([ChangeError::UnknownDevice, ChangeError::NothingToBind]);
    all.extend(problems([no_tailnet(), Failure::StoreFailed]));
    all
});
