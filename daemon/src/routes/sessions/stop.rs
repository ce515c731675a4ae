//! `POST /v1/sessions/{id}/stop`

use std::time::Duration;

use axum::Json;
use pairing::Manage;
use protocol::sessions::Stopped;
use server::{App, Operation, Peer, Permitted, extract::Path};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn stop(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Manage>,
    peer: Peer,
    Path(id): Path<String>,
) -> Result<Json<Stopped>, SessionError> {
    let session = app.sessions.find(&id)?.stop(&permit, &peer).await?;
    Ok(Json(Stopped { session }))
}

pub(crate) const STOP: Operation =
    Operation::new("stop_session", "Ends the program, and all that it started.")
        .about(SESSION)
        .gives::<Stopped>(200)
        .fails(|| {
            problems([
                SessionError::NotFound,
                SessionError::Deleted("notes".to_owned()),
                SessionError::OutOfReach,
                SessionError::NotStopped,
                SessionError::TooMuch {
                    retry_after: Duration::from_secs(60),
                },
            ])
        });
