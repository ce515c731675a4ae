//! `PATCH /v1/sessions/{id}`

use axum::Json;
use pairing::Manage;
use protocol::sessions::{Session, SessionChanges};
use server::{
    App, Peer, Permitted,
    extract::{self, Path},
};

use super::whole;
use crate::sessions::SessionError;

pub(crate) async fn change(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Manage>,
    peer: Peer,
    Path(id): Path<String>,
    extract::Json(changes): extract::Json<SessionChanges>,
) -> Result<Json<Session>, SessionError> {
    let session = app.sessions.find(&id)?;
    let changed = whole(async move { session.change(&permit, &peer, changes).await });
    changed.await.map(Json)
}
