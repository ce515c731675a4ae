//! `POST /v1/sessions/{id}/restore`

use axum::Json;
use pairing::Manage;
use protocol::sessions::Session;
use server::{App, Operation, Peer, Permitted, extract::Path};

use super::whole;
use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn restore(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Manage>,
    peer: Peer,
    Path(id): Path<String>,
) -> Result<Json<Session>, SessionError> {
    let session = app.sessions.find(&id)?;
    let restored = whole(async move { session.restore(&permit, &peer).await });
    restored.await.map(Json)
}

pub(crate) const RESTORE: Operation = Operation::new(
    "restore_session",
    "Takes the deletion of a session back; its program stays ended.",
)
.about(SESSION)
.gives::<Session>(200)
.fails(|| {
    problems([
        SessionError::NotFound,
        SessionError::NotDeleted,
        SessionError::Ending,
        SessionError::NotSaved,
        SessionError::StoreFailed,
    ])
});
