//! Changes of the remote listeners, and of what else is configured, while the server serves.

use std::{net::SocketAddr, time::Duration};

use tokio::sync::{MutexGuard, oneshot};

use crate::{
    access::{Access, ServerConfig},
    gate::OwnNames,
    listen::Listener,
    lockdown::Order,
    peer::{Peer, RemotePeer},
};

/// What shall change of the remote listeners: what is new is accepted on before what is old is closed.
#[derive(Debug, Default)]
pub struct DoorChange {
    /// Bound ones, to accept on.
    pub open: Vec<Listener>,
    /// Addresses of those that begin a new generation at the same socket: what they accept from now on proves its key anew.
    pub renew: Vec<SocketAddr>,
    /// Addresses of those that close, together with what they accepted.
    pub close: Vec<SocketAddr>,
}

/// The remote ways in, held still: until this is dropped nobody else changes them, and no lock-down is lifted. One begins whenever
/// it is wanted, and waits for nobody: what is opened after it is dropped unheard.
pub struct HeldDoors<'a> {
    access: &'a Access,
    _turn: MutexGuard<'a, ()>,
}

impl Access {
    /// Waits for another change, or the end of a lock-down, that is under way.
    pub async fn hold_doors(&self) -> HeldDoors<'_> {
        HeldDoors {
            access: self,
            _turn: self.lockdown.turn().await,
        }
    }

    /// Takes up what a configuration may change while the server serves: names, limits of connections and of pairing, and how
    /// long a device may stay away. It acts on what comes next.
    pub fn reconfigure(&self, config: &ServerConfig) {
        self.set_names(OwnNames::new(&self.instance, &config.names));
        self.connections.set_limits(config.limits.clone());
        self.devices().set_idle(config.idle_expiry);
        self.authority().set_limits(config.pairing.clone());
        // Somebody may be the next to expire now.
        self.devices_changed.notify_one();
    }

    /// Ends the remote connections whose peers have no business here any more, and says how many; no others notice. Each has a
    /// moment to finish what is in flight, and begins nothing.
    pub async fn close_peers(&self, goes: impl Fn(&RemotePeer) -> bool) -> u64 {
        let goes = |peer: &Peer| matches!(peer, Peer::Remote(remote) if goes(remote));
        self.connections.close_those(goes, FAREWELL).await as u64
    }
}

impl HeldDoors<'_> {
    /// Whether remote listeners are open: not while the daemon is locked down. What is bound then is closed again unheard.
    pub fn are_open(&self) -> bool {
        !self.access.is_locked_down()
    }

    /// Changes the listeners; returns when those that close are closed with all that they accepted, and says how many
    /// connections that were. While the daemon is locked down nothing is opened.
    pub async fn change(&self, change: DoorChange, link_authority: Option<String>) -> u64 {
        if !self.are_open() {
            return 0;
        }
        self.access.set_link_authority(link_authority);
        let (done, ended) = oneshot::channel();
        self.access
            .lockdown
            .order_unless_locked(Order::Change(change, done));
        // Where nobody serves any more there is nothing to close either.
        let Ok(ended) = ended.await else { return 0 };
        if ended.is_empty() {
            return 0;
        }
        self.access
            .close_peers(|peer| ended.contains(&peer.generation))
            .await
    }
}

/// How long what a closed listener accepted has to finish what is in flight, and to say that it goes.
const FAREWELL: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests;
