//! What is not as it should be with a running daemon: each with its kind, for programs, and in words, for people.

use serde::{Deserialize, Serialize};

/// One way in which the daemon is not as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Degraded {
    /// Which.
    pub kind: DegradedKind,
    /// The same in a sentence, with what to do where that is not clear.
    pub detail: String,
}

/// What is not as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DegradedKind {
    /// The last reload changed nothing, as the configuration cannot be used: what was before holds.
    Refused,
    /// It is taken up by a restart.
    AwaitsRestart,
    /// The certificate of the user's own cannot be used.
    OwnCertificate,
    /// The daemon's own certificate lacks a name.
    Names,
    /// A listener could not be had, or may not be.
    Listener,
    /// A listener of the tailnet could not be had.
    TailnetListener,
    /// A socket unit has a listener that the configuration has not: the next start is refused.
    SocketUnit,
}

impl Degraded {
    /// One of this kind.
    pub fn new(kind: DegradedKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }
}

/// Something that is as it is configured, and soon not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// What there is, a sentence.
    pub detail: String,
    /// What to do about it.
    pub hint: String,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// The certificate of the user's own ends.
    OwnCertificate,
    /// The root that devices were told to trust ends.
    Root,
}

impl Warning {
    /// Both in one line.
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.detail, self.hint)
    }
}

/// Something that keeps devices from coming over the tailnet as they should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ToldTailnetProblem")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TailnetProblem {
    /// Which; on the wire beside the rest.
    #[serde(flatten)]
    pub kind: TailnetProblemKind,
    /// What there is, a sentence.
    pub detail: String,
    /// What to do about it; absent where it is tried again by itself, or the detail says it.
    pub hint: Option<String>,
}

/// What keeps devices away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TailnetProblemKind {
    /// An address of the tailnet could not be had.
    Unbound {
        /// With the port.
        address: String,
    },
    /// The node is not in its tailnet, or nothing tells whether it is.
    Away,
    /// The node is tagged and belongs to no user, so that `self` lets nobody in.
    SelfIsNobody,
    /// Who comes cannot be asked, and is closed.
    WhoIs,
    /// The certificate for the name could not be had.
    Certificate,
    /// Nobody is allowed.
    NobodyAllowed,
    /// One of another version of the daemon: a later one has kinds that are not known here, an earlier one told none.
    #[serde(other)]
    Unknown,
}

/// How daemons tell it.
#[derive(Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum ToldTailnetProblem {
    /// As those did that told no kind: the hint is part of the sentence.
    InWords(String),
    Apart {
        #[serde(flatten)]
        kind: TailnetProblemKind,
        detail: String,
        hint: Option<String>,
    },
}

impl From<ToldTailnetProblem> for TailnetProblem {
    fn from(told: ToldTailnetProblem) -> Self {
        let (kind, detail, hint) = match told {
            ToldTailnetProblem::InWords(words) => (TailnetProblemKind::Unknown, words, None),
            ToldTailnetProblem::Apart { kind, detail, hint } => (kind, detail, hint),
        };
        Self { kind, detail, hint }
    }
}

impl TailnetProblem {
    /// Both in one line.
    pub fn in_words(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.detail),
            None => self.detail.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TailnetProblem, TailnetProblemKind};

    #[test]
    fn a_problem_of_a_later_version_keeps_its_words() {
        let wire = json!({"kind": "moon", "phase": 3, "detail": "it is full", "hint": null});
        let problem: TailnetProblem = serde_json::from_value(wire).unwrap();
        assert_eq!(problem.kind, TailnetProblemKind::Unknown);
        assert_eq!(problem.in_words(), "it is full");
    }

    #[test]
    fn a_problem_of_the_tailnet_has_its_kind_beside_its_words() {
        let problem = TailnetProblem {
            kind: TailnetProblemKind::Unbound {
                address: "100.64.0.1:7443".to_owned(),
            },
            detail: "it is taken".to_owned(),
            hint: None,
        };
        let wire =
            json!({"kind": "unbound", "address": "100.64.0.1:7443", "detail": "it is taken", "hint": null});
        assert_eq!(serde_json::to_value(&problem).unwrap(), wire);
        assert_eq!(serde_json::from_value::<TailnetProblem>(wire).unwrap(), problem);
    }
}
