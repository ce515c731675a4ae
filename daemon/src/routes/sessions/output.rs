//! `GET /v1/sessions/{id}/output?from=&limit=`

use axum::Json;
use pairing::View;
use protocol::sessions::{Output, OutputQuery};
use server::{
    App, Permitted,
    extract::{Path, Query},
};

use crate::sessions::SessionError;

pub(crate) async fn output(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Path(id): Path<String>,
    Query(query): Query<OutputQuery>,
) -> Result<Json<Output>, SessionError> {
    app.sessions.find(&id)?.output(&permit, query).await.map(Json)
}
