//! `GET /v1/sessions`

use axum::Json;
use pairing::View;
use protocol::sessions::Session;
use server::{App, Permitted};

pub(crate) async fn list(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
) -> Json<Vec<Session>> {
    Json(app.sessions.list(&permit))
}
