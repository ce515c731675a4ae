//! `DELETE /v1/sessions/{id}?purge=`

use std::time::Duration;

use axum::Json;
use pairing::Manage;
use protocol::sessions::{RemoveQuery, Session};
use server::{
    App, Operation, Peer, Permitted,
    extract::{Path, Query},
};

use super::whole;
use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn remove(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Manage>,
    peer: Peer,
    Path(id): Path<String>,
    Query(query): Query<RemoveQuery>,
) -> Result<Json<Session>, SessionError> {
    let session = app.sessions.find(&id)?;
    let removed = whole(async move { session.remove(&permit, &peer, query.purge).await });
    removed.await.map(Json)
}

pub(crate) const REMOVE: Operation = Operation::new(
    "delete_session",
    "Stops a session and deletes it, in 24 hours or, with `purge`, at once.",
)
.about(SESSION)
.asks::<RemoveQuery>()
.gives::<Session>(200)
.fails(|| {
    problems([
        SessionError::NotFound,
        SessionError::Deleted("notes".to_owned()),
        SessionError::OutOfReach,
        SessionError::NotStopped,
        SessionError::TooMuch {
            retry_after: Duration::from_secs(60),
        },
        SessionError::Ending,
        SessionError::NotSaved,
    ])
});
