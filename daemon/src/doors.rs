//! The remote ways in: the TLS listeners, opened at the start and whenever a lock-down is lifted.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use protocol::access::TlsEndpoint;
use server::{Doors, Listener, OpenDoors};
use tokio::net::TcpListener;

use crate::{certificates::Certificates, config::Config, up::UpError};

/// Opens the configured addresses.
pub(crate) struct RemoteDoors {
    certificates: Arc<Certificates>,
    bound: Mutex<Bound>,
}

struct Bound {
    /// Further host names that a browser may use.
    names: Vec<String>,
    /// What to bind: as configured at first, then where it was bound before, so that devices find it.
    addresses: Vec<SocketAddr>,
    /// Where listeners are.
    open: Vec<SocketAddr>,
}

impl RemoteDoors {
    /// Opens nothing yet.
    pub(crate) fn new(config: &Config, certificates: Arc<Certificates>) -> Self {
        Self {
            certificates,
            bound: Mutex::new(Bound {
                names: config.names.clone(),
                addresses: config.tls.clone(),
                open: Vec::new(),
            }),
        }
    }

    /// What they show.
    pub(crate) fn certificates(&self) -> &Arc<Certificates> {
        &self.certificates
    }

    /// Binds the listeners.
    ///
    /// # Errors
    /// Where one cannot be bound: then none is.
    pub(crate) async fn bind(&self) -> Result<OpenDoors, UpError> {
        let addresses = self.bound().addresses.clone();
        let mut listeners = Vec::new();
        let mut open = Vec::new();
        for address in addresses {
            let failed = |source| UpError::Bind { address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let at = listener.local_addr().map_err(failed)?;
            let config = self.certificates.tls(at);
            listeners.push(Listener::Tls { listener, config });
            open.push(at);
        }
        let mut bound = self.bound();
        bound.addresses.clone_from(&open);
        bound.open = open;
        Ok(OpenDoors {
            listeners,
            link_authority: bound.link_authority(),
        })
    }

    /// The listeners that were bound last.
    pub(crate) fn endpoints(&self) -> Vec<TlsEndpoint> {
        let (pin, names) = (
            self.certificates.pin().to_string(),
            self.certificates.reached_by(),
        );
        let open = self.bound().open.clone();
        let endpoint = |at: SocketAddr| TlsEndpoint {
            address: at.to_string(),
            pin: pin.clone(),
            names: names.clone(),
        };
        open.into_iter().map(endpoint).collect()
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bound {
    /// What a device reaches best: a name of the user's own, else an address of the network, else the near end of a tunnel.
    fn link_authority(&self) -> Option<String> {
        let port = self.open.first()?.port();
        if let Some(name) = self.names.first() {
            return Some(format!("{name}:{port}"));
        }
        let is_reachable = |at: &&SocketAddr| !at.ip().is_loopback() && !at.ip().is_unspecified();
        let reachable = self.open.iter().find(is_reachable);
        Some(reachable.map_or_else(|| format!("localhost:{port}"), ToString::to_string))
    }
}

impl Doors for RemoteDoors {
    fn open(&self) -> BoxFuture<'_, io::Result<OpenDoors>> {
        Box::pin(async {
            self.bind()
                .await
                .map_err(|error| io::Error::other(error.to_string()))
        })
    }
}
