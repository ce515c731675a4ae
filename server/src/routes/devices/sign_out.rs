//! `DELETE /v1/devices/self`: a device ends itself.

use std::sync::Arc;

use axum::response::Response;
use pairing::marker::OwnRecord;

use super::answer;
use crate::{
    access::Access,
    audit::action,
    error::Failure,
    revocation::{self, Revoker},
    router::{App, On, Permitted},
};

pub(crate) async fn sign_out(
    App(access): App<Arc<Access>>,
    permit: Permitted<OwnRecord>,
    On(connection): On,
) -> Result<Response, Failure> {
    let authenticated = permit.0.authenticated().clone();
    let id = authenticated
        .principal()
        .device_id()
        .ok_or(Failure::NotFound("there is no record of you"))?;
    revocation::revoke(
        &access,
        Revoker {
            authenticated,
            connection,
            action: action::DEVICE_SIGNED_OUT,
        },
        id,
    )
    .await
    .map(answer)
}
