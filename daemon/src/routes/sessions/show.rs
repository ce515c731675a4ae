//! `GET /v1/sessions/{id}`

use axum::Json;
use pairing::View;
use protocol::sessions::Session;
use server::{App, Operation, Permitted, extract::Path};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn show(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Path(id): Path<String>,
) -> Result<Json<Session>, SessionError> {
    app.sessions.drawn_again(Some(&id)).await;
    app.sessions.find(&id)?.show(&permit).map(Json)
}

pub(crate) const SHOW: Operation = Operation::new("show_session", "Shows a session as lists do.")
    .about(SESSION)
    .gives::<Session>(200)
    .fails(|| problems([SessionError::NotFound]));
