//! What the LocalAPI says, as far as it is of interest, and what that means here.

use std::{collections::HashMap, net::IpAddr};

use pairing::TailnetIdentity;
use serde::Deserialize;

/// What tailscaled is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The node is in its tailnet.
    Running,
    /// It is about to be, as far as it knows.
    Starting,
    /// Somebody has to sign in, or to approve the machine.
    NeedsLogin,
    /// Somebody switched it off, or it is not known what it does.
    Stopped,
}

/// This machine in its tailnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNode {
    /// Its MagicDNS name, without the dot at its end; none where the tailnet gives no names.
    pub(crate) name: Option<String>,
    /// Its addresses.
    pub(crate) addresses: Vec<IpAddr>,
    /// The stable id of the user whom it belongs to; none of a tagged one, which belongs to nobody.
    pub(crate) user_id: Option<String>,
    /// That user's login.
    pub(crate) user: Option<String>,
    /// Its tags.
    pub(crate) tags: Vec<String>,
    /// Whether the tailnet hands out certificates for its name.
    pub(crate) has_certificates: bool,
}

impl OwnNode {
    /// Whom it belongs to, if anybody is said: a user by their stable id, or those of its tags.
    fn owner(&self) -> Option<(Option<&str>, &[String])> {
        let owner = (self.user_id.as_deref(), self.tags.as_slice());
        (owner != (None, &[])).then_some(owner)
    }

    /// This node as it was known last, where what is told does not say that it is somebody else's by now.
    pub(in crate::tailnet) fn or_as_known(told: Option<Self>, known: Option<Self>) -> Option<Self> {
        let is_others =
            |(told, known): (&Self, &Self)| told.owner().is_some() && told.owner() != known.owner();
        match told.as_ref().zip(known.as_ref()).is_some_and(is_others) {
            true => told,
            false => known.or(told),
        }
    }
}

/// `GET /localapi/v0/status`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Status {
    #[serde(default)]
    backend_state: String,
    #[serde(rename = "Self", default)]
    node: Option<Node>,
    #[serde(default)]
    cert_domains: Option<Vec<String>>,
    #[serde(default)]
    user: Option<HashMap<String, UserProfile>>,
}

#[derive(Debug, Deserialize)]
struct Node {
    #[serde(rename = "DNSName", default)]
    dns_name: String,
    #[serde(rename = "UserID", default)]
    user_id: i64,
    #[serde(rename = "TailscaleIPs", default)]
    addresses: Option<Vec<IpAddr>>,
    #[serde(rename = "Tags", default)]
    tags: Option<Vec<String>>,
}

/// `GET /localapi/v0/status`, of the other nodes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Others {
    #[serde(default)]
    peer: Option<HashMap<String, OtherPeer>>,
    #[serde(default)]
    user: Option<HashMap<String, UserProfile>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OtherPeer {
    #[serde(rename = "ID", default)]
    id: String,
    #[serde(rename = "DNSName", default)]
    dns_name: String,
    #[serde(default)]
    host_name: String,
    #[serde(rename = "OS", default)]
    system: String,
    #[serde(rename = "UserID", default)]
    user_id: i64,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    online: bool,
}

/// Another node of the tailnet, as this machine's tailscaled knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedNode {
    /// Who it is.
    pub(crate) who: TailnetIdentity,
    /// Its operating system, as Tailscale calls it: `iOS`, `android`, `linux`.
    pub(crate) system: String,
    /// Whether the tailnet sees it now.
    pub(crate) is_online: bool,
}

/// `GET /localapi/v0/whois`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct WhoIs {
    node: Option<OtherNode>,
    user_profile: Option<UserProfile>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OtherNode {
    #[serde(rename = "StableID", default)]
    stable_id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct UserProfile {
    #[serde(rename = "ID", default)]
    id: i64,
    #[serde(default)]
    login_name: String,
}

impl Status {
    pub(super) fn understood(self) -> (Phase, Option<OwnNode>) {
        let phase = match self.backend_state.as_str() {
            "Running" => Phase::Running,
            // In the first it does not know yet what it shall do: it passes through that whenever it starts.
            "NoState" | "Starting" => Phase::Starting,
            "NeedsLogin" | "NeedsMachineAuth" => Phase::NeedsLogin,
            _ => Phase::Stopped,
        };
        let Some(node) = self.node else {
            return (phase, None);
        };
        let name = name(&node.dns_name);
        let tags = node.tags.unwrap_or_default();
        // Whatever stands in the user's place of a tagged node is no user.
        let user_id = (tags.is_empty() && node.user_id != 0).then(|| node.user_id.to_string());
        let users = self.user.unwrap_or_default();
        let user = user_id.as_ref().and_then(|id| users.get(id));
        let domains = self.cert_domains.unwrap_or_default();
        let own = OwnNode {
            has_certificates: name.as_ref().is_some_and(|name| domains.contains(name)),
            name,
            addresses: node.addresses.unwrap_or_default(),
            user: user.map(|user| user.login_name.clone()),
            user_id,
            tags,
        };
        (phase, Some(own))
    }
}

impl Others {
    pub(super) fn understood(self) -> Vec<ListedNode> {
        let users = self.user.unwrap_or_default();
        let node = |peer: OtherPeer| {
            let tags = peer.tags.unwrap_or_default();
            let user_id = match tags.is_empty() {
                true => peer.user_id.to_string(),
                false => String::new(),
            };
            let login = users.get(&user_id).map(|user| user.login_name.clone());
            ListedNode {
                who: TailnetIdentity {
                    user: login.unwrap_or_default(),
                    user_id,
                    node: name(&peer.dns_name).unwrap_or(peer.host_name),
                    node_id: peer.id,
                    tags,
                },
                system: peer.system,
                is_online: peer.online,
            }
        };
        self.peer.unwrap_or_default().into_values().map(node).collect()
    }
}

impl WhoIs {
    /// None where it names no node, or a node of nobody: then nobody is known.
    pub(super) fn understood(self) -> Option<TailnetIdentity> {
        let node = self.node.filter(|node| !node.stable_id.is_empty())?;
        let tags = node.tags.unwrap_or_default();
        let (user_id, user) = match self.user_profile {
            _ if !tags.is_empty() => (String::new(), String::new()),
            Some(user) if user.id != 0 => (user.id.to_string(), user.login_name),
            Some(_) | None => return None,
        };
        Some(TailnetIdentity {
            user_id,
            user,
            node: name(&node.name).unwrap_or_else(|| node.stable_id.clone()),
            node_id: node.stable_id,
            tags,
        })
    }
}

/// A MagicDNS name as it is compared: in lower case, without the dot at its end, of what a host name has.
pub(in crate::tailnet) fn name(written: &str) -> Option<String> {
    let name = written.trim_end_matches('.').to_ascii_lowercase();
    let is_plain = |name: &str| {
        name.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
    };
    (!name.is_empty() && name.len() <= 253 && is_plain(&name)).then_some(name)
}
