//! `POST /v1/sessions/{id}/size`

use axum::Json;
use pairing::Write;
use protocol::sessions::{Session, Size};
use server::{
    App, Operation, Permitted,
    extract::{self, Path},
};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn size(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Write>,
    Path(id): Path<String>,
    extract::Json(size): extract::Json<Size>,
) -> Result<Json<Session>, SessionError> {
    let size = terminal::Size::new(size.columns, size.rows);
    app.sessions.find(&id)?.resize(&permit, size).map(Json)
}

pub(crate) const SIZE: Operation = Operation::new("resize_session", "Gives a session another size.")
    .about(SESSION)
    .takes::<Size>()
    .gives::<Session>(200)
    .fails(|| {
        problems([
            SessionError::NotFound,
            SessionError::Deleted("notes".to_owned()),
            SessionError::OutOfReach,
            SessionError::ProgramEnded,
        ])
    });
