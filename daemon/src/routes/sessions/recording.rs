//! `GET /v1/sessions/{id}/recording`

use std::convert::Infallible;

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::header;
use pairing::View;
use server::{App, On, Permitted, extract::Path};

use crate::sessions::SessionError;

pub(crate) async fn recording(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    On(connection): On,
    Path(id): Path<String>,
) -> Result<Response, SessionError> {
    let session = app.sessions.find(&id)?;
    let recording = session.recording(permit).await?;
    let lines = stream::unfold((recording, connection), async |(mut recording, connection)| {
        let lines = tokio::select! {
            biased;
            () = connection.revoked() => return None,
            () = connection.ending() => return None,
            lines = recording.next() => lines?,
        };
        Some((Ok::<_, Infallible>(Bytes::from(lines)), (recording, connection)))
    });
    let headers = [(header::CONTENT_TYPE, "application/x-asciicast")];
    Ok((headers, Body::from_stream(lines)).into_response())
}
