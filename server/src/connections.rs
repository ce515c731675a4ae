//! Every live connection, by principal; and the switch that ends one.
//!
//! An upgraded WebSocket outlives the HTTP task that accepted it, so the accepted stream itself, below TLS, owns the entry.
//! Whatever runs above it, cutting the stream ends it.

mod connection;
mod lock;
mod table;

use std::{
    convert::Infallible,
    fmt,
    pin::pin,
    sync::{Arc, PoisonError},
    time::Duration,
};

use pairing::{Authenticated, DeviceId, GuestId, ResourceId, TailnetIdentity};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

pub use self::connection::{Connection, ConnectionId};
pub(crate) use self::connection::{InFlight, PublicRequest};
use self::lock::{Mutex, MutexGuard};
pub(crate) use self::table::{Census, Traffic};
use self::table::{Owner, Table, owner_of};
use crate::{
    limits::{CLOSE_FRAME, Limits},
    peer::Peer,
    stream::Socket,
};

/// Why a connection was not given to a principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It belongs to another one.
    #[error("this connection belongs to another principal")]
    OtherPrincipal,
    /// The principal has as many as it may.
    #[error("this principal has as many connections as it may")]
    TooMany,
    /// The principal ended, or its role changed, since it was authenticated.
    #[error("this authentication has ended")]
    Ended,
    /// The peer may come as a guest only, and this is none.
    #[error("whoever comes by an invitation may come as a guest only")]
    GuestsOnly,
}

/// How somebody of a tailnet who has come stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// As whatever they are.
    Fully,
    /// As a guest, or to become one.
    AsGuest,
    /// Not at all.
    Not,
}

/// The registry of live connections; clones are the same registry.
#[derive(Clone)]
pub struct Connections {
    shared: Arc<Shared>,
}

struct Shared {
    /// No async mutex: it is held for a few map operations, never across an await, and no socket is closed under it.
    table: Mutex<Table>,
    /// Woken whenever an entry goes.
    gone: Notify,
    /// The parent of every connection's `ending`.
    ending: CancellationToken,
}

impl Connections {
    /// A registry without connections.
    pub fn new(limits: Limits) -> Self {
        let shared = Shared {
            table: Mutex::default(),
            gone: Notify::new(),
            ending: CancellationToken::new(),
        };
        let connections = Self {
            shared: Arc::new(shared),
        };
        connections.set_limits(limits);
        connections
    }

    /// How many connections live.
    pub fn count(&self) -> usize {
        self.table().len()
    }

    /// How many connections of a device live.
    pub fn count_of(&self, device: DeviceId) -> usize {
        self.table().count_of(&Owner::Device(device))
    }

    /// Which there are, and what moved on them.
    pub(crate) fn census(&self) -> Census {
        self.table().census()
    }

    /// How many connections of a guest live.
    pub(crate) fn count_of_guest(&self, guest: GuestId) -> usize {
        self.table().count_of(&Owner::Guest(guest))
    }

    /// Enters an accepted stream. Where the pool of remote streams without owner is full, or descriptors run out, its oldest are cut
    /// to make room.
    pub(crate) fn accept(&self, peer: Peer, socket: Socket) -> Entry {
        let (connection, crowded_out) = {
            let mut table = self.table();
            let ending = self.shared.ending.child_token();
            let connection = Arc::new(Connection::new(table.next_id(), peer, socket, ending));
            (Arc::clone(&connection), table.accept(connection))
        };
        for oldest in crowded_out {
            tracing::debug!(peer = %oldest.peer(), "dropped the oldest unauthenticated connection");
            oldest.cut();
        }
        Entry {
            connection,
            connections: self.clone(),
        }
    }

    /// Cuts the oldest remote stream without owner, to free its descriptor; false if there is none.
    pub(crate) fn cut_oldest_unowned(&self) -> bool {
        let oldest = {
            let mut table = self.table();
            table.pop_oldest_unowned()
        };
        oldest.inspect(|connection| connection.cut()).is_some()
    }

    /// Gives a connection to who was authenticated on it, or checks that it is theirs already. Whether the principal still
    /// lives is compared again under the lock that revocation takes, so no order of the two leaves a connection behind.
    ///
    /// # Errors
    /// See [`Refused`]; the connection stays as it was.
    pub(crate) fn bind(&self, connection: &Connection, authenticated: &Authenticated) -> Result<(), Refused> {
        let Some(owner) = owner_of(authenticated.principal()) else {
            return Ok(());
        };
        let mut table = self.table();
        // Under the lock, since a connection may be put into the guests' lane while it lives.
        if connection.is_in_guest_lane() && !matches!(owner, Owner::Guest(_)) {
            return Err(Refused::GuestsOnly);
        }
        if !authenticated.is_current() {
            return Err(Refused::Ended);
        }
        if !connection.peer().is_local() && table.is_locked_down() {
            return Err(Refused::Ended);
        }
        table.bind(connection.id(), owner)
    }

    /// Ends a device under the registry's lock: `end` makes it dead, and with what it returned comes every connection that the
    /// device had. Of these nothing but a close frame may leave any more.
    ///
    /// # Errors
    /// Those of `end`; then nothing is closed.
    pub(crate) fn end<T, E>(
        &self,
        device: DeviceId,
        end: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Ended), E> {
        self.end_owner(&Owner::Device(device), end)
    }

    /// Says on every connection of a device that what it may do has changed.
    pub(crate) fn say_changed(&self, device: DeviceId) {
        let connections = self.table().of(&Owner::Device(device));
        connections.iter().for_each(|connection| connection.say_changed());
    }

    /// The same for a guest.
    ///
    /// # Errors
    /// Those of `end`; then nothing is closed.
    pub(crate) fn end_guest<T, E>(
        &self,
        guest: GuestId,
        end: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Ended), E> {
        self.end_owner(&Owner::Guest(guest), end)
    }

    /// The same for the programs inside of a session.
    pub(crate) fn end_inside(&self, session: ResourceId, end: impl FnOnce()) -> Ended {
        let end = || {
            end();
            Ok::<_, Infallible>(())
        };
        match self.end_owner(&Owner::Session(session), end) {
            Ok(((), ended)) => ended,
            Err(never) => match never {},
        }
    }

    fn end_owner<T, E>(&self, owner: &Owner, end: impl FnOnce() -> Result<T, E>) -> Result<(T, Ended), E> {
        let (ended, connections) = {
            let table = self.table();
            (end()?, table.of(owner))
        };
        Ok((ended, Ended::of(connections)))
    }

    /// Ends everything remote under the registry's lock: `end` makes it dead. From then on every remote stream that comes is cut,
    /// and none is given to anybody.
    pub(crate) fn lock_down<T>(&self, end: impl FnOnce() -> T) -> (T, Ended) {
        let (ended, connections) = {
            let mut table = self.table();
            table.lock_down();
            (end(), table.remote())
        };
        (ended, Ended::of(connections))
    }

    /// Takes remote streams again.
    pub(crate) fn open(&self) {
        self.table().open();
    }

    /// Cuts every connection that a device has now, and says how many.
    pub(crate) fn disconnect(&self, device: DeviceId) -> usize {
        let connections = self.table().of(&Owner::Device(device));
        connections.iter().for_each(|connection| connection.cut());
        connections.len()
    }

    /// Bounds what comes next by other limits.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.table().set_limits(limits);
    }

    /// Ends the connections to such peers, and says how many: each is told to finish, and cut where it has not after that time.
    /// Returns when each is gone.
    pub(crate) async fn close_those(&self, goes: impl Fn(&Peer) -> bool, farewell: Duration) -> usize {
        let all = self.table().all();
        let going: Vec<_> = all.iter().filter(|connection| goes(connection.peer())).collect();
        going
            .iter()
            .for_each(|connection| connection.ending_token().cancel());
        let _ = timeout(farewell, self.until_gone(&going)).await;
        going.iter().for_each(|connection| connection.cut());
        going.len()
    }

    /// Cuts those connections of the guests' lane whose peers have no business there any more.
    pub(crate) fn close_guest_lane(&self, may_stay: impl Fn(&Peer) -> bool) {
        let all = self.table().all();
        let in_lane = all.iter().filter(|connection| connection.is_in_guest_lane());
        in_lane
            // The answer to who left is on its way, and its stream is cut after it.
            .filter(|connection| !connection.is_kept_for_answer() && !may_stay(connection.peer()))
            .for_each(|connection| connection.cut());
    }

    /// Cuts those connections of a tailnet that may not stay, and says how many. Those that may as guests, and belong to nobody
    /// else yet, are put into the guests' lane.
    pub(crate) fn judge(&self, stay: impl Fn(&TailnetIdentity) -> Stay) -> usize {
        let over = {
            let table = self.table();
            let over = table
                .tailnet()
                .filter(|(connection, who, owner)| match stay(who) {
                    Stay::Fully => false,
                    Stay::Not => true,
                    Stay::AsGuest if matches!(owner, None | Some(Owner::Guest(_))) => {
                        connection.set_guest_lane();
                        false
                    }
                    Stay::AsGuest => true,
                });
            let over: Vec<_> = over.map(|(connection, ..)| Arc::clone(connection)).collect();
            over
        };
        over.iter().for_each(|connection| connection.cut());
        over.len()
    }

    /// Cuts ended connections: plain ones at once, upgraded ones after the time for one close frame. Returns when each is cut.
    ///
    /// Of a crowd of plain ones most are cut behind the upgraded ones: the close frames would wait for a thousand tasks that are
    /// torn down. Meanwhile no answer begins or goes on on them either.
    pub(crate) async fn cut(&self, ended: &Ended) {
        let (upgraded, plain): (Vec<_>, Vec<_>) = ended.connections.iter().partition(|one| one.is_upgraded());
        // Also those that were not upgraded yet when it was ended.
        upgraded.iter().for_each(|connection| connection.tell_revoked());
        let (first, crowd) = plain.split_at(plain.len().min(CROWD));
        first.iter().for_each(|connection| connection.cut());
        let deadline = Instant::now() + CLOSE_FRAME;
        // The time is one for all: a thousand streams do not add up.
        let _ = tokio::time::timeout_at(deadline, self.until_gone(&upgraded)).await;
        upgraded
            .iter()
            .chain(crowd)
            .for_each(|connection| connection.cut());
    }

    /// Tells every connection, and each that is still accepted, to finish what is in flight.
    pub(crate) fn drain(&self) {
        self.shared.ending.cancel();
    }

    /// Completes when no connection is left.
    pub(crate) async fn until_empty(&self) {
        self.until(|table| table.len() == 0).await;
    }

    /// Cuts every connection.
    pub(crate) fn cut_all(&self) {
        let all = self.table().all();
        all.iter().for_each(|connection| connection.cut());
    }

    /// Completes when none of these is left.
    async fn until_gone(&self, connections: &[&Arc<Connection>]) {
        let mut left = connections.to_vec();
        // The one that was told last mostly goes last, so that each look is short.
        let are_gone = |table: &Table| {
            while left.pop_if(|last| !table.has(last.id())).is_some() {}
            left.is_empty()
        };
        self.until(are_gone).await;
    }

    async fn until(&self, mut holds: impl FnMut(&Table) -> bool) {
        loop {
            // Enabled before the look at the table, so that an entry which goes in between is not missed.
            let mut gone = pin!(self.shared.gone.notified());
            gone.as_mut().enable();
            if holds(&self.table()) {
                return;
            }
            gone.await;
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connections")
            .field("count", &self.count())
            .finish()
    }
}

/// The connections of a principal that has ended.
pub(crate) struct Ended {
    connections: Vec<Arc<Connection>>,
}

impl Ended {
    /// Has each know that its principal has ended, and those notice it that have a close frame to write; the others do when they
    /// are cut.
    fn of(connections: Vec<Arc<Connection>>) -> Self {
        connections.iter().for_each(|connection| connection.set_revoked());
        let upgraded = connections.iter().filter(|connection| connection.is_upgraded());
        upgraded.for_each(|connection| connection.tell_revoked());
        Self { connections }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.connections.len()
    }

    /// Cuts them all without a word: whoever is at the other end may come again when the way in is open.
    pub(crate) fn cut_now(&self) {
        self.connections.iter().for_each(|connection| connection.cut());
    }

    /// Takes out the principal's own, which carries the answer away; from here on it is whoever took it that cuts it.
    pub(crate) fn take(&mut self, own: ConnectionId) -> Option<Arc<Connection>> {
        let place = self
            .connections
            .iter()
            .position(|connection| connection.id() == own)?;
        let connection = self.connections.swap_remove(place);
        connection.keep_for_answer();
        connection.tell_revoked();
        Some(connection)
    }
}

impl Drop for Ended {
    /// To close a thousand sockets takes longer than to reset them, and nobody has to wait for that.
    fn drop(&mut self) {
        if self.connections.len() > CROWD
            && let Ok(runtime) = Handle::try_current()
        {
            let connections = std::mem::take(&mut self.connections);
            runtime.spawn_blocking(move || drop(connections));
        }
    }
}

/// A stream's place in the registry; dropping it is the only way out of it.
pub(crate) struct Entry {
    connection: Arc<Connection>,
    connections: Connections,
}

impl Entry {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        // A revoked stream is reset: closing it politely would still send what is queued. With an HTTP/1 answer that closes,
        // the stream goes the moment it is written; a reset then would take from the peer what is still on its way.
        if self.connection.is_revoked() && !self.connection.is_kept_for_answer() {
            self.connection.cut();
        }
        self.connections.table().remove(self.connection.id());
        self.connections.shared.gone.notify_waiters();
    }
}

/// More ended connections than these are a crowd: plain ones beyond them are cut behind the close frames, and the sockets are closed
/// aside.
const CROWD: usize = 64;

#[cfg(test)]
mod tests;
