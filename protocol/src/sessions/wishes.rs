//! What is asked of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes64;

/// The query of `GET /v1/sessions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    /// Whether those that were deleted, and can be restored, are listed too.
    #[serde(default)]
    pub deleted: bool,
}

/// `POST /v1/sessions/{id}/input`: exactly one of `text` and `data`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Text; where the program asked for bracketed paste and it has more than one line, it is pasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Bytes as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes64>,
    /// Whether Enter follows.
    #[serde(default)]
    pub enter: bool,
}

/// `POST /v1/sessions/{id}/keys`: keys by name, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// `C-c`, `M-x`, `Up`, `F5`, `S-Tab`, `Enter`, or one character.
    pub keys: Vec<String>,
}

/// `POST /v1/sessions/{id}/note`; an empty text takes the note away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewNote {
    /// At most 100 bytes, one line.
    pub text: String,
    /// Seconds until it goes by itself.
    #[serde(default)]
    pub ttl: Option<u64>,
}

/// `PATCH /v1/sessions/{id}`: what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionChanges {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The new labels, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// The query of `DELETE /v1/sessions/{id}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RemoveQuery {
    /// At once and for good, instead of in 24 hours.
    #[serde(default)]
    pub purge: bool,
}
