//! `POST /v1/sessions/{id}/note`

use axum::Json;
use pairing::marker::Note;
use protocol::sessions::{NewNote, Session};
use server::{
    App, Operation, Permitted,
    extract::{self, Path},
};

use super::whole;
use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

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

pub(crate) const NOTE: Operation = Operation::new(
    "leave_note",
    "Leaves a line on a session, or, with an empty text, takes it away.",
)
.about(SESSION)
.takes::<NewNote>()
.gives::<Session>(200)
.fails(|| {
    problems([
        SessionError::NotFound,
        SessionError::Deleted("notes".to_owned()),
        SessionError::MalformedNote(101),
        SessionError::Ending,
        SessionError::NotSaved,
    ])
});
