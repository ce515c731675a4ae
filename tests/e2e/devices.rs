//! `/v1/devices` and below.

mod add;
mod change;
mod expire;
mod revoke;
mod storm;

use harness::TestDaemon;
use pairing::{DeviceId, Role};
use protocol::access::{DeviceAdded, NewDevice};
use rusqlite::{Connection, params};

/// A device that the owner adds, without a key.
pub(crate) async fn add(daemon: &TestDaemon, role: Role) -> DeviceAdded {
    let wish = NewDevice {
        label: "a script".to_owned(),
        role: Some(role),
        expires_in: None,
    };
    daemon.owner().post("/v1/devices", &wish).await.ok()
}

/// Binds a device to a node of a tailnet, as if it had been paired from there, and starts the daemon again.
pub(crate) async fn bind_to_a_node(daemon: &mut TestDaemon, device: DeviceId) {
    daemon.kill().await;
    let bound = Connection::open(daemon.folder().join("transom.db"))
        .unwrap()
        .execute(
            "UPDATE devices SET tailnet_user_id = 'u1', tailnet_user = 'alice', tailnet_node_id = 'n1', tailnet_node = 'phone'
             WHERE id = ?",
            params![device.to_string()],
        );
    assert_eq!(bound, Ok(1));
    daemon.start_again().await;
}
