//! `POST /v1/sessions`

use std::{io::ErrorKind, time::Duration};

use axum::Json;
use http::StatusCode;
use pairing::Manage;
use protocol::sessions::{NewSession, Session};
use server::{App, Operation, Peer, Permitted, extract};
use terminal::SpawnError;

use super::whole;
use crate::sessions::{MalformedName, SessionError, problems};

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

pub(crate) const CREATE: Operation = Operation::new("create_session", "Starts a program in a new session.")
    .explained("It answers once the program was seen running.")
    .takes::<NewSession>()
    .gives::<Session>(201)
    .fails(|| {
        problems([
            SessionError::MalformedName(MalformedName("-x".to_owned())),
            SessionError::NameTaken("notes".to_owned()),
            SessionError::TooMany(64),
            SessionError::NoRoom(64),
            SessionError::ForeignEnvironment,
            SessionError::RelativeDirectory("notes".to_owned()),
            SessionError::ForeignTrust,
            SessionError::TooLarge {
                what: "labels",
                given: 65,
                most: 64,
            },
            SessionError::MalformedLabel(String::new()),
            SessionError::TooMuch {
                retry_after: Duration::from_secs(60),
            },
            SessionError::Ending,
            SessionError::NotSaved,
            SessionError::StoreFailed,
            SpawnError::Malformed { what: "an argument" }.into(),
            SpawnError::Directory {
                path: "/gone".into(),
                source: ErrorKind::NotFound.into(),
            }
            .into(),
            SpawnError::NotFound {
                program: "frobnicate".into(),
            }
            .into(),
            SpawnError::NotExecutable {
                path: "/etc/passwd".into(),
            }
            .into(),
            SpawnError::System {
                what: "open a terminal",
                source: ErrorKind::OutOfMemory.into(),
            }
            .into(),
        ])
    });
