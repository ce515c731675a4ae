//! `POST /v1/sessions/{id}/size`

use axum::Json;
use pairing::Write;
use protocol::sessions::{Session, Size};
use server::{
    App, Permitted,
    extract::{self, Path},
};

use crate::sessions::SessionError;

pub(crate) async fn size(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Write>,
    Path(id): Path<String>,
    extract::Json(size): extract::Json<Size>,
) -> Result<Json<Session>, SessionError> {
    let size = terminal::Size::new(size.columns, size.rows);
    app.sessions.find(&id)?.resize(&permit, size).map(Json)
}
