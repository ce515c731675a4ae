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
    operation::{DEVICE, Operation, problems},
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
    // Like a revocation it waits for nothing.
    let closed = access.connections().disconnect(id) as u64;
    let principal = name_of(permit.principal());
    let row = AuditRow::new(clock::now(), principal, &peer, action::DEVICE_DISCONNECTED, id);
    access.append_audit_of_end(row).await;
    Ok(Json(Disconnected {
        device_id: id,
        closed,
    }))
}

pub(in crate::routes) const DISCONNECT: Operation = Operation::new(
    "disconnect_device",
    "Closes what a device has open; its trust stays.",
)
.about(DEVICE)
.gives::<Disconnected>(200)
.fails(|| problems([UnknownDevice]));

#[cfg(test)]
mod tests {
    use pairing::Role;
    use tokio::time::timeout;

    use crate::testing::{PATIENCE, TestServer};

    #[tokio::test]
    async fn a_device_is_disconnected_before_the_disk_has_answered() {
        let server = TestServer::start().await;
        let phone = server.device(Role::Viewer, false).await;
        let mut open = server.http1().await;
        assert_eq!(open.get("/v1/whoami", Some(&phone)).await.status, 200);
        let held = server.access.store.hold_writes();
        let path = format!("/v1/devices/{}/connections", phone.id);
        let mut owner = server.owner().await;
        let answer = timeout(PATIENCE, owner.delete(&path, None)).await;
        let answer = answer.expect("it does not wait for the disk");
        assert_eq!(answer.json()["closed"], 1);
        server.until_none_of(phone.id).await;
        drop(held);
        // A later row is written behind it.
        server.owner().await.delete(&path, None).await;
        let rows = server.access.store.audit_rows(2).await.unwrap();
        let actions: Vec<&str> = rows.iter().map(|row| &*row.action).collect();
        assert_eq!(actions, ["device_disconnected"; 2]);
    }
}
