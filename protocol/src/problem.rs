//! Errors on the wire (RFC 9457).

use serde::{Deserialize, Serialize};

/// The body of every error answer: `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct Problem {
    /// A URI reference that names the kind of problem: `/problems/<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable name of the error, `snake_case`.
    pub code: String,
    /// One sentence for a person: what happened, to whom.
    pub detail: String,
    /// What to do now.
    pub hint: String,
    /// Seconds until another try can succeed, where waiting helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub retry_after: Option<u32>,
    /// The id of the request, under which the daemon's log has whatever it says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub request_id: Option<String>,
    /// What a device with a key signs for an access token: on every 401 of a TLS listener.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ts", ts(optional))]
    pub challenge: Option<String>,
}

impl Problem {
    /// The content type of every error answer.
    pub const CONTENT_TYPE: &str = "application/problem+json";

    /// Makes a problem from its stable parts; the title is the code in words.
    pub fn new(status: u16, code: &str, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind: format!("/problems/{code}"),
            title: code.replace('_', " "),
            status,
            code: code.to_owned(),
            detail: detail.into(),
            hint: hint.into(),
            retry_after: None,
            request_id: None,
            challenge: None,
        }
    }
}
