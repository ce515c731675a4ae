//! `POST /v1/sessions/{id}/input`

use http::StatusCode;
use pairing::Write;
use protocol::sessions::Input;
use server::{
    App, Operation, Peer, Permitted,
    extract::{Json, Path},
};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn input(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<Write>,
    peer: Peer,
    Path(id): Path<String>,
    Json(input): Json<Input>,
) -> Result<StatusCode, SessionError> {
    app.sessions.find(&id)?.input(permit, &peer, input).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) const INPUT: Operation = Operation::new("type_text", "Types text or bytes into the program.")
    .about(SESSION)
    .takes::<Input>()
    .gives_nothing(204)
    .fails(|| {
        problems([
            SessionError::NotFound,
            SessionError::Deleted("notes".to_owned()),
            SessionError::AmbiguousInput,
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
