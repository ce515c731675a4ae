//! `GET /v1/devices/self`: the device's own record.

use std::sync::Arc;

use axum::Json;
use pairing::marker::OwnRecord;
use protocol::access::DeviceRecord;

use super::record;
use crate::{
    access::Access,
    error::Failure,
    operation::{Operation, problems},
    router::{App, Permitted},
};

pub(crate) async fn show(
    App(access): App<Arc<Access>>,
    permit: Permitted<OwnRecord>,
) -> Result<Json<DeviceRecord>, Failure> {
    let id = permit
        .0
        .principal()
        .device_id()
        .ok_or(Failure::NotFound("there is no record of you"))?;
    let devices = access.devices();
    let device = devices.get(id).ok_or(Failure::Ended)?;
    Ok(Json(record(&access, &devices, device)))
}

pub(in crate::routes) const SHOW: Operation =
    Operation::new("show_own_device", "Shows the calling device its own record.")
        .gives::<DeviceRecord>(200)
        .fails(|| problems([Failure::NotFound("there is no record of you")]));
