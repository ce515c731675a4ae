//! `GET /v1/certificates`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::certificates::Certificates;
use server::{App, Permitted};

pub(crate) async fn show(
    App(app): App<crate::app::App>,
    Permitted(_): Permitted<DaemonManage>,
) -> Json<Certificates> {
    Json(app.run.doors.certificates().show())
}
