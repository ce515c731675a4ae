//! The bodies of sessions.

mod views;
mod wishes;

pub use views::{Line, Output, OutputQuery, Screen, ScreenFormat, ScreenQuery, WaitQuery, Waited, WaitedFor};
pub use wishes::{Input, Keys, ListQuery, NewNote, RemoveQuery, SessionChanges};

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A size in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Columns, 1 to 1,000.
    pub columns: u16,
    /// Rows, 1 to 1,000.
    pub rows: u16,
}

/// `POST /v1/sessions`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// The program; looked up in the PATH that it will run with.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The working directory; absent: the home directory of the daemon's user.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The environment; absent: the daemon's own. Only the owner's is taken whole.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
    /// A name, unique among live sessions; absent: made from the command.
    #[serde(default)]
    pub name: Option<String>,
    /// The first size; absent: the configured one.
    #[serde(default)]
    pub size: Option<Size>,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Whether its programs are the owner; the owner alone may ask for it.
    #[serde(default)]
    pub trusted: bool,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Its program was seen running and has not ended.
    Running,
    /// Its program ended; `exit` says how.
    Exited,
    /// Its program cannot be reached any more, and how it ended is not known.
    Lost,
}

/// What a session wants of a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AttentionState {
    /// It is busy.
    Working,
    /// It waits for a person.
    Waiting,
    /// It has nothing to do.
    Idle,
    /// Nothing says which.
    #[default]
    Unknown,
}

/// What a session wants of a person, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Attention {
    /// Which of them.
    pub state: AttentionState,
    /// Since when.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub since: Timestamp,
    /// The program's own words (OSC 9, OSC 99, OSC 777), if it gave any.
    pub message: Option<String>,
}

/// A line that somebody left on a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Note {
    /// At most 100 bytes.
    pub text: String,
    /// When it goes by itself; null: never.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub expires_at: Option<Timestamp>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Exit {
    /// The exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal, if one ended it.
    pub signal: Option<i32>,
    /// From start to end.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub duration_ms: u64,
    /// The most memory that the program held.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub peak_memory_bytes: u64,
}

/// A session as lists and events show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Session {
    /// The session, `ses_…`.
    pub id: String,
    /// Its name, safe in shells and URLs.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The working directory it was started in.
    pub cwd: String,
    /// Where it stands.
    pub state: SessionState,
    /// How it ended; null while it runs.
    pub exit: Option<Exit>,
    /// When it was made.
    #[cfg_attr(feature = "ts", ts(type = "string"))]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub created_at: Timestamp,
    /// When its program ended.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub ended_at: Option<Timestamp>,
    /// When it last printed anything; null if it never did.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub last_output_at: Option<Timestamp>,
    /// Its one size.
    pub size: Size,
    /// Bytes of output since it began.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub end: u64,
    /// The title that its program set, if any.
    pub title: Option<String>,
    /// The last line of text on its screen.
    pub last_line: String,
    /// Attachments that look.
    pub viewers: u32,
    /// Attachments that may type.
    pub writers: u32,
    /// Labels of its creator's.
    pub labels: BTreeMap<String, String>,
    /// What it wants of a person.
    pub attention: Attention,
    /// What somebody noted on it.
    pub note: Option<Note>,
    /// The session whose program made it, if one did.
    pub parent: Option<String>,
    /// Whether its programs are the owner.
    pub trusted: bool,
    /// When it is forgotten, if it was deleted; until then it can be restored.
    #[cfg_attr(feature = "ts", ts(type = "string | null"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub purge_at: Option<Timestamp>,
    /// Why the daemon cannot reach its program yet, in words, where it goes on trying: the session is listed as running, and
    /// what needs its program or its output is refused (`out_of_reach`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub out_of_reach: Option<String>,
}

/// `POST /v1/sessions/{id}/stop`: asked to end, with everything it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// The session, as it stands after its end.
    pub session: Session,
}
