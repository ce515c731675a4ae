//! `POST /v1/devices/self/pin`: the device has kept the pin that comes next.

use std::sync::Arc;

use http::StatusCode;
use pairing::marker::OwnRecord;
use protocol::access::KeptPin;

use crate::{
    access::Access,
    error::Failure,
    extract,
    operation::{Operation, problems},
    router::{App, Permitted},
};

pub(crate) async fn keep(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<OwnRecord>,
    extract::Json(body): extract::Json<KeptPin>,
) -> Result<StatusCode, Failure> {
    let id = permit
        .principal()
        .device_id()
        .ok_or(Failure::NotFound("there is no record of you"))?;
    let is_next = body.next_pin.parse().is_ok_and(|pin| access.note_kept(id, pin));
    match is_next {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Failure::malformed("this is not the pin that was announced")),
    }
}

pub(in crate::routes) const KEEP: Operation =
    Operation::new("keep_next_pin", "The calling device says that it has kept the pin that comes next.")
    .explained("`next_pin` of `prove` announces it; a device that kept it is known again after the identity key was rotated.")
    .takes::<KeptPin>()
    .gives_nothing(204)
    .fails(|| problems([Failure::NotFound("there is no record of you")]));
