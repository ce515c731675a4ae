//! `GET /v1/sessions/{id}/wait?idle_ms=&text=&timeout_ms=`

use std::time::Duration;

use axum::Json;
use pairing::View;
use protocol::sessions::{WaitQuery, Waited};
use server::{
    App, On, Operation, Permitted,
    extract::{Path, Query},
};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn wait(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    On(connection): On,
    Path(id): Path<String>,
    Query(query): Query<WaitQuery>,
) -> Result<Json<Waited>, SessionError> {
    let session = app.sessions.find(&id)?;
    tokio::select! {
        biased;
        () = connection.revoked() => Err(SessionError::Ended),
        () = connection.ending() => Err(SessionError::Ending),
        waited = session.wait(&permit, query) => waited.map(Json),
    }
}

pub(crate) const WAIT: Operation = Operation::new(
    "wait_for_session",
    "Waits for the end of the program, for silence, or for a line.",
)
.about(SESSION)
.asks::<WaitQuery>()
.gives::<Waited>(200)
.fails(|| {
    problems([
        SessionError::NotFound,
        SessionError::Deleted("notes".to_owned()),
        SessionError::OutOfReach,
        SessionError::Stored(std::io::ErrorKind::NotFound.into()),
        SessionError::WaitTooLong,
        SessionError::FromNowOn,
        SessionError::MalformedPattern("unclosed group".to_owned()),
        SessionError::TooLarge {
            what: "bytes of text",
            given: 1_025,
            most: 1_024,
        },
        SessionError::DrawsAlready,
        SessionError::TimedOut(Duration::from_secs(10)),
        SessionError::Ending,
    ])
});
