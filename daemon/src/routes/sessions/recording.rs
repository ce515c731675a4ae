//! `GET /v1/sessions/{id}/recording`

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::header;
use pairing::View;
use server::{App, On, Operation, Permitted, extract::Path};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn recording(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    On(connection): On,
    Path(id): Path<String>,
) -> Result<Response, SessionError> {
    let session = app.sessions.find(&id)?;
    let recording = session.recording(permit).await?;
    // What breaks off must not look whole: an error is the end of the connection, and no end of the body.
    let lines = stream::try_unfold((recording, connection), async |(mut recording, connection)| {
        let lines = tokio::select! {
            biased;
            () = connection.revoked() => Err(SessionError::Ended),
            () = connection.ending() => Err(SessionError::Ending),
            lines = recording.next() => lines,
        };
        Ok::<_, SessionError>(lines?.map(|lines| (Bytes::from(lines), (recording, connection))))
    });
    let headers = [(header::CONTENT_TYPE, KIND)];
    Ok((headers, Body::from_stream(lines)).into_response())
}

const KIND: &str = "application/x-asciicast";

pub(crate) const RECORDING: Operation =
    Operation::new("read_recording", "Reads all output that is kept as an asciicast.")
        .about(SESSION)
        .gives_other(200, KIND)
        .fails(|| {
            problems([
                SessionError::NotFound,
                SessionError::Deleted("notes".to_owned()),
                SessionError::OutOfReach,
                SessionError::Stored(std::io::ErrorKind::NotFound.into()),
            ])
        });
