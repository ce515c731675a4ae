//! Why something was not done with a session, and what the wire says of it.

use axum::response::{IntoResponse, Response};
use protocol::Problem;
use terminal::SpawnError;

use super::name::MalformedName;

/// Why something was not done with a session. What `Display` says is the `detail` of the answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// No session has this id, or the permit is not about it.
    #[error("there is no session of that id")]
    NotFound,
    /// The name is not one.
    #[error(transparent)]
    MalformedName(#[from] MalformedName),
    /// A live session has the name.
    #[error("a live session is called `{0}`")]
    NameTaken(String),
    /// There are as many live sessions as may be.
    #[error("{0} sessions run, and no more may")]
    TooMany(usize),
    /// Somebody else than the owner sent an environment.
    #[error("an environment can be passed by the owner only")]
    ForeignEnvironment,
    /// The directory is relative, and nobody can say to what.
    #[error("the directory `{0}` is not an absolute path")]
    RelativeDirectory(String),
    /// The program was not started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The principal ended, or its role changed, while its wish was on the way.
    #[error("this authentication has ended")]
    Ended,
    /// The audit row could not be written, so nothing was done.
    #[error("the daemon could not write its store, so nothing was done")]
    StoreFailed,
    /// Programs run that would end with the daemon.
    #[error("{} would end with the daemon: {}", counted(.0.len()), .0.join(", "))]
    StillRunning(Vec<String>),
}

impl SessionError {
    /// What the wire says.
    pub(crate) fn problem(&self) -> Problem {
        let (status, code, hint) = self.row();
        Problem::new(status, code, self.to_string(), hint)
    }

    /// The table: status, code and hint of each.
    fn row(&self) -> (u16, &'static str, &'static str) {
        match self {
            Self::NotFound => (404, "session_not_found", "`transom ls` lists the sessions"),
            Self::MalformedName(_) => (
                400,
                "malformed_name",
                "use up to 48 letters, digits, `-`, `_` and `.`, beginning with a letter or digit",
            ),
            Self::NameTaken(_) => (409, "name_taken", "choose another name, or stop that session"),
            Self::TooMany(_) => (
                429,
                "too_many_sessions",
                "stop some, or raise sessions.max in the configuration",
            ),
            Self::ForeignEnvironment => (
                403,
                "foreign_environment",
                "leave `env` out: the session gets the daemon's",
            ),
            Self::RelativeDirectory(_) => (400, "relative_directory", "name the directory from `/` on"),
            Self::Spawn(error) => of_spawn(error),
            Self::Ended => (401, "authentication_ended", "ask again"),
            Self::StoreFailed => (
                503,
                "store_failed",
                "see the daemon's log: is the disk full or read-only?",
            ),
            Self::StillRunning(_) => (
                409,
                "sessions_running",
                "`transom shutdown --sessions` stops them too",
            ),
        }
    }
}

fn of_spawn(error: &SpawnError) -> (u16, &'static str, &'static str) {
    match error {
        SpawnError::Directory { .. } => (
            422,
            "directory_not_usable",
            "name a directory of the daemon's machine",
        ),
        SpawnError::NotFound { .. } => (
            422,
            "program_not_found",
            "name a program on the PATH, or its whole path",
        ),
        SpawnError::NotExecutable { .. } => (
            422,
            "program_not_executable",
            "make it executable, or name another",
        ),
        SpawnError::Malformed { .. } => (400, "malformed_command", "correct the command"),
        SpawnError::Exec { .. } => (
            422,
            "program_not_executable",
            "check the program and its interpreter",
        ),
        _ => (
            503,
            "no_resources",
            "see the daemon's log: is the machine out of processes or terminals?",
        ),
    }
}

fn counted(sessions: usize) -> String {
    if sessions == 1 {
        "a session".to_owned()
    } else {
        format!("{sessions} sessions")
    }
}

impl IntoResponse for SessionError {
    fn into_response(self) -> Response {
        server::error::answer(&self.problem())
    }
}
