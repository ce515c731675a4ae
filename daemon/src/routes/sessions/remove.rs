//! `DELETE /v1/sessions/{id}?purge=`

use axum::Json;
use pairing::Manage;
use protocol::sessions::{RemoveQuery, Session};
use server::{
    App, Peer, Permitted,
    extract::{Path, Query},
};

use super::whole;
use crate::sessions::SessionError;

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
