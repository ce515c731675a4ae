//! The audit trail's bodies.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The query of `GET /v1/audit`; what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AuditQuery {
    /// Rows behind this one, from there on; without it, the latest.
    pub after: Option<u64>,
    /// Not older than this.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub since: Option<Timestamp>,
    /// Older than this.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Time>"))]
    pub until: Option<Timestamp>,
    /// Of this principal, as rows name it.
    pub principal: Option<String>,
    /// By this device or about it.
    pub device: Option<String>,
    /// By programs of this session or about it.
    pub session: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// At most so many: 100 where nothing is said, and never more than 1,000.
    pub limit: Option<u32>,
    /// Seconds for which the answer may be held back until there is a row behind `after`; at most 25.
    pub wait: Option<u64>,
}

/// One row of `GET /v1/audit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditRecord {
    /// Its number.
    pub sequence: u64,
    /// When it was decided.
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
    pub time: Timestamp,
    /// Who acted: `owner`, an id, `nobody`, or `daemon` for what time alone did.
    pub principal: String,
    /// Where the principal came from.
    pub peer: String,
    /// What was done.
    pub action: String,
    /// To what: an id, or empty where there is nothing to name.
    pub target: String,
    /// `ok`, or the code of the error.
    pub outcome: String,
    /// Further facts in words.
    pub detail: Option<String>,
}

/// `GET /v1/audit/verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditVerdict {
    /// Whether nothing was found.
    pub whole: bool,
    /// How many rows there are.
    pub rows: u64,
    /// The number of the first, if there is one.
    pub first: Option<u64>,
    /// The number of the last, if there is one.
    pub last: Option<u64>,
    /// How many faults were found.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<AuditFault>,
}

/// What is wrong with the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditFault {
    /// `changed`, `missing`, `cut_off`, `beginning`, `another`, `revocations` or `no_epoch`.
    pub kind: String,
    /// The same as a sentence, with the rows.
    pub detail: String,
}
