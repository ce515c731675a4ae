//! Devices: add, list, own record, revoke, sign out.

pub(crate) mod add;
pub(crate) mod change;
pub(crate) mod disconnect;
pub(crate) mod list;
pub(crate) mod revoke;
pub(crate) mod show_self;
pub(crate) mod sign_out;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::Device;
use protocol::access::DeviceRecord;

use crate::{access::Access, clock::shown, edge::LastAnswer, revocation::Outcome};

/// The full record of a device, with what it has open now.
fn record(access: &Access, device: &Device) -> DeviceRecord {
    device_record(device, access.connections().count_of(device.id) as u64)
}

/// The full record of a device that has so many connections.
pub fn device_record(device: &Device, connections: u64) -> DeviceRecord {
    DeviceRecord {
        id: device.id,
        label: device.label.to_string(),
        role: device.role,
        can_revoke: device.can_revoke,
        any_path: device.any_path,
        key_bound: device.public_key.is_some(),
        created_at: shown(device.created),
        approved_from: device.approved_from.clone(),
        tailnet_node: device.tailnet.as_ref().map(|tailnet| tailnet.node_id.clone()),
        expires_at: device.expires_at.map(shown),
        last_seen_at: device.last_seen.map(shown),
        last_address: device.last_address.clone(),
        connections,
    }
}

fn answer(outcome: Outcome) -> Response {
    let mut response = outcome.answer.map(Json).into_response();
    if outcome.was_own {
        response.extensions_mut().insert(LastAnswer);
    }
    response
}
