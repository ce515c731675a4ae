//! `DELETE /v1/devices/self`: a device ends itself.

use std::sync::Arc;

use axum::response::Response;
use pairing::marker::OwnRecord;
use protocol::access::Revoked;

use super::answer;
use crate::{
    access::Access,
    audit::action,
    error::Failure,
    operation::{Operation, problems},
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

pub(in crate::routes) const SIGN_OUT: Operation =
    Operation::new("sign_out", "The calling device ends itself.")
        .explained("What `revoke_device` does, to oneself: the answer is the last thing on this connection.")
        .gives::<Revoked>(200)
        .fails(|| {
            problems([
                Failure::NotFound("there is no record of you"),
                Failure::RevokedInMemoryOnly,
            ])
        });
