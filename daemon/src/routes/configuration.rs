//! `GET /v1/configuration`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::Configured;
use server::{App, Operation, Permitted};

pub(crate) async fn configuration(
    App(app): App<crate::app::App>,
    Permitted(_): Permitted<DaemonManage>,
) -> Json<Vec<Configured>> {
    Json(app.run.reloads.in_force().await)
}

pub(crate) const CONFIGURATION: Operation = Operation::new(
    "configuration",
    "Shows the values that the daemon goes by, and where each came from.",
)
.gives::<Vec<Configured>>(200);
