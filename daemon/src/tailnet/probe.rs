//! What a machine's tailscaled says, for who asks without being a daemon: nothing is kept, and nothing is followed.

use std::{io, net::IpAddr};

use pairing::TailnetIdentity;
use protocol::access::TailnetState;
use server::WhoIsAnswer;

use super::{
    local_api::{ListedNode, LocalApi, LocalApiError, OwnNode, Phase},
    policy,
};
use crate::config::{Allowed, Config};

/// What a tailscaled says of its node and of its tailnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What it is doing.
    pub state: TailnetState,
    /// The node's MagicDNS name, if it has one.
    pub name: Option<String>,
    /// The node's addresses.
    pub addresses: Vec<IpAddr>,
    /// The login of the user whom the node belongs to; none of a tagged one.
    pub user: Option<String>,
    /// The node's tags.
    pub tags: Vec<String>,
    /// Whether the tailnet hands out certificates for the name.
    pub has_certificates: bool,
    /// Who is behind the node's own address; none where nobody is known there.
    pub own: Result<Option<ProbedNode>, Trouble>,
    /// The other nodes.
    pub others: Result<Vec<ProbedNode>, Trouble>,
}

/// A node of the tailnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedNode {
    /// Its name.
    pub name: String,
    /// The login of its user; empty of a tagged one.
    pub user: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its operating system, as Tailscale calls it: `iOS`, `android`, `linux`; empty where that was not asked for.
    pub system: String,
    /// Whether the tailnet sees it now.
    pub is_online: bool,
    /// Whether `tailnet.allow` lets it in.
    pub is_allowed: bool,
}

/// Why tailscaled did not say something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What happened, a sentence.
    pub detail: String,
    /// What to do about it.
    pub hint: String,
}

/// Asks the tailscaled of this configuration.
///
/// # Errors
/// When it does not say what its node is.
pub async fn probe(config: &Config) -> Result<Probe, Trouble> {
    let api = LocalApi::new(config.tailnet_socket.clone());
    let trouble = |error: LocalApiError| Trouble::of(&error, config);
    let (phase, node) = api.status().await.map_err(trouble)?;
    let node = node.unwrap_or(OwnNode {
        name: None,
        addresses: Vec::new(),
        user_id: None,
        user: None,
        tags: Vec::new(),
        has_certificates: false,
    });
    let judged = |who: TailnetIdentity| judged(who, &config.tailnet_allow, node.user_id.as_deref());
    let (own, others) = match (phase, node.addresses.first()) {
        (Phase::Running, Some(address)) => {
            let (own, others) = tokio::join!(api.who_is(*address), api.others());
            let other = |other: ListedNode| ProbedNode {
                system: other.system,
                is_online: other.is_online,
                ..judged(other.who)
            };
            let others = others.map(|others| others.into_iter().map(other).collect());
            (own.map(|own| own.map(judged)), others)
        }
        _ => (Ok(None), Ok(Vec::new())),
    };
    Ok(Probe {
        state: match phase {
            Phase::Running => TailnetState::Running,
            Phase::Starting => TailnetState::Starting,
            Phase::NeedsLogin => TailnetState::NeedsLogin,
            Phase::Stopped => TailnetState::Stopped,
        },
        name: node.name,
        addresses: node.addresses,
        user: node.user,
        tags: node.tags,
        has_certificates: node.has_certificates,
        own: own.map_err(trouble),
        others: others.map_err(trouble),
    })
}

fn judged(who: TailnetIdentity, allow: &[Allowed], owner: Option<&str>) -> ProbedNode {
    ProbedNode {
        name: who.node.clone(),
        user: who.user.clone(),
        tags: who.tags.clone(),
        system: String::new(),
        is_online: true,
        is_allowed: matches!(policy::judge(who, allow, owner), WhoIsAnswer::Known(_)),
    }
}

impl Trouble {
    fn of(error: &LocalApiError, config: &Config) -> Self {
        let socket = config.tailnet_socket.display();
        let hint = match error {
            LocalApiError::Unreachable(source) => match source.kind() {
                io::ErrorKind::NotFound => format!(
                    "nothing is at {socket}: install Tailscale, start it with `sudo systemctl start tailscaled`, or set \
                     tailnet.socket"
                ),
                io::ErrorKind::PermissionDenied => {
                    format!("let this user open {socket}, or set tailnet.socket")
                }
                _ => "start it with `sudo systemctl start tailscaled`".to_owned(),
            },
            LocalApiError::TimedOut => "start it again with `sudo systemctl restart tailscaled`".to_owned(),
            LocalApiError::Denied(_) => {
                "let this user ask with `sudo tailscale set --operator=$USER`".to_owned()
            }
            LocalApiError::Failed { .. } | LocalApiError::Malformed(_) => {
                "see what `tailscale status` and `journalctl -u tailscaled` say".to_owned()
            }
        };
        Self {
            detail: error.to_string(),
            hint,
        }
    }
}
