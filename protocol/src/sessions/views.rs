//! What a session shows to scripts.

use serde::{Deserialize, Serialize};

use super::{Exit, Session, Size};
use crate::Bytes64;

/// The query of `GET /v1/sessions/{id}/output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OutputQuery {
    /// The first byte wanted; absent: the oldest there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Bytes at most, up to 1 MiB, which is also what is given where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Output by offset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Output {
    /// The bytes.
    pub data: Bytes64,
    /// Where the first of them stands.
    pub offset: u64,
    /// Where to go on.
    pub next_offset: u64,
    /// The end of the output now.
    pub end: u64,
    /// Whether bytes between the wanted offset and the returned ones are gone.
    pub truncated: bool,
    /// Whether the program runs.
    pub running: bool,
    /// How it ended.
    pub exit: Option<Exit>,
}

/// How a screen is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ScreenFormat {
    /// Text alone.
    #[default]
    Text,
    /// Text with its colours, as escape sequences.
    Ansi,
    /// A [`Screen`].
    Json,
}

/// The query of `GET /v1/sessions/{id}/screen`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScreenQuery {
    /// How it is written.
    #[serde(default)]
    pub format: ScreenFormat,
    /// Lines of scrollback above the screen (with `before`: above that line, and no screen), at most 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// A line number: only lines of scrollback above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Only the last command's output, where the shell marks it (OSC 133).
    #[serde(default)]
    pub last_command: bool,
}

/// A screen, or lines of scrollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Screen {
    /// The session's size.
    pub size: Size,
    /// The title; empty if the program gave none.
    pub title: String,
    /// Whether a full-screen program shows its own screen, without scrollback.
    pub alternate: bool,
    /// The cursor's column and row, from 0.
    pub cursor: (u16, u16),
    /// Whether the cursor shows.
    pub cursor_visible: bool,
    /// The number of the oldest line there is.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub first_line: u64,
    /// The number of the screen's top line.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub top_line: u64,
    /// The lines, the upper first.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Line {
    /// Its number since the session began; it never changes while the width does not.
    #[cfg_attr(feature = "ts", ts(type = "number"))]
    pub number: u64,
    /// Text with its colours, as escape sequences that begin and end in the default rendition.
    pub ansi: String,
    /// The text alone, without blanks at its end.
    pub text: String,
    /// Whether the next line is its continuation.
    pub wrapped: bool,
}

/// The query of `GET /v1/sessions/{id}/wait`: returns at the first that comes true; the exit always counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WaitQuery {
    /// No output for so many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// A line of the screen, or of what scrolled off since, that matches this regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How long to wait, at most an hour; then `504 timed_out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// What came true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Waited {
    /// Which of them.
    pub reason: WaitedFor,
    /// The line that matched.
    pub line: Option<String>,
    /// The session as it stands.
    pub session: Session,
}

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitedFor {
    /// The program ended, or the session is lost.
    Exit,
    /// No output came for that long.
    Idle,
    /// A line matched.
    Text,
}
