//! `GET /v1/sessions/{id}/output?from=&limit=`

use axum::Json;
use pairing::View;
use protocol::sessions::{Output, OutputQuery};
use server::{
    App, Operation, Permitted,
    extract::{Path, Query},
};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn output(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Path(id): Path<String>,
    Query(query): Query<OutputQuery>,
) -> Result<Json<Output>, SessionError> {
    app.sessions.find(&id)?.output(&permit, query).await.map(Json)
}

pub(crate) const OUTPUT: Operation = Operation::new("read_output", "Reads output by offset.")
    .about(SESSION)
    .asks::<OutputQuery>()
    .gives::<Output>(200)
    .fails(|| {
        problems([
            SessionError::NotFound,
            SessionError::Deleted("notes".to_owned()),
            SessionError::OutOfReach,
            SessionError::Stored(std::io::ErrorKind::NotFound.into()),
        ])
    });
