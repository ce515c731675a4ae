//! `POST /v1/sessions`

use axum::Json;
use http::StatusCode;
use pairing::Manage;
use protocol::sessions::{NewSession, Session};
use server::{App, Peer, Permitted, extract};

use super::whole;
use crate::sessions::SessionError;

pub(crate) async fn create(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Manage>,
    peer: Peer,
    extract::Json(new): extract::Json<NewSession>,
) -> Result<(StatusCode, Json<Session>), SessionError> {
    let created = whole(async move { app.sessions.create(&permit, &peer, new).await });
    let session = created.await?;
    Ok((StatusCode::CREATED, Json(session)))
}
