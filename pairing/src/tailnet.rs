//! What a tailnet says about a peer.

use alloc::string::String;
use alloc::vec::Vec;

/// Evidence of the local Tailscale daemon about a peer, as it is stored with a device, but for the tags. The ids are stable,
/// the names are for people. A tagged node has no user: both of the user's texts are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailnetIdentity {
    /// Stable id of the user.
    pub user_id: String,
    /// Login name of the user.
    pub user: String,
    /// Stable id of the node.
    pub node_id: String,
    /// MagicDNS name of the node.
    pub node: String,
    /// Its tags now, such as `tag:phone`. They say what may come now, and are kept with nothing.
    pub tags: Vec<String>,
}

impl TailnetIdentity {
    /// Whether both are the same user on the same node, whatever these are called by now.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.user_id == other.user_id && self.node_id == other.node_id
    }
}

#[cfg(test)]
mod tests {
    use super::TailnetIdentity;

    fn evidence(user_id: &str, node_id: &str, name: &str) -> TailnetIdentity {
        TailnetIdentity {
            user_id: user_id.into(),
            user: name.into(),
            node_id: node_id.into(),
            node: name.into(),
            tags: [].into(),
        }
    }

    #[test]
    fn a_renamed_node_is_the_same() {
        assert!(evidence("u1", "n1", "old").is_same(&evidence("u1", "n1", "new")));
    }

    #[test]
    fn another_user_or_node_of_the_same_name_is_another() {
        assert!(!evidence("u1", "n1", "x").is_same(&evidence("u2", "n1", "x")));
        assert!(!evidence("u1", "n1", "x").is_same(&evidence("u1", "n2", "x")));
    }
}
