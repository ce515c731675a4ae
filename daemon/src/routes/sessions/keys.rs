//! `POST /v1/sessions/{id}/keys`

use http::StatusCode;
use pairing::Write;
use protocol::sessions::Keys;
use server::{
    App, Peer, Permitted,
    extract::{Json, Path},
};

use crate::sessions::SessionError;

pub(crate) async fn keys(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Write>,
    peer: Peer,
    Path(id): Path<String>,
    Json(wish): Json<Keys>,
) -> Result<StatusCode, SessionError> {
    app.sessions.find(&id)?.press(permit, &peer, &wish.keys).await?;
    Ok(StatusCode::NO_CONTENT)
}
