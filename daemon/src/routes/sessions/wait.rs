//! `GET /v1/sessions/{id}/wait?idle_ms=&text=&timeout_ms=`

use axum::Json;
use pairing::View;
use protocol::sessions::{WaitQuery, Waited};
use server::{
    App, On, Permitted,
    extract::{Path, Query},
};

use crate::sessions::SessionError;

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
