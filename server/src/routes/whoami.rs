//! `GET /v1/whoami`: which principal asks, and what it may do.

use std::sync::Arc;

use axum::Json;
use pairing::{Principal, Scope, marker::Any};
use protocol::access::{PrincipalKind, WhoAmI};

use crate::{
    access::Access,
    error::Failure,
    operation::Operation,
    router::{App, Permitted},
};

pub(crate) async fn show(
    App(access): App<Arc<Access>>,
    permit: Permitted<Any>,
) -> Result<Json<WhoAmI>, Failure> {
    let principal = permit.0.principal();
    let (kind, role) = match principal {
        Principal::Owner => (PrincipalKind::Owner, None),
        Principal::Session(_) => (PrincipalKind::Session, None),
        Principal::Device { role, .. } => (PrincipalKind::Device, Some(*role)),
        Principal::Guest(_) => (PrincipalKind::Guest, None),
        Principal::Nobody => return Err(Failure::Unauthenticated),
    };
    let device_id = principal.device_id();
    let label = device_id.and_then(|id| access.devices().get(id).map(|device| device.label.to_string()));
    let allowed = Scope::ALL.into_iter().filter(|scope| principal.allows(*scope));
    Ok(Json(WhoAmI {
        principal: kind,
        session_id: match principal {
            Principal::Session(session) => Some(session.to_string()),
            _ => None,
        },
        device_id,
        label,
        role,
        scopes: allowed
            .map(|scope| scope.name(access.config.noun).into_owned())
            .collect(),
        instance: access.instance.clone(),
        life: access.config.life.clone(),
        app: access.config.app.clone(),
    }))
}

pub(in crate::routes) const SHOW: Operation =
    Operation::new("whoami", "Says which principal asks, and what it may do.").gives::<WhoAmI>(200);
