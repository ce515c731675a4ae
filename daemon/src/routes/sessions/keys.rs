//! `POST /v1/sessions/{id}/keys`

use http::StatusCode;
use pairing::Write;
use protocol::sessions::Keys;
use server::{
    App, Operation, Peer, Permitted,
    extract::{Json, Path},
};

use crate::routes::SESSION;
use crate::sessions::{SessionError, UnknownKey, problems};

pub(crate) async fn keys(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Write>,
    peer: Peer,
    Path(id): Path<String>,
    Json(wish): Json<Keys>,
) -> Result<StatusCode, SessionError> {
    app.sessions.find(&id)?.press(permit, &peer, &wish.keys).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) const KEYS: Operation = Operation::new("press_keys", "Presses keys by name.")
    .about(SESSION)
    .takes::<Keys>()
    .gives_nothing(204)
    .fails(|| {
        problems([
            SessionError::NotFound,
            SessionError::Deleted("notes".to_owned()),
            SessionError::UnknownKey(UnknownKey::Modifiers("C-F99".to_owned())),
            SessionError::TooLarge {
                what: "bytes of input",
                given: 8_388_608,
                most: 8_388_607,
            },
            SessionError::OutOfReach,
            SessionError::ProgramEnded,
            SessionError::InputStuck,
            SessionError::StoreFailed,
        ])
    });
