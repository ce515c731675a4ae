//! `DELETE /v1/devices/{id}`: ends a device and everything that it has open.

use std::sync::Arc;

use axum::response::Response;
use pairing::{DeviceId, marker::DeviceRevoke};

use super::answer;
use crate::{
    access::Access,
    audit::action,
    error::Failure,
    extract::Path,
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
