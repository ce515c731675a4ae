//! `DELETE /v1/devices/{id}`: ends a device and everything that it has open.

use std::sync::Arc;

use axum::response::Response;
use pairing::{DeviceId, RevokeError, marker::DeviceRevoke};
use protocol::access::Revoked;

use super::answer;
use crate::{
    access::Access,
    audit::action,
    error::Failure,
    extract::Path,
    operation::{DEVICE, Operation, problems},
    revocation::{self, Revoker},
    router::{App, On, Permitted},
};

pub(crate) async fn revoke(
    App(access): App<Arc<Access>>,
    permit: Permitted<DeviceRevoke>,
    On(connection): On,
    Path(id): Path<DeviceId>,
) -> Result<Response, Failure> {
    let by = Revoker {
        authenticated: permit.0.authenticated().clone(),
        connection,
        action: action::DEVICE_REVOKED,
    };
    revocation::revoke(&access, by, id).await.map(answer)
}

pub(in crate::routes) const REVOKE: Operation =
    Operation::new("revoke_device", "Ends a device and everything that it has open.")
        .explained("Once it answers, not a byte leaves for that device any more.")
        .about(DEVICE)
        .gives::<Revoked>(200)
        .fails(|| {
            let mut all = problems([RevokeError::UnknownDevice, RevokeError::NotPermitted]);
            all.extend(problems([Failure::RevokedInMemoryOnly]));
            all
        });
