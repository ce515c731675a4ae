//! `POST /v1/sessions/{id}/input`

use http::StatusCode;
use pairing::Write;
use protocol::sessions::Input;
use server::{
    App, Peer, Permitted,
    extract::{Json, Path},
};

use crate::sessions::SessionError;

pub(crate) async fn input(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Write>,
    peer: Peer,
    Path(id): Path<String>,
    Json(input): Json<Input>,
) -> Result<StatusCode, SessionError> {
    app.sessions.find(&id)?.input(permit, &peer, input).await?;
    Ok(StatusCode::NO_CONTENT)
}
