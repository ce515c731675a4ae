//! `POST /v1/sessions/{id}/restore`

use axum::Json;
use pairing::Manage;
use protocol::sessions::Session;
use server::{App, Peer, Permitted, extract::Path};

use super::whole;
use crate::sessions::SessionError;

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
