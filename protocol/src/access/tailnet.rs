//! The tailnet in the status of a daemon.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition::TailnetProblem;

/// The tailnet by which a daemon is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TailnetStatus {
    /// It is a node of the daemon's own, and not this machine's.
    #[serde(default)]
    pub embedded: bool,
    /// Whether this machine is in it.
    pub state: TailnetState,
    /// This machine's MagicDNS name; absent where it has none, or is not known yet.
    pub name: Option<String>,
    /// This machine's addresses in it.
    pub addresses: Vec<String>,
    /// The login of the user whom this machine's node belongs to; absent for a tagged one, which belongs to nobody.
    pub user: Option<String>,
    /// The tags of this machine's node.
    pub tags: Vec<String>,
    /// Where devices come in over it.
    pub listeners: Vec<String>,
    /// What there is of a certificate for the name.
    pub certificate: TailnetCertificate,
    /// What keeps them from it.
    pub problems: Vec<TailnetProblem>,
}

/// A certificate for a name in a tailnet, by a public authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TailnetCertificate {
    /// The tailnet hands out none: HTTPS is not enabled in it.
    Disabled,
    /// It is being asked for.
    Awaited,
    /// Whoever asks by the name is shown it.
    Served {
        /// Its end; it is renewed before.
        #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Time"))]
        until: Timestamp,
    },
    /// It could not be had: the problems say why.
    Failed,
}

/// What tailscaled says that it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TailnetState {
    /// This machine is in the tailnet.
    Running,
    /// It is about to be.
    Starting,
    /// Somebody has to sign in.
    NeedsLogin,
    /// It is switched off.
    Stopped,
    /// It does not say: it cannot be asked.
    Unknown,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{TailnetCertificate, TailnetState, TailnetStatus};
    use crate::condition::TailnetProblemKind;

    #[test]
    fn what_an_earlier_daemon_tells_in_sentences_is_read_beside_what_has_a_kind() {
        let told = json!({
            "state": "stopped",
            "name": "desk.tail1234.ts.net",
            "addresses": ["100.64.0.1"],
            "user": null,
            "tags": [],
            "listeners": [],
            "certificate": {"state": "awaited"},
            "problems": [
                "it is switched off; `sudo tailscale up` switches it on",
                {"kind": "away", "detail": "it is switched off", "hint": "switch it on"},
            ],
        });
        let status: TailnetStatus = serde_json::from_value(told).unwrap();
        assert!(!status.embedded);
        assert_eq!(
            (status.state, status.certificate),
            (TailnetState::Stopped, TailnetCertificate::Awaited)
        );
        let problems: Vec<_> = status
            .problems
            .iter()
            .map(|problem| (&problem.kind, problem.in_words()))
            .collect();
        assert_eq!(
            problems,
            [
                (
                    &TailnetProblemKind::Unknown,
                    "it is switched off; `sudo tailscale up` switches it on".to_owned()
                ),
                (
                    &TailnetProblemKind::Away,
                    "it is switched off; switch it on".to_owned()
                ),
            ]
        );
    }
}
