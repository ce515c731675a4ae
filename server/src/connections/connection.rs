//! One accepted stream, and the switch that ends it.

use std::{
    fmt,
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use pairing::TailnetIdentity;
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::Traffic;
use crate::{
    peer::{LocalProcess, Peer, RemotePeer},
    stream::Socket,
};

/// The number of an accepted stream, counted from 1 in the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u64);

/// One accepted stream, upgraded or not.
pub struct Connection {
    id: ConnectionId,
    peer: Peer,
    /// The same with what the tailnet said of it, once it has.
    known: OnceLock<Peer>,
    /// It may come as a guest only: the tailnet's gate is open to it because of an invitation, and as long as that.
    is_in_guest_lane: AtomicBool,
    socket: Socket,
    /// Who is at the other end of the Unix socket, held since it was accepted.
    process: OnceLock<Box<dyn LocalProcess>>,
    is_upgraded: AtomicBool,
    /// Bytes that may still be read of it; none is left to read beyond that until this is lifted. `usize::MAX`: no bound.
    room: AtomicUsize,
    /// Who waits for the bound to be lifted.
    reader: AtomicWaker,
    /// Bytes that were read and written, each by one task at a time.
    received: AtomicU64,
    sent: AtomicU64,
    has_begun: AtomicBool,
    /// Requests whose answers have not ended.
    in_flight: AtomicUsize,
    /// Those of them that are of public routes and not answered yet.
    public: AtomicUsize,
    /// Its principal has ended: nothing but a close frame may still leave.
    is_revoked: AtomicBool,
    /// Wakes who waits for that. Of a crowd, those that have a close frame to send are woken first.
    revoked: CancellationToken,
    /// Its principal ended itself here: a time for the answer to leave in ends the stream, not the drop of it.
    is_kept_for_answer: AtomicBool,
    /// Finish what is in flight, begin nothing: the daemon ends, or a foreign principal came.
    ending: CancellationToken,
    /// Woken when what its principal may do has changed.
    changed: Notify,
    /// The stream is cut. Cancelled before the socket is, so that nothing is written in between.
    cut: CancellationToken,
    /// All of that is done.
    is_cut: AtomicBool,
}

impl Connection {
    pub(super) fn new(id: ConnectionId, peer: Peer, socket: Socket, ending: CancellationToken) -> Self {
        Self {
            id,
            peer,
            known: OnceLock::new(),
            is_in_guest_lane: AtomicBool::new(false),
            socket,
            process: OnceLock::new(),
            is_upgraded: AtomicBool::new(false),
            room: AtomicUsize::new(usize::MAX),
            reader: AtomicWaker::new(),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            has_begun: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            public: AtomicUsize::new(0),
            is_revoked: AtomicBool::new(false),
            revoked: CancellationToken::new(),
            is_kept_for_answer: AtomicBool::new(false),
            ending,
            changed: Notify::new(),
            cut: CancellationToken::new(),
            is_cut: AtomicBool::new(false),
        }
    }

    /// The number of the connection.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// How many descriptors its stream takes.
    pub(super) fn descriptors(&self) -> usize {
        self.socket.descriptors()
    }

    /// The other end.
    pub fn peer(&self) -> &Peer {
        self.known.get().unwrap_or(&self.peer)
    }

    /// Completes when the principal of this connection has ended: drop what is queued, try one close frame with 4401, go.
    pub fn revoked(&self) -> WaitForCancellationFuture<'_> {
        self.revoked.cancelled()
    }

    /// Whether the principal of this connection has ended.
    pub fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Acquire)
    }

    /// Completes when `is_current` is no more, as what its principal may do has changed; looks when that may be so.
    pub async fn until_changed(&self, is_current: impl Fn() -> bool) {
        loop {
            // Enabled before the look, so that a change in between is not missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if !is_current() {
                return;
            }
            changed.await;
        }
    }

    /// Notes that its principal has ended. Who waits for that is woken by [`tell_revoked`](Self::tell_revoked), or by the cut.
    pub(crate) fn set_revoked(&self) {
        self.is_revoked.store(true, Ordering::Release);
    }

    /// Wakes who waits for the end of its principal.
    pub(crate) fn tell_revoked(&self) {
        self.revoked.cancel();
    }

    pub(super) fn say_changed(&self) {
        self.changed.notify_waiters();
    }

    /// Completes when the connection shall end of its own accord: a WebSocket closes with 1012.
    pub fn ending(&self) -> WaitForCancellationFuture<'_> {
        self.ending.cancelled()
    }

    /// Whether the connection shall end of its own accord.
    pub fn is_ending(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// Completes when the other end has gone, whatever of it is still unread. For who does not read on before what came last
    /// has found room: it would not see the end otherwise. Looks once a second.
    pub async fn left(&self) {
        while !self.socket.is_left() {
            sleep(LOOK).await;
        }
    }

    /// Notes what the tailnet says of a remote peer, once, before anything is read of it.
    pub(crate) fn set_tailnet(&self, identity: TailnetIdentity) {
        if let Peer::Remote(remote) = &self.peer {
            let known = RemotePeer {
                tailnet: Some(Arc::new(identity)),
                ..remote.clone()
            };
            self.known.set(Peer::Remote(known)).ok();
        }
    }

    /// Notes that the peer may come as a guest only, before anything is read of it.
    pub(crate) fn set_guest_lane(&self) {
        self.is_in_guest_lane.store(true, Ordering::Release);
    }

    /// Whether the peer may come as a guest only.
    pub(crate) fn is_in_guest_lane(&self) -> bool {
        self.is_in_guest_lane.load(Ordering::Acquire)
    }

    /// Notes the process at the other end, once, before anything is read of it.
    pub(crate) fn set_process(&self, process: Box<dyn LocalProcess>) {
        self.process.set(process).ok();
    }

    /// The process at the other end of the Unix socket.
    pub(crate) fn process(&self) -> Option<&dyn LocalProcess> {
        self.process.get().map(|process| &**process)
    }

    pub(crate) fn revoked_token(&self) -> &CancellationToken {
        &self.revoked
    }

    pub(crate) fn ending_token(&self) -> &CancellationToken {
        &self.ending
    }

    pub(crate) fn cut_token(&self) -> &CancellationToken {
        &self.cut
    }

    pub(crate) fn set_upgraded(&self) {
        self.is_upgraded.store(true, Ordering::Release);
    }

    pub(crate) fn is_upgraded(&self) -> bool {
        self.is_upgraded.load(Ordering::Acquire)
    }

    /// Bounds what is still read of the stream, below TLS and WebSocket: what these keep of a frame that is not whole is the
    /// stranger's choice.
    pub(crate) fn bound_reads(&self, bytes: usize) {
        self.room.store(bytes, Ordering::Release);
    }

    /// Lifts the bound: it is known who is at the other end.
    pub(crate) fn lift_bound(&self) {
        self.room.store(usize::MAX, Ordering::Release);
        self.reader.wake();
    }

    /// How many bytes may be read now; pending while there is no room.
    pub(crate) fn poll_room(&self, context: &mut Context<'_>) -> Poll<usize> {
        let room = || self.room.load(Ordering::Acquire);
        if room() == 0 {
            // Before the second look, so that a bound which is lifted in between wakes.
            self.reader.register(context.waker());
        }
        match room() {
            0 => Poll::Pending,
            room => Poll::Ready(room),
        }
    }

    /// Notes that so many bytes were read.
    pub(crate) fn has_read(&self, count: usize) {
        self.received.fetch_add(count as u64, Ordering::Relaxed);
        let less = |room: usize| (room != usize::MAX).then(|| room.saturating_sub(count));
        // Without a bound there is nothing to note.
        let _ = self.room.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// Notes that so many bytes were written.
    pub(crate) fn has_written(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// What was read and written.
    pub(super) fn traffic(&self) -> Traffic {
        Traffic {
            received: self.received.load(Ordering::Relaxed),
            sent: self.sent.load(Ordering::Relaxed),
        }
    }

    pub(super) fn keep_for_answer(&self) {
        self.is_kept_for_answer.store(true, Ordering::Release);
    }

    pub(super) fn is_kept_for_answer(&self) -> bool {
        self.is_kept_for_answer.load(Ordering::Acquire)
    }

    /// Notes that a request came; it is in flight until its answer's body is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        self.has_begun.store(true, Ordering::Release);
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(self))
    }

    /// Notes that a request of a public route waits to be answered, until what is returned is dropped; none where there are so
    /// many already.
    pub(crate) fn begin_public(self: &Arc<Self>, most: usize) -> Option<PublicRequest> {
        // Counted before it is compared, so that none of two that come at once is one too many.
        let before = self.public.fetch_add(1, Ordering::AcqRel);
        let request = PublicRequest(Arc::clone(self));
        (before < most).then_some(request)
    }

    /// Whether a request ever came.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    /// Whether a request is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    /// Ends the stream now. After it no byte leaves, whoever still holds the stream.
    pub(crate) fn cut(&self) {
        if self.is_cut.load(Ordering::Acquire) {
            return;
        }
        self.cut.cancel();
        self.socket.reset();
        if self.is_revoked() {
            self.tell_revoked();
        }
        // Last: who finds it set relies on all of it.
        self.is_cut.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("id", &self.id.0)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// Between two looks at whether the other end has gone.
const LOOK: Duration = Duration::from_secs(1);

/// A request in flight.
pub(crate) struct InFlight(Arc<Connection>);

impl InFlight {
    /// Whether the principal of its connection has ended.
    pub(crate) fn is_revoked(&self) -> bool {
        self.0.is_revoked()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A request of a public route that is not answered.
pub(crate) struct PublicRequest(Arc<Connection>);

impl Drop for PublicRequest {
    fn drop(&mut self) {
        self.0.public.fetch_sub(1, Ordering::AcqRel);
    }
}
