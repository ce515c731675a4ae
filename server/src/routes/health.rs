//! `GET /v1/health`: what anybody may know, and no more.

use std::sync::Arc;

use axum::Json;
use protocol::access::Health;

use crate::{access::Access, operation::Operation, router::App};

pub(crate) async fn show(App(access): App<Arc<Access>>) -> Json<Health> {
    Json(Health {
        status: "ok".to_owned(),
        version: access.config.version.clone(),
        instance: access.instance.clone(),
    })
}

pub(in crate::routes) const SHOW: Operation =
    Operation::new("health", "Says that the daemon runs, and which it is.").gives::<Health>(200);
