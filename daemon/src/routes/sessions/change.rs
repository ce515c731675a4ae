//! `PATCH /v1/sessions/{id}`

use axum::Json;
use pairing::Manage;
use protocol::sessions::{Session, SessionChanges};
use server::{
    App, Operation, Peer, Permitted,
    extract::{self, Path},
};

use super::whole;
use crate::routes::SESSION;
use crate::sessions::{MalformedName, SessionError, problems};

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

pub(crate) const CHANGE: Operation =
    Operation::new("change_session", "Gives a session another name or other labels.")
        .about(SESSION)
        .takes::<SessionChanges>()
        .gives::<Session>(200)
        .fails(|| {
            problems([
                SessionError::NotFound,
                SessionError::Deleted("notes".to_owned()),
                SessionError::MalformedName(MalformedName("-x".to_owned())),
                SessionError::NameTaken("notes".to_owned()),
                SessionError::TooLarge {
                    what: "labels",
                    given: 65,
                    most: 64,
                },
                SessionError::MalformedLabel(String::new()),
                SessionError::Ending,
                SessionError::NotSaved,
                SessionError::StoreFailed,
            ])
        });
