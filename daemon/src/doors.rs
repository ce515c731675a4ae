//! The remote ways in: the TLS listeners, opened at the start and whenever a lock-down is lifted.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use certs::{Identity, Names, Resolver};
use futures_util::future::BoxFuture;
use protocol::access::TlsEndpoint;
use server::{Doors, Listener, OpenDoors, clock};
use tokio::net::TcpListener;

use crate::{config::Config, up::UpError};

/// Opens the configured addresses.
pub(crate) struct RemoteDoors {
    /// Further host names that a browser may use.
    names: Vec<String>,
    keys: PathBuf,
    identity: Identity,
    instance: String,
    bound: Mutex<Bound>,
}

struct Bound {
    /// What to bind: as configured at first, then where it was bound before, so that devices find it.
    addresses: Vec<SocketAddr>,
    endpoints: Vec<TlsEndpoint>,
}

impl RemoteDoors {
    /// Opens nothing yet.
    pub(crate) fn new(config: &Config, keys: PathBuf, identity: Identity, instance: &str) -> Self {
        Self {
            names: config.names.clone(),
            keys,
            identity,
            instance: instance.to_owned(),
            bound: Mutex::new(Bound {
                addresses: config.tls.clone(),
                endpoints: Vec::new(),
            }),
        }
    }

    /// Binds the listeners.
    ///
    /// # Errors
    /// Where one cannot be bound, or there is no certificate for them: then none is.
    pub(crate) async fn bind(&self) -> Result<OpenDoors, UpError> {
        let addresses = self.bound().addresses.clone();
        let mut bound = Vec::new();
        for address in addresses {
            let failed = |source| UpError::Bind { address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let at = listener.local_addr().map_err(failed)?;
            bound.push((listener, at));
        }
        let mut names = Names::new(&self.instance);
        for (_, at) in &bound {
            names = names.address(at.ip());
        }
        for name in &self.names {
            names = names.host(name);
        }
        let now = Duration::from_millis(clock::now().0.max(0).cast_unsigned());
        let now = rustls::pki_types::UnixTime::since_unix_epoch(now);
        let certified = self.identity.kept_certificate(&self.keys, &names, now)?;
        let tls = certs::server_config(Resolver::new(certified));
        let addresses: Vec<SocketAddr> = bound.iter().map(|(_, at)| *at).collect();
        let link_authority = self.link_authority(&addresses);
        *self.bound() = Bound {
            endpoints: addresses.iter().map(|at| self.endpoint(*at, &names)).collect(),
            addresses,
        };
        let listeners = bound.into_iter().map(|(listener, _)| Listener::Tls {
            listener,
            config: Arc::clone(&tls),
        });
        Ok(OpenDoors {
            listeners: listeners.collect(),
            link_authority,
        })
    }

    /// The listeners that were bound last.
    pub(crate) fn endpoints(&self) -> Vec<TlsEndpoint> {
        self.bound().endpoints.clone()
    }

    fn endpoint(&self, at: SocketAddr, names: &Names) -> TlsEndpoint {
        let hosts = names
            .hosts()
            .filter(|host| *host != certs::IDENTITY_SERVER_NAME)
            .map(str::to_owned);
        let addresses = names.addresses().map(|address| address.to_string());
        TlsEndpoint {
            address: at.to_string(),
            pin: self.identity.pin().to_string(),
            names: hosts.chain(addresses).collect(),
        }
    }

    /// What a device reaches best: a name of the user's own, else an address of the network, else the near end of a tunnel.
    fn link_authority(&self, addresses: &[SocketAddr]) -> Option<String> {
        let port = addresses.first()?.port();
        if let Some(name) = self.names.first() {
            return Some(format!("{name}:{port}"));
        }
        let is_reachable = |at: &&SocketAddr| !at.ip().is_loopback() && !at.ip().is_unspecified();
        let reachable = addresses.iter().find(is_reachable);
        Some(reachable.map_or_else(|| format!("localhost:{port}"), ToString::to_string))
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
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
