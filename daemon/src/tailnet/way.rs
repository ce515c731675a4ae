//! Who is asked about the tailnet: this machine's tailscaled, or a node of the daemon's own.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::body::Bytes;
use pairing::TailnetIdentity;
use server::{Listener, UserspaceListener};
use tokio::net::TcpListener;

use super::{
    OwnNode, Phase,
    certificate::NoCertificate,
    embedded::{Embedded, NodeError},
    local_api::{self, LocalApi, LocalApiError},
};
use crate::config::{Config, TailnetMode};

/// Where the tailnet's word comes from.
pub(super) enum Way {
    /// From the machine's tailscaled, and its addresses are the kernel's.
    Host(LocalApi),
    /// From a node in this process, whose addresses are its alone.
    Embedded(Embedded),
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unasked {
    /// Tailscaled gives none.
    #[error(transparent)]
    LocalApi(#[from] LocalApiError),
    /// The daemon's own node gives none.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// A listener at an address of the tailnet that is not served yet.
pub(super) enum Endpoint {
    Kernel(TcpListener),
    Userspace(Box<dyn UserspaceListener>),
}

impl Endpoint {
    /// Where it is bound.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Kernel(listener) => listener.local_addr(),
            Self::Userspace(listener) => Ok(listener.address()),
        }
    }

    /// It, with what it shows.
    pub(super) fn serving(self, config: Arc<rustls::ServerConfig>) -> Listener {
        match self {
            Self::Kernel(listener) => Listener::Tls { listener, config },
            Self::Userspace(listener) => Listener::Userspace { listener, config },
        }
    }
}

/// What tells of changes.
pub(super) enum Changes {
    Bus(local_api::Changes),
    Node,
}

impl Way {
    /// What this machine's node is, and whether it runs.
    pub(super) async fn status(&self) -> Result<(Phase, Option<OwnNode>), Unasked> {
        match self {
            Self::Host(api) => Ok(api.status().await?),
            Self::Embedded(node) => Ok(node.status().await?),
        }
    }

    /// Begins to tell of changes; a node of the daemon's own is started by it.
    pub(super) async fn changes(&self) -> Result<Changes, Unasked> {
        match self {
            Self::Host(api) => Ok(Changes::Bus(api.changes().await?)),
            Self::Embedded(node) => {
                node.start().await?;
                Ok(Changes::Node)
            }
        }
    }

    /// Completes when something may have changed.
    pub(super) async fn changed(&self, changes: &mut Changes) -> Result<(), Unasked> {
        match (self, changes) {
            (_, Changes::Bus(bus)) => Ok(bus.next().await?),
            (Self::Embedded(node), Changes::Node) => {
                node.next_look().await;
                Ok(())
            }
            (Self::Host(_), Changes::Node) => std::future::pending().await,
        }
    }

    /// Who is behind an address; none where the tailnet has nobody there.
    pub(super) async fn who_is(&self, address: IpAddr) -> Result<Option<TailnetIdentity>, Unasked> {
        match self {
            Self::Host(api) => Ok(api.who_is(address).await?),
            Self::Embedded(node) => Ok(node.who_is(address).await?),
        }
    }

    /// The private key and the certificates for a name of this node, in PEM.
    pub(super) async fn certificate(&self, name: &str) -> Result<Bytes, NoCertificate> {
        match self {
            Self::Host(api) => Ok(api.certificate(name).await?),
            Self::Embedded(_) => Err(NoCertificate::Embedded),
        }
    }

    /// The page at which somebody has to take a node of the daemon's own in.
    pub(super) fn login_page(&self) -> Option<String> {
        match self {
            Self::Host(_) => None,
            Self::Embedded(node) => node.login_page(),
        }
    }

    /// Listens at an address of this node.
    pub(super) async fn listen(&self, at: SocketAddr) -> io::Result<Endpoint> {
        match self {
            Self::Host(_) => TcpListener::bind(at).await.map(Endpoint::Kernel),
            Self::Embedded(node) => node.listen(at).await.map(Endpoint::Userspace),
        }
    }

    /// Whether users are told, so that somebody can be invited by login.
    pub(super) fn knows_users(&self) -> bool {
        matches!(self, Self::Host(_))
    }

    /// The mode that it is.
    pub(super) fn mode(&self) -> TailnetMode {
        match self {
            Self::Host(_) => TailnetMode::Host,
            Self::Embedded(_) => TailnetMode::Embedded,
        }
    }

    /// The keys of the same mode that are configured otherwise by now.
    pub(super) fn differing(&self, config: &Config) -> Vec<&'static str> {
        match self {
            Self::Host(api) => {
                Vec::from_iter((api.socket() != config.tailnet_socket).then_some("tailnet.socket"))
            }
            Self::Embedded(node) => node.differing(&config.tailnet_node),
        }
    }
}
