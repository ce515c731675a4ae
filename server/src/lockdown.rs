//! Lock-down: every remote way in is closed, also after a restart, until the owner opens them again.

mod lift;
mod watch;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use certs::files::{self, FileError};
use futures_util::future::BoxFuture;
use pairing::{Authority, Generation, GuestRecord, Standing, UnixMillis};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    time::{timeout, timeout_at},
};

pub(crate) use self::{
    lift::lift,
    watch::{Waiting, Watch},
};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    clock,
    connections::{ConnectionId, Ended},
    error::Failure,
    listen::Listener,
    reload::DoorChange,
    request,
    revocation::{Revoker, cut_after_answer, until_quiet},
    shutdown::{Shutdown, Stop},
};

/// The remote ways in. Whoever starts the server opens them; the access layer says when, and closes them.
pub trait Doors: Send + Sync + 'static {
    /// Binds the remote listeners, as at the start.
    fn open(&self) -> BoxFuture<'_, io::Result<OpenDoors>>;

    /// Told once every listener that was opened is dropped: a socket that somebody else holds as well listens on by itself.
    fn closed(&self) {}
}

/// What was opened.
#[derive(Debug, Default)]
pub struct OpenDoors {
    /// The bound listeners.
    pub listeners: Vec<Listener>,
    /// Host and port that an offer's link begins with, from now on.
    pub link_authority: Option<String>,
}

/// No remote way in at all.
#[derive(Clone, Copy, Debug)]
pub struct NoDoors;

impl Doors for NoDoors {
    fn open(&self) -> BoxFuture<'_, io::Result<OpenDoors>> {
        Box::pin(async { Ok(OpenDoors::default()) })
    }
}

/// One TLS listener at one address, which is bound again as it was.
#[derive(Clone, Debug)]
pub struct OneDoor {
    address: SocketAddr,
    config: Arc<rustls::ServerConfig>,
}

impl OneDoor {
    /// The address of a listener that is bound already, and what it speaks, as made by [`certs::server_config`].
    pub fn new(address: SocketAddr, config: &Arc<rustls::ServerConfig>) -> Self {
        let config = Arc::clone(config);
        Self { address, config }
    }
}

impl Doors for OneDoor {
    fn open(&self) -> BoxFuture<'_, io::Result<OpenDoors>> {
        Box::pin(async {
            let listener = TcpListener::bind(self.address).await?;
            let config = Arc::clone(&self.config);
            Ok(OpenDoors {
                listeners: vec![Listener::Tls { listener, config }],
                link_authority: Some(self.address.to_string()),
            })
        })
    }
}

/// The file that says it: present or unreadable means locked.
#[derive(Clone, Debug)]
pub struct LockdownFile(PathBuf);

impl LockdownFile {
    /// The file in a state directory.
    pub fn new(state: &Path) -> Self {
        Self(state.join("lockdown"))
    }

    /// Whether it is there, or cannot be looked for. To be asked before anything remote is bound.
    pub fn is_locked(&self) -> bool {
        !matches!(self.0.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Makes it last. One that is there is synced once more: it may be what an attempt left that failed after it had its name.
    ///
    /// # Errors
    /// When the system says no.
    pub fn create(&self) -> Result<(), FileError> {
        match self.is_locked() {
            true => files::sync(&self.0),
            // Empty: a full disk has room for that.
            false => files::create(&self.0, &[]),
        }
    }

    /// Takes it away for good.
    ///
    /// # Errors
    /// When the system says no: then it is locked still.
    pub fn remove(&self) -> Result<(), FileError> {
        files::remove(&self.0)
    }
}

/// What the server's own task is told about its remote listeners.
#[derive(Debug)]
pub(crate) enum Order {
    /// Close them all, and say when that is done.
    Close(oneshot::Sender<()>),
    /// Accept on these.
    Open(Vec<Listener>),
    /// Change some of them, and say which generations have ended by that.
    Change(DoorChange, oneshot::Sender<Vec<Generation>>),
}

/// Where the lock-down stands.
pub(crate) struct Lockdown {
    file: LockdownFile,
    /// Finds the file where somebody else made it.
    pub(crate) watch: Arc<Watch>,
    doors: Arc<dyn Doors>,
    is_locked: AtomicBool,
    /// How often all that was being paired was ended. Written under the authority's lock.
    count: AtomicU64,
    /// One change of what is open at a time. A lock-down takes no turn: whoever has it may wait for a disk.
    turn: tokio::sync::Mutex<()>,
    /// One lock-down at a time; held for no longer than one may take.
    closing: tokio::sync::Mutex<()>,
    /// How often it was wanted: what was begun before the last one opens nothing. Written under the lock of the orders.
    wanted: Arc<AtomicU64>,
    /// One change of the file at a time, in the order in which they were wanted.
    disk: Arc<tokio::sync::Mutex<()>>,
    /// Locked while it is decided whether something may be opened, and until that is ordered: an order of before a lock-down comes
    /// before the one to close, and there is none after it.
    orders: Mutex<mpsc::UnboundedSender<Order>>,
    /// Taken by the server when it begins to serve.
    received: Mutex<Option<mpsc::UnboundedReceiver<Order>>>,
}

impl Lockdown {
    pub(crate) fn new(file: LockdownFile, doors: Arc<dyn Doors>) -> Self {
        let (orders, received) = mpsc::unbounded_channel();
        let is_locked = file.is_locked();
        Self {
            is_locked: AtomicBool::new(is_locked),
            watch: Arc::new(Watch::new(file.clone(), !is_locked)),
            file,
            doors,
            count: AtomicU64::new(0),
            turn: tokio::sync::Mutex::default(),
            closing: tokio::sync::Mutex::default(),
            wanted: Arc::default(),
            disk: Arc::default(),
            orders: Mutex::new(orders),
            received: Mutex::new(Some(received)),
        }
    }

    /// Whether nothing remote may come in: this daemon closed it, or is about to, as it was told to while it hung; that was found by
    /// the last look.
    pub(crate) fn is_locked(&self) -> bool {
        self.is_closed() || self.watch.has_found()
    }

    fn is_closed(&self) -> bool {
        self.is_locked.load(Ordering::Acquire)
    }

    /// Whether the file is there now. Waits for the file system.
    async fn is_written_down(&self) -> bool {
        let file = self.file.clone();
        // What cannot be looked for means locked.
        tokio::task::spawn_blocking(move || file.is_locked())
            .await
            .unwrap_or(true)
    }

    /// Ends whatever is offered, requested or being committed, by one of the ways that the authority has for that.
    pub(crate) fn end_pairings(&self, authority: &mut Authority, end: fn(&mut Authority, UnixMillis)) {
        end(authority, clock::latest());
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// How often all that was being paired was ended in this life, by a lock-down or another identity key: a pairing that is being
    /// committed ends where it was meanwhile. Asked under the authority's lock before the commit, and under that of the devices
    /// after it.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Notes that devices may come in again.
    pub(crate) fn lifted(&self) {
        self.is_locked.store(false, Ordering::Release);
        self.watch.resume();
    }

    /// The orders, for who serves. A second server gets none.
    pub(crate) fn orders(&self) -> Option<mpsc::UnboundedReceiver<Order>> {
        self.received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Waits for the turn to change the remote ways in, or to open them again.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Orders something of who serves, unless it is locked down: then it is dropped.
    pub(crate) fn order_unless_locked(&self, order: Order) {
        let orders = self.sender();
        if !self.is_closed() {
            // Where nobody serves any more it is dropped.
            orders.send(order).ok();
            return;
        }
        drop((orders, order));
        self.doors.closed();
    }

    /// Closes the remote listeners; returns when they are closed.
    async fn close(&self) {
        let (done, closed) = oneshot::channel();
        // Where nobody serves any more there is no listener either.
        let is_ordered = self.sender().send(Order::Close(done)).is_ok();
        if is_ordered {
            closed.await.ok();
        }
        self.doors.closed();
    }

    /// Notes that the remote listeners were dropped before one accepted.
    pub(crate) fn never_opened(&self) {
        self.doors.closed();
    }

    fn sender(&self) -> MutexGuard<'_, mpsc::UnboundedSender<Order>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has whatever opens the remote ways in and is under way come to nothing.
    fn supersede(&self) {
        let _orders = self.sender();
        self.wanted.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes the file, unless a lock-down is wanted since this attempt to lift the one before: that one makes it last by it.
    fn remove_file(&self, attempt: u64) -> impl Future<Output = Result<(), DiskError>> + use<> {
        let wanted = Arc::clone(&self.wanted);
        self.on_disk(move |file| match wanted.load(Ordering::Acquire) == attempt {
            true => file.remove(),
            false => Ok(()),
        })
    }

    /// Changes the file, after the changes before. It is done even if nobody waits for it any more.
    fn on_disk<C>(&self, change: C) -> impl Future<Output = Result<(), DiskError>> + use<C>
    where
        C: FnOnce(&LockdownFile) -> Result<(), FileError> + Send + 'static,
    {
        let (file, disk) = (self.file.clone(), Arc::clone(&self.disk));
        let changing = tokio::spawn(async move {
            let _turn = disk.lock().await;
            Ok(tokio::task::spawn_blocking(move || change(&file)).await??)
        });
        async move { changing.await? }
    }
}

/// What a lock-down came to.
pub(crate) struct Outcome {
    pub(crate) answer: Result<protocol::access::LockedDown, Failure>,
    /// Whether the principal came by a remote connection, which is cut shortly after the answer.
    pub(crate) was_remote: bool,
}

/// Closes every remote way in; returns when nothing leaves by one any more. It goes on to its end even if the principal
/// does not wait.
pub(crate) async fn lock_down(access: &Arc<Access>, by: Revoker) -> Outcome {
    let was_remote = !by.connection.peer().is_local();
    let access = Arc::clone(access);
    let closing = request::spawn(async move { close_all(&access, by).await });
    let answer = closing
        .await
        .unwrap_or_else(|crash| Err(Failure::internal(&crash)));
    Outcome { answer, was_remote }
}

async fn close_all(access: &Arc<Access>, by: Revoker) -> Result<protocol::access::LockedDown, Failure> {
    let started = Instant::now();
    let closing = access.lockdown.closing.lock().await;
    let row = by.row("");
    if let Err(ended) = by.check() {
        drop(closing);
        return Err(by.refused(access, row, ended).await);
    }
    access.lockdown.supersede();
    // On the disk first: what is closed must not come back with a crash. A disk that hangs keeps nothing open.
    let deadline = tokio::time::Instant::from_std(started + DISK);
    let kept = timeout_at(deadline, access.lockdown.on_disk(LockdownFile::create))
        .await
        .unwrap_or_else(|_| Err("the disk does not answer".into()));
    let closed = shut(access, row, Some(by.connection.id()), deadline).await;
    kept.map_err(|error| {
        tracing::error!(%error, "the lock-down could not be made to last; it would end with a restart");
        Failure::LockedInMemoryOnly
    })?;
    Ok(protocol::access::LockedDown {
        closed,
        elapsed_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
    })
}

/// Closes what came in remotely, and says how many there were. `own` is kept until its answer has left.
async fn shut(
    access: &Access,
    row: AuditRow,
    own: Option<ConnectionId>,
    deadline: tokio::time::Instant,
) -> u64 {
    let (standings, guests, mut ended) = end_all(access);
    if own.is_some() {
        // The file is this daemon's own, and whoever asked for it may be remote and shall have the answer.
        access.lockdown.watch.pause();
    }
    access.lockdown.close().await;
    let closed = ended.count() as u64;
    let own = own.and_then(|id| ended.take(id));
    ended.cut_now();
    // What was found is shut by the look alone until every stream is cut.
    access.lockdown.watch.pause();
    let written = access.store.end_guests(guests, clock::latest(), row);
    let (written, ()) = tokio::join!(timeout_at(deadline, written), all_quiet(&standings));
    own.into_iter().for_each(cut_after_answer);
    // It narrows: it goes on without its row. Guests end in the store when it is lifted, at the latest.
    match written {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "a lock-down could not be written to the audit trail"),
        Err(_) => tracing::error!("the row of a lock-down waits for the disk"),
    }
    tracing::warn!(closed, "locked down: every remote way in is closed");
    closed
}

/// Locks down whenever it finds that this was written down without a daemon, until the soft stop. Nothing remote is served from
/// the moment on at which it is found.
pub(crate) async fn follow(access: Arc<Access>, stop: Stop) {
    loop {
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            () = access.lockdown.watch.found() => take_up(&access).await,
        }
    }
}

async fn take_up(access: &Access) {
    let lockdown = &access.lockdown;
    let _closing = lockdown.closing.lock().await;
    if lockdown.is_closed() {
        return;
    }
    match timeout(DISK, lockdown.is_written_down()).await.unwrap_or(true) {
        true => shut_as_written_down(access).await,
        // It was lifted meanwhile.
        false => lockdown.watch.resume(),
    }
}

/// Does what was answered as done when it was written down: nothing that came in before comes back when it is lifted.
async fn shut_as_written_down(access: &Access) {
    let row = AuditRow::new(clock::now(), "daemon", "", action::LOCKED_DOWN, "")
        .detail("it was written down while this daemon did not answer");
    shut(access, row, None, tokio::time::Instant::now() + DISK).await;
}

/// Ends what came in remotely, and what waits to: whose writes may still be under way, the guests, and every connection.
pub(crate) fn end_all(access: &Access) -> (Vec<Arc<Standing>>, Vec<GuestRecord>, Ended) {
    access.lockdown.is_locked.store(true, Ordering::Release);
    let ((mut standings, guests), ended) = {
        let (mut devices, mut guests) = (access.devices(), access.guests());
        let end = || (devices.end_authentications(), guests.end_all(clock::latest()));
        access.connections().lock_down(end)
    };
    let guests = guests.into_iter().map(|guest| {
        standings.push(guest.standing);
        guest.record
    });
    let guests = guests.collect();
    access
        .lockdown
        .end_pairings(&mut access.authority(), Authority::lock_down);
    access.pairing_changed.notify_waiters();
    (standings, guests, ended)
}

async fn all_quiet(standings: &[Arc<Standing>]) {
    for standing in standings {
        until_quiet(standing).await;
    }
}

type DiskError = Box<dyn std::error::Error + Send + Sync>;

/// How long a lock-down waits for the disk before it goes on without.
const DISK: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
