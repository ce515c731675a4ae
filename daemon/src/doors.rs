//! The remote ways in: the TLS listeners, opened at the start and whenever a lock-down is lifted, and changed by a reload.

mod change;
mod tailnet;

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::BoxFuture;
use protocol::access::TlsEndpoint;
use server::{Doors, Listener, OpenDoors};
use tokio::net::TcpListener;

use crate::{
    certificates::Certificates,
    config::Config,
    service::Passed,
    tailnet::{Tailnet, TailnetListeners},
    up::UpError,
};

/// Opens the configured addresses.
pub(crate) struct RemoteDoors {
    certificates: Arc<Certificates>,
    tailnet: Option<TailnetListeners>,
    passed: Arc<Passed>,
    bound: Mutex<Bound>,
}

struct Bound {
    /// Further host names that a browser may use.
    names: Vec<String>,
    /// The addresses may be any.
    any_interface: bool,
    /// Host and port by which it is reached over the tailnet.
    tailnet: Option<(String, u16)>,
    doors: Vec<Door>,
}

/// One address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Door {
    configured: SocketAddr,
    /// Where it was bound, so that devices find it again.
    at: Option<SocketAddr>,
    is_open: bool,
    /// It is not configured any more, and stays because what shall be in its place could not be bound.
    is_stale: bool,
}

impl RemoteDoors {
    /// Opens nothing yet; `state` is the state directory.
    pub(crate) fn new(
        config: &Config,
        state: &Path,
        certificates: &Arc<Certificates>,
        passed: &Arc<Passed>,
    ) -> Self {
        let listeners =
            |tailnet| TailnetListeners::new(tailnet, Arc::clone(certificates), &config.tailnet_ports);
        Self {
            tailnet: Tailnet::new(config, state).map(listeners),
            certificates: Arc::clone(certificates),
            passed: Arc::clone(passed),
            bound: Mutex::new(Bound {
                names: config.names.clone(),
                any_interface: config.any_interface,
                tailnet: None,
                doors: config.tls.iter().copied().map(Door::new).collect(),
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
    /// Where one cannot be bound, or shall not: then none is.
    pub(crate) async fn bind(&self) -> Result<OpenDoors, UpError> {
        self.look_at_tailnet().await;
        let (mut doors, any_interface) = {
            let bound = self.bound();
            (bound.doors.clone(), bound.any_interface)
        };
        doors.retain(|door| !door.is_stale);
        let mut listeners = Vec::new();
        for door in &mut doors {
            let address = door.at.unwrap_or(door.configured);
            if !any_interface {
                self.check_own(address)?;
            }
            let (listener, at) = self
                .bind_one(address)
                .await
                .map_err(|source| UpError::Bind { address, source })?;
            door.opened(at);
            listeners.push(listener);
        }
        listeners.extend(self.bind_tailnet().await);
        let mut bound = self.bound();
        bound.doors = doors;
        Ok(OpenDoors {
            listeners,
            link_authority: bound.link_authority(),
        })
    }

    /// Host and port by which a device reaches the daemon best.
    pub(crate) fn link_authority(&self) -> Option<String> {
        self.bound().link_authority()
    }

    /// The listeners that were bound last.
    pub(crate) fn endpoints(&self) -> Vec<TlsEndpoint> {
        let (pin, names) = (
            self.certificates.pin().to_string(),
            self.certificates.reached_by(),
        );
        let mut open: Vec<SocketAddr> = self.bound().open().collect();
        open.extend(self.tailnet.iter().flat_map(TailnetListeners::open));
        let endpoint = |at: SocketAddr| TlsEndpoint {
            address: at.to_string(),
            pin: pin.clone(),
            names: names.clone(),
        };
        open.into_iter().map(endpoint).collect()
    }

    /// Listens at the address: with the socket that this process was started with, if it was with one there.
    async fn bind_one(&self, address: SocketAddr) -> io::Result<(Listener, SocketAddr)> {
        let listener = match self.passed.tls(address)? {
            Some(passed) => TcpListener::from_std(passed)?,
            None => TcpListener::bind(address).await?,
        };
        let at = listener.local_addr()?;
        let config = self.certificates.tls(at);
        Ok((Listener::Tls { listener, config }, at))
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Door {
    fn new(configured: SocketAddr) -> Self {
        Self {
            configured,
            at: None,
            is_open: false,
            is_stale: false,
        }
    }

    fn opened(&mut self, at: SocketAddr) {
        self.at = Some(at);
        self.is_open = true;
    }
}

impl Bound {
    fn open(&self) -> impl Iterator<Item = SocketAddr> {
        let open = self.doors.iter().filter(|door| door.is_open);
        open.filter_map(|door| door.at)
    }

    /// What a device reaches best: a name of the user's own, else the name in the tailnet, else an address of the network, else
    /// the near end of a tunnel.
    fn link_authority(&self) -> Option<String> {
        let is_outside = |at: &SocketAddr| !at.ip().is_loopback();
        let first = self.open().next().map(|at| at.port());
        if let Some(name) = self.names.first() {
            // Others ask by it: a port that only this machine reaches is the last to try.
            let outside = self.open().find(is_outside).map(|at| at.port());
            let over_tailnet = self.tailnet.as_ref().map(|(_, port)| *port);
            let port = outside.or(over_tailnet).or(first)?;
            return Some(format!("{name}:{port}"));
        }
        if let Some((host, port)) = &self.tailnet {
            return Some(format!("{host}:{port}"));
        }
        let reachable = self.open().find(|at| is_outside(at) && !at.ip().is_unspecified());
        let near = || first.map(|port| format!("localhost:{port}"));
        reachable.map(|at| at.to_string()).or_else(near)
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

    fn closed(&self) {
        self.passed.shut(|_| true);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, Door};

    fn link(names: &[&str], tailnet: Option<(&str, u16)>, open: &[&str]) -> Option<String> {
        let door = |at: &&str| {
            let at = at.parse().unwrap();
            let mut door = Door::new(at);
            door.opened(at);
            door
        };
        let bound = Bound {
            names: names.iter().map(ToString::to_string).collect(),
            any_interface: false,
            tailnet: tailnet.map(|(host, port)| (host.to_owned(), port)),
            doors: open.iter().map(door).collect(),
        };
        bound.link_authority()
    }

    #[test]
    fn a_link_by_a_name_has_a_port_that_others_reach() {
        let names = ["desk.example"];
        let said = |tailnet, open: &[&str]| link(&names, tailnet, open).unwrap();
        let near = "127.0.0.1:7443";
        assert_eq!(said(None, &[near, "0.0.0.0:8443"]), "desk.example:8443");
        assert_eq!(said(Some(("box.ts.net", 9443)), &[near]), "desk.example:9443");
        assert_eq!(said(None, &[near]), "desk.example:7443", "it may be forwarded");
        assert_eq!(link(&names, None, &[]), None);
    }

    #[test]
    fn without_a_name_it_is_the_tailnets_or_an_address_or_the_near_end_of_a_tunnel() {
        let near = "127.0.0.1:7443";
        let tailnet = Some(("box.ts.net", 9443));
        assert_eq!(link(&[], tailnet, &[near]).as_deref(), Some("box.ts.net:9443"));
        assert_eq!(
            link(&[], None, &[near, "192.0.2.1:1"]).as_deref(),
            Some("192.0.2.1:1")
        );
        assert_eq!(
            link(&[], None, &["0.0.0.0:7443"]).as_deref(),
            Some("localhost:7443")
        );
        assert_eq!(link(&[], None, &[]), None);
    }
}
