//! `GET /v1/sessions/{id}/screen?format=&lines=&before=&last_command=`

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::View;
use protocol::sessions::{Line, Screen, ScreenFormat, ScreenQuery};
use server::{
    App, Operation, Permitted,
    extract::{Path, Query},
};

use crate::routes::SESSION;
use crate::sessions::{SessionError, problems};

pub(crate) async fn screen(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    Path(id): Path<String>,
    Query(query): Query<ScreenQuery>,
) -> Result<Response, SessionError> {
    let screen = app.sessions.find(&id)?.screen(&permit, query).await?;
    // Of a command's output it is the lines that count, not where the screen broke them.
    let breaks_count = !query.last_command;
    Ok(match query.format {
        ScreenFormat::Json => Json(screen).into_response(),
        ScreenFormat::Text => joined(&screen.lines, breaks_count, |line| &line.text).into_response(),
        ScreenFormat::Ansi => joined(&screen.lines, breaks_count, |line| &line.ansi).into_response(),
    })
}

/// The lines up to the last that has text, each ended.
fn joined(lines: &[Line], breaks_count: bool, part: impl Fn(&Line) -> &str) -> String {
    let length = lines.iter().rposition(|line| !line.text.is_empty());
    let mut all = String::new();
    for line in &lines[..length.map_or(0, |last| last + 1)] {
        all.push_str(part(line));
        if breaks_count || !line.wrapped {
            all.push('\n');
        }
    }
    all
}

pub(crate) const SCREEN: Operation = Operation::new(
    "read_screen",
    "Reads the screen, or lines of scrollback, as text or as JSON.",
)
.about(SESSION)
.asks::<ScreenQuery>()
.gives::<Screen>(200)
.gives_other(200, "text/plain")
.fails(|| {
    problems([
        SessionError::NotFound,
        SessionError::Deleted("notes".to_owned()),
        SessionError::OutOfReach,
        SessionError::Stored(std::io::ErrorKind::NotFound.into()),
        SessionError::TooManyLines {
            given: 10_001,
            most: 10_000,
        },
        SessionError::NoMarks,
        SessionError::DrawsAlready,
    ])
});
