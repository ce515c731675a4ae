//! The tailnet in the status of a daemon.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::condition::TailnetProblem;

/// The tailnet by which a daemon is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(tag = "state", rename_all = "snake_case")]
pub enum TailnetCertificate {
    /// The tailnet hands out none: HTTPS is not enabled in it.
    Disabled,
    /// It is being asked for.
    Awaited,
    /// Whoever asks by the name is shown it.
    Served {
        /// Its end; it is renewed before.
        until: Timestamp,
    },
    /// It could not be had: the problems say why.
    Failed,
}

/// What tailscaled says that it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
