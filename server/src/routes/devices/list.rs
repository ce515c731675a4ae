//! `GET /v1/devices`: full records for the owner, names for a device that may revoke.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::{Scope, marker::DeviceList};
use protocol::access::{DeviceRecord, DeviceSummary};

use super::record;
use crate::{
    access::Access,
    clock::shown,
    operation::Operation,
    router::{App, Permitted},
};

pub(crate) async fn list(App(access): App<Arc<Access>>, permit: Permitted<DeviceList>) -> Response {
    let devices = access.devices();
    if permit.0.authenticated().check(Scope::DeviceManage).is_ok() {
        let records: Vec<DeviceRecord> = devices
            .iter()
            .map(|device| record(&access, &devices, device))
            .collect();
        return Json(records).into_response();
    }
    let summaries: Vec<DeviceSummary> = devices
        .iter()
        .map(|device| DeviceSummary {
            id: device.id,
            label: device.label.to_string(),
            last_seen_at: device.last_seen.map(shown),
        })
        .collect();
    Json(summaries).into_response()
}

pub(in crate::routes) const LIST: Operation = Operation::new("list_devices", "Lists the paired devices.")
    .explained("The owner gets full records; a device that may revoke gets what it needs to name one.")
    .gives::<Vec<DeviceRecord>>(200)
    .gives::<Vec<DeviceSummary>>(200);
