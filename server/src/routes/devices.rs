//! Devices: add, list, own record, change, rebind, revoke, sign out.

pub(crate) mod add;
pub(crate) mod change;
pub(crate) mod disconnect;
pub(crate) mod keep_pin;
pub(crate) mod list;
pub(crate) mod rebind;
pub(crate) mod revoke;
pub(crate) mod show_self;
pub(crate) mod sign_out;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::{Device, Devices};
use protocol::access::DeviceRecord;

use crate::{
    access::Access,
    clock::{self, shown},
    edge::LastAnswer,
    revocation::Outcome,
};

/// The full record of a device, with what it has open now.
fn record(access: &Access, devices: &Devices, device: &Device) -> DeviceRecord {
    let connections = access.connections().count_of(device.id) as u64;
    DeviceRecord {
        rebinds_until: devices.rebinds_until(device.id, clock::latest()).map(shown),
        ..device_record(device, connections)
    }
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
        rebinds_until: None,
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
