//! `POST /v1/sessions/{id}/stop`

use axum::Json;
use pairing::Manage;
use protocol::sessions::Stopped;
use server::{App, Peer, Permitted, extract::Path};

use crate::sessions::SessionError;

pub(crate) async fn stop(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Manage>,
    peer: Peer,
    Path(id): Path<String>,
) -> Result<Json<Stopped>, SessionError> {
    let session = app.sessions.find(&id)?.stop(&permit, &peer).await?;
    Ok(Json(Stopped { session }))
}
