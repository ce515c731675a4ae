//! `GET /v1/health`: what anybody may know, and no more.

use std::sync::Arc;

use axum::Json;
use protocol::access::Health;

use crate::{access::Access, router::App};

pub(crate) async fn show(App(access): App<Arc<Access>>) -> Json<Health> {
    Json(Health {
        status: "ok".to_owned(),
        version: access.config.version.clone(),
        instance: access.instance.clone(),
    })
}
