//! The registry's maps: plain data, changed under its lock alone.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::SocketAddr,
    sync::Arc,
};

use pairing::{DeviceId, GuestId, Principal, ResourceId, TailnetIdentity};

use super::{Connection, ConnectionId, Refused};
use crate::{limits::Limits, peer::Peer};

#[derive(Default)]
pub(super) struct Table {
    limits: Limits,
    last: u64,
    /// Every remote way in is closed: what comes all the same is cut.
    is_locked_down: bool,
    rows: BTreeMap<ConnectionId, Row>,
    /// What the rows take together.
    descriptors: usize,
    /// Remote connections without owner; the first is the oldest.
    unowned: BTreeSet<ConnectionId>,
    owned: HashMap<Owner, BTreeSet<ConnectionId>>,
    /// What moved on connections that are gone, local ones and remote ones.
    gone: [Traffic; 2],
}

/// Bytes that moved, as they are on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Read.
    pub(crate) received: u64,
    /// Written.
    pub(crate) sent: u64,
}

/// Which connections there are, and what moved on these and on all before them.
#[derive(Debug)]
pub(crate) struct Census {
    /// How many live, by the address that they came to, none for the Unix socket, and by who is at the other end.
    pub(crate) living: BTreeMap<(Option<SocketAddr>, &'static str), u64>,
    /// How many were accepted.
    pub(crate) accepted: u64,
    /// What moved on the Unix socket.
    pub(crate) local: Traffic,
    /// What moved on the listeners.
    pub(crate) remote: Traffic,
}

struct Row {
    connection: Arc<Connection>,
    owner: Option<Owner>,
    /// What it takes; nothing of one that has to go.
    descriptors: usize,
}

/// What connections are counted and closed by: a device keeps its connections when its role changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Local,
    Session(ResourceId),
    Device(DeviceId),
    Guest(GuestId),
}

impl Owner {
    fn kind(&self) -> &'static str {
        match self {
            Self::Local => "owner",
            Self::Session(_) => "session",
            Self::Device(_) => "device",
            Self::Guest(_) => "guest",
        }
    }
}

impl Traffic {
    fn add(&mut self, more: Self) {
        self.received = self.received.saturating_add(more.received);
        self.sent = self.sent.saturating_add(more.sent);
    }
}

impl Table {
    pub(super) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub(super) fn next_id(&mut self) -> ConnectionId {
        self.last += 1;
        ConnectionId(self.last)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn count_of(&self, owner: &Owner) -> usize {
        self.owned.get(owner).map_or(0, BTreeSet::len)
    }

    pub(super) fn census(&self) -> Census {
        let mut living = BTreeMap::new();
        let [mut local, mut remote] = self.gone;
        for row in self.rows.values() {
            let (listener, traffic) = match row.connection.peer() {
                Peer::Local(_) => (None, &mut local),
                Peer::Remote(peer) => (Some(peer.listener), &mut remote),
            };
            traffic.add(row.connection.traffic());
            let principal = row.owner.as_ref().map_or("nobody", Owner::kind);
            *living.entry((listener, principal)).or_default() += 1;
        }
        Census {
            living,
            accepted: self.last,
            local,
            remote,
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Connection>> {
        self.rows
            .values()
            .map(|row| Arc::clone(&row.connection))
            .collect()
    }

    /// Enters it, and takes out of the pool whoever has to go for it.
    pub(super) fn accept(&mut self, connection: Arc<Connection>) -> Vec<Arc<Connection>> {
        let limits = &self.limits;
        let is_shut_out = self.is_locked_down && !connection.peer().is_local();
        let is_full = self.unowned.len() >= limits.unauthenticated || self.rows.len() >= limits.connections;
        let descriptors = connection.descriptors();
        self.descriptors += descriptors;
        let is_pooled = !connection.peer().is_own();
        let id = connection.id();
        if is_pooled {
            self.unowned.insert(id);
        }
        let shut_out = is_shut_out.then(|| Arc::clone(&connection));
        self.rows.insert(
            id,
            Row {
                connection,
                owner: None,
                descriptors,
            },
        );
        if shut_out.is_some() || !is_pooled {
            return shut_out.into_iter().collect();
        }
        // With none older the newcomer itself is the oldest: the table is full of connections that have owners.
        let mut over = Vec::new();
        while self.descriptors > self.limits.descriptors || (is_full && over.is_empty()) {
            match self.pop_oldest_unowned() {
                Some(oldest) => over.push(oldest),
                None => break,
            }
        }
        over
    }

    pub(super) fn lock_down(&mut self) {
        self.is_locked_down = true;
    }

    pub(super) fn open(&mut self) {
        self.is_locked_down = false;
    }

    pub(super) fn is_locked_down(&self) -> bool {
        self.is_locked_down
    }

    pub(super) fn remote(&self) -> Vec<Arc<Connection>> {
        self.rows
            .values()
            .filter(|row| !row.connection.peer().is_local())
            .map(|row| Arc::clone(&row.connection))
            .collect()
    }

    /// Those whose peers the tailnet knows, with these and their owners.
    pub(super) fn tailnet(
        &self,
    ) -> impl Iterator<Item = (&Arc<Connection>, &TailnetIdentity, Option<&Owner>)> {
        self.rows.values().filter_map(|row| match row.connection.peer() {
            Peer::Remote(remote) => {
                let who = remote.tailnet.as_deref()?;
                Some((&row.connection, who, row.owner.as_ref()))
            }
            Peer::Local(_) => None,
        })
    }

    pub(super) fn bind(&mut self, id: ConnectionId, owner: Owner) -> Result<(), Refused> {
        // Its stream may have been dropped meanwhile; then nothing can be sent on it, and nothing may be entered.
        let row = self.rows.get_mut(&id).ok_or(Refused::Ended)?;
        match &row.owner {
            Some(present) if *present == owner => return Ok(()),
            Some(_) => return Err(Refused::OtherPrincipal),
            None => (),
        }
        let owned = self.owned.entry(owner.clone()).or_default();
        if owned.len() >= self.limits.per_principal {
            return Err(Refused::TooMany);
        }
        owned.insert(id);
        row.owner = Some(owner);
        self.unowned.remove(&id);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: ConnectionId) {
        self.unowned.remove(&id);
        let Some(row) = self.rows.remove(&id) else {
            return;
        };
        // Under the same lock as a census, so that none misses it or has it twice.
        let [local, remote] = &mut self.gone;
        let gone = if row.connection.peer().is_local() {
            local
        } else {
            remote
        };
        gone.add(row.connection.traffic());
        self.descriptors -= row.descriptors;
        let Some(owner) = row.owner else { return };
        if let Some(owned) = self.owned.get_mut(&owner) {
            owned.remove(&id);
            if owned.is_empty() {
                self.owned.remove(&owner);
            }
        }
    }

    pub(super) fn pop_oldest_unowned(&mut self) -> Option<Arc<Connection>> {
        let oldest = self.unowned.pop_first()?;
        let row = self.rows.get_mut(&oldest)?;
        self.descriptors -= std::mem::take(&mut row.descriptors);
        Some(Arc::clone(&row.connection))
    }

    pub(super) fn of(&self, owner: &Owner) -> Vec<Arc<Connection>> {
        let ids = self.owned.get(owner).into_iter().flatten();
        ids.filter_map(|id| self.rows.get(id))
            .map(|row| Arc::clone(&row.connection))
            .collect()
    }

    pub(super) fn has(&self, id: ConnectionId) -> bool {
        self.rows.contains_key(&id)
    }
}

pub(super) fn owner_of(principal: &Principal) -> Option<Owner> {
    match principal {
        Principal::Owner => Some(Owner::Local),
        Principal::Session(session) => Some(Owner::Session(session.clone())),
        Principal::Device { id, .. } => Some(Owner::Device(*id)),
        Principal::Guest(id) => Some(Owner::Guest(*id)),
        Principal::Nobody => None,
    }
}
