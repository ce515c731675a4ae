//! `POST /v1/sessions/{id}/note`

use axum::Json;
use pairing::marker::Note;
use protocol::sessions::{NewNote, Session};
use server::{
    App, Permitted,
    extract::{self, Path},
};

use super::whole;
use crate::sessions::SessionError;

pub(crate) async fn note(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Note>,
    Path(id): Path<String>,
    extract::Json(new): extract::Json<NewNote>,
) -> Result<Json<Session>, SessionError> {
    let session = app.sessions.find(&id)?;
    let noted = whole(async move { session.note(&permit, new).await });
    noted.await.map(Json)
}
