//! `GET /v1/configuration`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::Configured;
use server::{App, Permitted};

pub(crate) async fn configuration(
    App(app): App<crate::app::App>,
    Permitted(_): Permitted<DaemonManage>,
) -> Json<Vec<Configured>> {
    Json(app.run.reloads.in_force().await)
}
