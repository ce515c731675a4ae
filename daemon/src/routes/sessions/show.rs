//! `GET /v1/sessions/{id}`

use axum::Json;
use pairing::View;
use protocol::sessions::Session;
use server::{App, Permitted, extract::Path};

use crate::sessions::SessionError;

pub(crate) async fn show(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Path(id): Path<String>,
) -> Result<Json<Session>, SessionError> {
    app.sessions.drawn_again(Some(&id)).await;
    app.sessions.find(&id)?.show(&permit).map(Json)
}
