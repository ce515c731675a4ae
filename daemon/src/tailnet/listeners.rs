//! Listeners at the addresses that this machine has in its tailnet: they come and go with these.

mod problems;

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use protocol::access::{TailnetCertificate, TailnetState, TailnetStatus};
use server::{DoorChange, Listener};
use tokio::sync::Notify;

use super::{Phase, Tailnet, certificate::Certificate};
use crate::{
    certificates::{self, Certificates},
    config::TailnetMode,
};

/// The listeners of the configured ports.
pub(crate) struct TailnetListeners {
    tailnet: Arc<Tailnet>,
    certificates: Arc<Certificates>,
    bound: Mutex<Bound>,
    /// Woken when something else than the follower of the tailnet could not bind an address: it tries that again.
    again: Notify,
}

#[derive(Default)]
struct Bound {
    ports: Vec<Port>,
    open: BTreeMap<SocketAddr, u16>,
    /// What could not be bound, and why.
    faults: Vec<Fault>,
    /// The same at the last attempt, which the log says already.
    said: Vec<Fault>,
}

/// An address that could not be bound.
#[derive(Clone, PartialEq, Eq)]
struct Fault {
    at: SocketAddr,
    /// That, and why, in a sentence.
    detail: String,
}

/// One port.
#[derive(Clone, Copy)]
struct Port {
    configured: u16,
    /// Where it was bound at first, so that devices find it again.
    at: Option<u16>,
    /// It is not configured any more, and stays because what shall be in its place could not be bound.
    is_stale: bool,
}

impl TailnetListeners {
    /// Opens nothing yet.
    pub(crate) fn new(tailnet: Arc<Tailnet>, certificates: Arc<Certificates>, ports: &[u16]) -> Self {
        let listeners = Self {
            tailnet,
            certificates,
            bound: Mutex::default(),
            again: Notify::new(),
        };
        listeners.set_ports(ports, false);
        listeners
    }

    /// What is known of the tailnet.
    pub(crate) fn tailnet(&self) -> &Arc<Tailnet> {
        &self.tailnet
    }

    /// Other ports, from the next change on. With `keep`, the former ones too: what shall be in their place could not be bound.
    pub(crate) fn set_ports(&self, ports: &[u16], keep: bool) {
        let mut bound = self.bound();
        let known = std::mem::take(&mut bound.ports);
        let as_before = |configured: u16| known.iter().copied().find(|port| port.configured == configured);
        let port = |configured: &u16| Port {
            configured: *configured,
            at: as_before(*configured).and_then(|port| port.at),
            is_stale: false,
        };
        let former = match keep {
            true => bound.once_open(&known),
            false => Vec::new(),
        };
        let former = former
            .into_iter()
            .filter(|port| !ports.contains(&port.configured));
        bound.ports = ports.iter().map(port).chain(former).collect();
    }

    /// Gives up the addresses without which another listener cannot be bound, as far as their ports are not among these, and says
    /// which: they are to be closed.
    pub(crate) fn give_way(&self, to: SocketAddr, ports: &[u16]) -> Vec<SocketAddr> {
        let is_in_the_way = |at: &SocketAddr, configured: &mut u16| {
            let is_either = to.ip().is_unspecified() || to.ip() == at.ip();
            is_either && to.port() == at.port() && !ports.contains(configured)
        };
        let mut bound = self.bound();
        let given = bound.open.extract_if(.., is_in_the_way);
        given.map(|(at, _)| at).collect()
    }

    /// Where it listens now.
    pub(crate) fn open(&self) -> Vec<SocketAddr> {
        self.bound().open.keys().copied().collect()
    }

    /// Whether something could not be bound.
    pub(crate) fn has_faults(&self) -> bool {
        !self.bound().faults.is_empty()
    }

    /// Has what could not be bound tried again.
    pub(crate) fn want_again(&self) {
        if self.has_faults() {
            self.again.notify_one();
        }
    }

    /// Completes when that is wanted.
    pub(crate) async fn wanted_again(&self) {
        self.again.notified().await;
    }

    /// What could not be bound, in sentences.
    pub(crate) fn faults(&self) -> Vec<String> {
        let bound = self.bound();
        bound.faults.iter().map(|fault| fault.detail.clone()).collect()
    }

    /// Binds everything, where nothing is bound any more: at the start, and after a lock-down. What cannot be bound is said, and
    /// is no error: the rest of the daemon serves.
    pub(crate) async fn bind(&self) -> Vec<Listener> {
        {
            let mut bound = self.bound();
            bound.open.clear();
            bound.ports.retain(|port| !port.is_stale);
        }
        self.plan().await.open
    }

    /// Binds what has come, and says what else is to change. Where it is not known what is there now, everything stays as it is, but
    /// for what shall not be there at all. A port that is not configured any more stays at an address where one that is could not
    /// be bound.
    pub(crate) async fn plan(&self) -> DoorChange {
        let Some(addresses) = self.tailnet.seen().addresses() else {
            return DoorChange {
                close: self.bound().take_gone(None),
                ..DoorChange::default()
            };
        };
        let ports = {
            let mut bound = self.bound();
            bound.begin();
            bound.ports.clone()
        };
        let mut open = Vec::new();
        for port in &ports {
            for address in &addresses {
                open.extend(self.bind_one(*address, port.configured).await);
            }
        }
        DoorChange {
            open,
            close: self.bound().take_gone(Some(&addresses)),
            ..DoorChange::default()
        }
    }

    async fn bind_one(&self, address: IpAddr, configured: u16) -> Option<Listener> {
        let at = {
            let bound = self.bound();
            let is_open = |(at, of): (&SocketAddr, &u16)| at.ip() == address && *of == configured;
            if bound.open.iter().any(is_open) {
                return None;
            }
            let port = bound.ports.iter().find(|port| port.configured == configured)?;
            SocketAddr::new(address, port.at.unwrap_or(configured))
        };
        let endpoint = self.tailnet.listen(at).await;
        let bound = endpoint.and_then(|endpoint| Ok((endpoint.address()?, endpoint)));
        match bound {
            Ok((at, endpoint)) => {
                // Before anybody can come.
                self.tailnet.guard(at);
                let mut bound = self.bound();
                bound.open.insert(at, configured);
                let ports = bound.ports.iter_mut();
                ports
                    .filter(|port| port.configured == configured)
                    .for_each(|port| port.at = Some(at.port()));
                let config = self.certificates.tls(at);
                Some(endpoint.serving(config))
            }
            Err(error) => {
                let detail = format!("{at}, an address of the tailnet, cannot be bound: {error}");
                if self.bound().note(at, &detail) {
                    tracing::error!("{detail}");
                }
                None
            }
        }
    }

    /// What there is to say of the tailnet. While the daemon is locked down none of its listeners is open.
    pub(crate) fn status(&self, is_locked_down: bool) -> TailnetStatus {
        let seen = self.tailnet.seen();
        let state = match seen.phase {
            Some(Phase::Running) => TailnetState::Running,
            Some(Phase::Starting) => TailnetState::Starting,
            Some(Phase::NeedsLogin) => TailnetState::NeedsLogin,
            Some(Phase::Stopped) => TailnetState::Stopped,
            None => TailnetState::Unknown,
        };
        let node = seen.node.as_ref();
        let addresses = node.into_iter().flat_map(|node| &node.addresses);
        TailnetStatus {
            embedded: self.tailnet.mode() == TailnetMode::Embedded,
            state,
            name: node.and_then(|node| node.name.clone()),
            addresses: addresses.map(ToString::to_string).collect(),
            user: node.and_then(|node| node.user.clone()),
            tags: node.map(|node| node.tags.clone()).unwrap_or_default(),
            listeners: match is_locked_down {
                true => Vec::new(),
                false => self.open().iter().map(ToString::to_string).collect(),
            },
            certificate: match self.tailnet.certificate() {
                Certificate::Disabled => TailnetCertificate::Disabled,
                Certificate::Awaited => TailnetCertificate::Awaited,
                Certificate::Served(until) => TailnetCertificate::Served {
                    until: certificates::timestamp(until),
                },
                Certificate::Failed { .. } => TailnetCertificate::Failed,
            },
            problems: self.problems(),
        }
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bound {
    /// Begins another attempt at everything.
    fn begin(&mut self) {
        self.said = std::mem::take(&mut self.faults);
    }

    /// The ports that are open, and those of them that had to go for what could not come.
    fn once_open(&self, known: &[Port]) -> Vec<Port> {
        let open = self.open.iter().map(|(at, of)| (*of, at.port()));
        let known = known.iter().filter_map(|port| Some((port.configured, port.at?)));
        let all: BTreeMap<u16, u16> = known.chain(open).collect();
        let stale = |(configured, at)| Port {
            configured,
            at: Some(at),
            is_stale: true,
        };
        all.into_iter().map(stale).collect()
    }

    /// Takes out what is to be closed while this node has these addresses; none where that is not known.
    fn take_gone(&mut self, addresses: Option<&[IpAddr]>) -> Vec<SocketAddr> {
        let is_configured = |of: u16| self.ports.iter().any(|port| port.configured == of);
        let is_open = |ip: IpAddr, of: u16| self.open.iter().any(|(at, open)| at.ip() == ip && *open == of);
        let is_replaced = |ip: IpAddr| self.ports.iter().all(|port| is_open(ip, port.configured));
        let is_lost = |ip: IpAddr| addresses.is_some_and(|addresses| !addresses.contains(&ip));
        let is_gone =
            |at: &SocketAddr, of: u16| is_lost(at.ip()) || !is_configured(of) && is_replaced(at.ip());
        let gone = self.open.iter().filter(|(at, of)| is_gone(at, **of));
        let gone: Vec<SocketAddr> = gone.map(|(at, _)| *at).collect();
        self.open.retain(|at, _| !gone.contains(at));
        gone
    }

    /// Notes what could not be done; says whether it is new since the attempt before.
    fn note(&mut self, at: SocketAddr, detail: &str) -> bool {
        let detail = detail.to_owned();
        let fault = Fault { at, detail };
        let is_new = !self.said.contains(&fault);
        self.faults.push(fault);
        is_new
    }
}

#[cfg(test)]
pub(super) mod tests;
