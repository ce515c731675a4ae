//! Why something was not done with a session, and what the wire says of it.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use protocol::Problem;
use terminal::SpawnError;

use super::{keys::UnknownKey, name::MalformedName};

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
    /// Somebody from elsewhere sent an environment.
    #[error("an environment can be passed on the daemon's machine only")]
    ForeignEnvironment,
    /// The directory is relative, and nobody can say to what.
    #[error("the directory `{0}` is not an absolute path")]
    RelativeDirectory(String),
    /// Somebody else than the owner wants a session whose programs are the owner.
    #[error("a trusted session can be made by the owner only")]
    ForeignTrust,
    /// More of something than we remember or read.
    #[error("{given} {what} are too many: at most {most} are taken")]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many may be.
        most: usize,
    },
    /// More lines are asked for than are shown at once.
    #[error("{given} lines are too many: at most {most} are shown")]
    TooManyLines {
        /// How many were asked for.
        given: usize,
        /// How many may be.
        most: usize,
    },
    /// A label has no name, or control characters.
    #[error("`{0}` cannot be a label")]
    MalformedLabel(String),
    /// A note is long or has invisible characters; it has so many bytes.
    #[error("a note is one line of at most 100 bytes without invisible characters, and this has {0} bytes")]
    MalformedNote(usize),
    /// Neither text nor bytes, or both.
    #[error("exactly one of `text` and `data` is typed")]
    AmbiguousInput,
    /// A key that is none.
    #[error(transparent)]
    UnknownKey(#[from] UnknownKey),
    /// What the keeper holds of a session could not be taken over yet.
    #[error("the daemon cannot reach this session's program yet, which may run; it goes on trying")]
    OutOfReach,
    /// There is no program to be typed to.
    #[error("the session's program has ended")]
    ProgramEnded,
    /// The program takes no input, and there is no more room for it.
    #[error("the program takes no input; a part of this may have reached it")]
    InputStuck,
    /// Some of a session's processes could not be ended.
    #[error("some of what this session started could not be ended, and runs on")]
    NotStopped,
    /// The regular expression is none, or too large.
    #[error("the text is not a regular expression: {0}")]
    MalformedPattern(String),
    /// A wait is longer than waits are.
    #[error("a wait lasts an hour at most")]
    WaitTooLong,
    /// Nothing of what was waited for came true.
    #[error("nothing came of it within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The daemon ends, and with it the wait.
    #[error("the daemon ends")]
    Ending,
    /// A change was made, and could not be written.
    #[error(
        "this was done, and could not be written to the disk: after a restart of the daemon it is as before"
    )]
    NotSaved,
    /// What the disk has of a session cannot be had.
    #[error("what is kept of this session cannot be read: {0}")]
    Stored(std::io::Error),
    /// So many sessions run that the disk's share would not be enough for one more.
    #[error("{0} sessions run, and there is no room on disk for the output of one more")]
    NoRoom(usize),
    /// The shell does not mark its commands.
    #[error("this session's shell has marked no command")]
    NoMarks,
    /// The session was deleted, and can be restored.
    #[error("the session `{0}` was deleted")]
    Deleted(String),
    /// The session was not deleted.
    #[error("the session was not deleted")]
    NotDeleted,
    /// The program was not started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The principal ended, or its role changed, while its wish was on the way.
    #[error("this authentication has ended")]
    Ended,
    /// A guest has a screen drawn already, or waits for its turn.
    #[error("another screen is drawn for this guest, from its invitation on")]
    DrawsAlready,
    /// A guest asks about a screen that shows more than it may see.
    #[error("a guest sees what is printed from its invitation on, and not what the screen shows of before")]
    FromNowOn,
    /// The principal created, stopped and deleted so much that its rows would fill the audit trail.
    #[error("so many sessions were created, stopped or deleted from there that the next has to wait")]
    TooMuch {
        /// How long.
        retry_after: Duration,
    },
    /// The audit row could not be written, so nothing was done.
    #[error("the daemon could not write its store, so nothing was done")]
    StoreFailed,
}

impl SessionError {
    /// What the wire says.
    pub(crate) fn problem(&self) -> Problem {
        let (status, code, hint) = self.row();
        let mut problem = Problem::new(status, code, self.to_string(), hint);
        if let Self::TooMuch { retry_after } = self {
            let whole = retry_after.as_millis().div_ceil(1_000);
            problem.retry_after = Some(u32::try_from(whole).unwrap_or(u32::MAX));
        }
        problem
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
            Self::TooMuch { .. } => (429, "too_many_changes", "ask again after `retry_after` seconds"),
            Self::ForeignEnvironment => (
                403,
                "foreign_environment",
                "leave `env` out: the session gets the daemon's",
            ),
            Self::RelativeDirectory(_) => (400, "relative_directory", "name the directory from `/` on"),
            Self::DrawsAlready => (429, "drawing", "wait for the answer to the request before"),
            Self::FromNowOn => (403, "not_permitted", "wait for silence, or read the output"),
            Self::ForeignTrust => (403, "foreign_trust", "leave `trusted` out"),
            Self::TooLarge { .. } => (400, "too_large", "send less"),
            Self::TooManyLines { .. } => (400, "too_large", "ask for fewer"),
            Self::MalformedLabel(_) => (
                400,
                "malformed_label",
                "give each label a name, and use no control or other invisible characters",
            ),
            Self::MalformedNote(_) => (
                400,
                "malformed_note",
                "shorten it, and leave control and direction characters out",
            ),
            Self::AmbiguousInput => (400, "ambiguous_input", "send `text`, or `data` in base64url"),
            Self::UnknownKey(_) => (400, "unknown_key", KEYS_HINT),
            Self::OutOfReach => (503, "out_of_reach", OUT_OF_REACH_HINT),
            Self::ProgramEnded => (409, "program_ended", "start another session"),
            Self::InputStuck => (409, "input_stuck", "wait until the program reads, or stop it"),
            Self::NotStopped => (
                409,
                "not_stopped",
                "what became another user's (`sudo`) is ended by that user; ask again then",
            ),
            Self::MalformedPattern(_) => (
                400,
                "malformed_pattern",
                "the syntax is that of Rust's regex: no look-around, no back-references",
            ),
            Self::WaitTooLong => (400, "wait_too_long", "wait again when it is over"),
            Self::TimedOut(_) => (504, "timed_out", "wait longer, or look at its screen"),
            Self::Ending => (503, "ending", "ask again when the daemon is back"),
            Self::NotSaved => (503, "not_saved", "make room on the disk, and do it again"),
            Self::Stored(_) => (503, "no_resources", "see the daemon's log"),
            Self::NoRoom(_) => (
                507,
                "no_room",
                "stop some, raise sessions.disk or lower sessions.scrollback_disk in the configuration",
            ),
            Self::NoMarks => (
                409,
                "no_marks",
                "put what `transom shell-init` prints into the shell's start file",
            ),
            Self::Deleted(_) => (410, "session_deleted", "`transom restore` brings it back"),
            Self::NotDeleted => (409, "not_deleted", "there is nothing to restore"),
            Self::Spawn(error) => of_spawn(error),
            Self::Ended => (401, "authentication_ended", "ask again"),
            Self::StoreFailed => (
                503,
                "store_failed",
                "see the daemon's log: is the disk full or read-only?",
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

/// What the wire says of these.
pub(crate) fn problems(errors: impl IntoIterator<Item = SessionError>) -> Vec<Problem> {
    errors.into_iter().map(|error| error.problem()).collect()
}

impl IntoResponse for SessionError {
    fn into_response(self) -> Response {
        server::error::answer(&self.problem())
    }
}

const KEYS_HINT: &str = "keys are called like C-c, M-x, S-Tab, Up, F5, Enter, or are one character";
const OUT_OF_REACH_HINT: &str = "`transom ls` says why; where descriptors are short, stop other sessions or raise the daemon's `ulimit -n`";
