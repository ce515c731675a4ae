//! The daemon's end of the keeper's socket.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::message::{Build, End, Refusal, Reply, Request, Step, Versions};
use super::start::{KeeperOptions, connect_to, start};
use super::{packet, plan};
use crate::descriptor;
use crate::id::SessionId;
use crate::journal::{Journal, UnixMs};
use crate::process::{Exit, Member, PeerProcess, Tree};
use crate::spawn::{self, Command, SpawnError};

mod incoming;

use incoming::State;

/// A connection to a keeper. Dropping it hands the sessions back: the keeper reads their terminals until the next one comes.
pub struct Keeper {
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
    /// One list at a time: its answers name no question.
    listing: tokio::sync::Mutex<()>,
}

/// A program on a terminal as the keeper holds it: what a [`Session`](crate::Session) takes over.
#[derive(Debug)]
pub struct Held {
    pub(crate) id: SessionId,
    /// The terminal's master; does not block.
    pub(crate) master: OwnedFd,
    /// Nobody else writes it while the keeper is connected.
    pub(crate) journal: Journal,
    pub(crate) tree: Tree,
    /// How the program ended, once it has. Closed without that where nobody can know: its keeper or its reaper was killed.
    pub(crate) end: watch::Receiver<Option<Exit>>,
}

impl Held {
    /// The session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// When it began.
    #[must_use]
    pub fn began(&self) -> UnixMs {
        self.journal.began()
    }

    /// The program's process, as long as it lives.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.tree.leader()
    }

    /// Whether the session has a cgroup, by which all of it can be killed whoever's it is.
    #[must_use]
    pub fn has_cgroup(&self) -> bool {
        self.tree.has_cgroup()
    }
}

/// A session that a keeper holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// The session.
    pub id: SessionId,
    /// How its program stands.
    pub state: Listing,
    /// Whether its program was executed: one that was not yet comes to whoever adopts it when it is.
    pub has_begun: bool,
    /// It was forgotten, and is there only because processes of it live: it cannot be adopted.
    pub is_forgotten: bool,
    reaper: Member,
    leader: u32,
}

/// How a listed session's program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// It runs.
    Running,
    /// It ended.
    Exited(Exit),
    /// Its reaper was killed, so nobody knows how it ended.
    Lost,
}

/// Where a process of this user comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// From no session.
    Outside,
    /// From this session.
    Inside(SessionId),
    /// It cannot be told, or it comes from the keeper and from no session that is known.
    Unknown,
}

/// Why a keeper does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// It was started by a version that this one cannot speak to.
    #[error("the keeper that runs is of another version, and holds sessions")]
    Version,
    /// It takes this process for one of its sessions' programs.
    #[error("the keeper does not serve this process: it runs inside one of its sessions")]
    Inside,
    /// It is not there any more.
    #[error("the keeper is gone")]
    Gone,
    /// It holds no such session.
    #[error("the keeper holds no such session")]
    Unknown,
    /// It does not answer.
    #[error("the keeper does not answer")]
    Silent,
    /// The system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What the connection's task and handles share.
struct Shared {
    socket: AsyncFd<OwnedFd>,
    keeper: Member,
    build: Option<Build>,
    state: State,
    lost: watch::Sender<bool>,
}

impl Keeper {
    /// Connects to a keeper that runs; none where none does. Must be called on a tokio runtime with time and IO.
    ///
    /// # Errors
    /// [`KeeperError`] where one runs and does not serve.
    pub async fn connect(path: &Path) -> Result<Option<Self>, KeeperError> {
        Self::connect_as(Versions::OURS, path).await
    }

    /// Connects to a keeper that runs, or starts one.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect), or where none can be started.
    pub async fn connect_or_start(options: &KeeperOptions) -> Result<Self, KeeperError> {
        match Self::connect(&options.socket).await {
            Ok(Some(keeper)) => return Ok(keeper),
            Ok(None) => {}
            // One that holds nothing ends when it is left alone.
            Err(KeeperError::Version) if !until_gone(&options.socket).await => {
                return Err(KeeperError::Version);
            }
            Err(KeeperError::Version) => {}
            Err(error) => return Err(error),
        }
        let starting = options.clone();
        let started = tokio::task::spawn_blocking(move || start(&starting));
        started.await.map_err(io::Error::from)??;
        Self::connect(&options.socket).await?.ok_or(KeeperError::Gone)
    }

    pub(super) async fn connect_as(versions: Versions, path: &Path) -> Result<Option<Self>, KeeperError> {
        let Some(socket) = connect_to(path)? else {
            return Ok(None);
        };
        let socket = descriptor::watch(socket, Interest::READABLE | Interest::WRITABLE)?;
        match send(&socket, Request::Hello(versions), None).await {
            // It has retired between the two steps, or has refused already, which stands to be read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            sent => sent?,
        }
        // While another daemon is served, there is no answer.
        let answer = timeout(PATIENCE, receive(&socket)).await;
        let (keeper, build) = match answer.map_err(|_| KeeperError::Silent)? {
            Ok(Some((Reply::Welcome { keeper, build, .. }, _))) => (keeper, build),
            Ok(Some((Reply::Refused(Refusal::Version), _))) => return Err(KeeperError::Version),
            Ok(Some((Reply::Refused(Refusal::Inside | Refusal::OtherUser), _))) => {
                return Err(KeeperError::Inside);
            }
            Ok(Some(_)) => return Err(KeeperError::Silent),
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let shared = Arc::new(Shared {
            socket,
            keeper,
            build,
            state: State::default(),
            lost: watch::Sender::new(false),
        });
        let listening = tokio::spawn(incoming::listen(Arc::clone(&shared)));
        Ok(Some(Self {
            shared,
            listening,
            listing: tokio::sync::Mutex::default(),
        }))
    }

    /// Starts a program on a terminal of its own, with a journal of about `capacity` bytes.
    ///
    /// # Errors
    /// When the working directory or the program does not exist or may not be used, said by name, or when the system has no process
    /// or terminal left. Nothing is running then.
    pub async fn spawn(&self, command: Command, id: SessionId, capacity: usize) -> Result<Held, SpawnError> {
        let size = command.size;
        let prepare = move || {
            let path = spawn::check(&command)?;
            let plan = plan::write(&command, &path).map_err(system("write down the program"))?;
            Ok::<_, SpawnError>((plan, path, command.cwd))
        };
        let prepared = tokio::task::spawn_blocking(prepare);
        let (plan, path, cwd) = prepared
            .await
            .map_err(io::Error::from)
            .map_err(system(PREPARE))??;
        let answer = self.shared.state.wait_for(id, true);
        let capacity = u64::try_from(capacity.max(SMALLEST)).unwrap_or(u64::MAX);
        let wish = Request::Spawn { id, capacity, size };
        let sent = send(&self.shared.socket, wish, Some(plan)).await;
        sent.map_err(system(ASK))?;
        let gone = |_| system(ASK)(io::ErrorKind::BrokenPipe.into());
        let failure = match answer.await.map_err(gone)? {
            Ok(parts) => return parts.claim().map_err(system("take over the program")),
            Err(failure) => failure,
        };
        let source = io::Error::from_raw_os_error(failure.errno);
        Err(match failure.step {
            Some(Step::Directory) => SpawnError::Directory { path: cwd, source },
            Some(Step::Program) => SpawnError::Exec { path, source },
            Some(Step::Terminal) => system("open a terminal")(source),
            Some(Step::Journal) => system("keep its output")(source),
            Some(Step::Process | Step::Duplicate) | None => system("start a process")(source),
        })
    }

    /// The sessions that the keeper holds.
    ///
    /// # Errors
    /// [`KeeperError::Gone`].
    pub async fn list(&self) -> Result<Vec<Listed>, KeeperError> {
        let _one_at_a_time = self.listing.lock().await;
        let answer = self.shared.state.wait_for_list();
        send(&self.shared.socket, Request::List, None).await?;
        answer.await.map_err(|_| KeeperError::Gone)
    }

    /// Ends the processes that live of the sessions that are chosen, for those that were forgotten or cannot be adopted. Returns
    /// when nothing of them is left that this user may end, and how many of the sessions had begun.
    ///
    /// # Errors
    /// [`KeeperError::Gone`].
    pub async fn end(&self, is_chosen: impl Fn(&Listed) -> bool) -> Result<usize, KeeperError> {
        let mut ending = tokio::task::JoinSet::new();
        for listed in self.list().await?.into_iter().filter(is_chosen) {
            let leader = i32::try_from(listed.leader).ok().and_then(Pid::from_raw);
            let Some(leader) = leader.filter(|_| listed.has_begun) else {
                continue;
            };
            // The keeper signals no group of what it has forgotten; a cgroup is given only to who adopts.
            let tree = Tree::new(listed.reaper, leader, None, self.shared.signal_group(listed.id));
            ending.spawn(async move { tree.stop().await });
        }
        Ok(ending.join_all().await.len())
    }

    /// Takes over a session that the keeper holds, once its program has begun.
    ///
    /// # Errors
    /// [`KeeperError::Unknown`] where it holds none of that id, or cannot hand it over now; [`KeeperError::Io`] where there is
    /// no descriptor left for it, and asking again may help; [`KeeperError::Gone`].
    pub async fn adopt(&self, id: SessionId) -> Result<Held, KeeperError> {
        let answer = self.shared.state.wait_for(id, false);
        send(&self.shared.socket, Request::Adopt(id), None).await?;
        let parts = answer.await.map_err(|_| KeeperError::Gone)?;
        let parts = parts.map_err(|_| KeeperError::Unknown)?;
        Ok(parts.claim()?)
    }

    /// Lets the keeper drop a session's terminal and journal. What lives of it goes on, without a terminal.
    ///
    /// # Errors
    /// [`KeeperError::Unknown`] where it holds none of that id, [`KeeperError::Gone`].
    pub async fn forget(&self, id: SessionId) -> Result<(), KeeperError> {
        let answer = self.shared.state.wait_for_forgetting(id);
        send(&self.shared.socket, Request::Forget(id), None).await?;
        match answer.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(KeeperError::Unknown),
            Err(_) => Err(KeeperError::Gone),
        }
    }

    /// Returns when the keeper is gone, or this connection was dropped.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let mut lost = self.shared.lost.subscribe();
        async move {
            let _ = lost.wait_for(|lost| *lost).await;
        }
    }

    /// Whether the keeper is gone.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        *self.shared.lost.borrow()
    }

    /// Whether a process runs inside a session: it descends from the session's reaper, or is in the session's cgroup. `cgroups` are
    /// the names for the directory of the sessions' cgroups that the keeper may have been started with. Ancestry goes first: a program may
    /// move itself to another session's cgroup, not to another reaper.
    #[must_use]
    pub fn origin(&self, peer: &PeerProcess, cgroups: &[&str]) -> Origin {
        let Some(line) = peer.line() else {
            return Origin::Unknown;
        };
        let in_cgroup = || {
            let path = peer.cgroup().filter(|_| !cgroups.is_empty())?;
            cgroups.iter().find_map(|name| session_of_cgroup(&path, name))
        };
        if let Some(id) = self.shared.state.session_of(&line).or_else(in_cgroup) {
            return Origin::Inside(id);
        }
        let keeper = self.shared.keeper;
        // Of a keeper that ended before the line was read, orphans are anybody's.
        match line.contains(&keeper) || Member::find(keeper.id) != Some(keeper) {
            true => Origin::Unknown,
            false => Origin::Outside,
        }
    }

    /// Keeps the connection until this process ends, whatever is dropped: the keeper reads no terminal and serves nobody else while
    /// a task of this one may still.
    ///
    /// # Errors
    /// Where there is no descriptor left.
    pub fn hold_until_exit(&self) -> io::Result<()> {
        let socket = self.shared.socket.get_ref().try_clone()?;
        // Nobody closes it but the kernel, at this process's end or when it executes another program.
        let _ = socket.into_raw_fd();
        Ok(())
    }

    /// The keeper's process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.shared.keeper.id.as_raw_pid().unsigned_abs()
    }
    /// The version of the keeper's package; none of a keeper that was started before keepers said so.
    #[must_use]
    pub fn build(&self) -> Option<String> {
        self.shared.build.map(|build| build.to_string())
    }
}

impl Shared {
    /// What asks a session's group to do something; it says false where it could not be asked.
    fn signal_group(self: &Arc<Self>, id: SessionId) -> impl Fn(Signal) -> bool + Send + Sync + use<> {
        let keeper = Arc::downgrade(self);
        move |signal| {
            let Some(keeper) = keeper.upgrade() else {
                return false;
            };
            let number = u8::try_from(signal.as_raw()).unwrap_or(0);
            let wish = Request::Signal(id, number).encode();
            // A full socket is no reason to wait: who is not asked this way is asked one by one.
            !*keeper.lost.borrow() && packet::send(keeper.socket.get_ref(), wish.bytes(), None).is_ok()
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("process_id", &self.process_id())
            .finish_non_exhaustive()
    }
}

impl From<End> for Listing {
    fn from(end: End) -> Self {
        match end {
            End::Running => Self::Running,
            End::Exited(exit) => Self::Exited(exit),
            End::Unknown => Self::Lost,
        }
    }
}

/// Whether a keeper ends within a moment.
async fn until_gone(path: &Path) -> bool {
    for _ in 0..50 {
        if !path.exists() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

async fn send(socket: &AsyncFd<OwnedFd>, request: Request, descriptor: Option<OwnedFd>) -> io::Result<()> {
    let packet = request.encode();
    let send = |socket: &OwnedFd| packet::send(socket, packet.bytes(), descriptor.as_ref().map(AsFd::as_fd));
    loop {
        match socket.async_io(Interest::WRITABLE, send).await {
            Err(error) if packet::is_short(&error) => tokio::time::sleep(RETRY).await,
            sent => return sent,
        }
    }
}

/// What came with a word of the keeper.
struct Piece {
    descriptor: Option<OwnedFd>,
    /// There was one, for which this process had no room.
    is_lost: bool,
}

/// The next word of the keeper; none at its end.
///
/// # Errors
/// `InvalidData` where it is not understood; the next one may be.
async fn receive(socket: &AsyncFd<OwnedFd>) -> io::Result<Option<(Reply, Piece)>> {
    let mut buffer = [0; 64];
    let received = loop {
        let received = socket.async_io(Interest::READABLE, |socket| packet::receive(socket, &mut buffer));
        match received.await {
            Err(error) if packet::is_short(&error) => tokio::time::sleep(RETRY).await,
            received => break received?,
        }
    };
    if received.length == 0 {
        return Ok(None);
    }
    let reply = Reply::decode(&buffer[..received.length]).map_err(|_| io::ErrorKind::InvalidData)?;
    let piece = Piece {
        descriptor: received.descriptor,
        is_lost: received.is_descriptor_lost,
    };
    Ok(Some((reply, piece)))
}

fn system(what: &'static str) -> impl Fn(io::Error) -> SpawnError {
    move |source| SpawnError::System { what, source }
}

/// The session whose cgroup the path leads into.
fn session_of_cgroup(path: &str, name: &str) -> Option<SessionId> {
    let mut components = path.split('/').skip_while(|component| *component != name).skip(1);
    components.next()?.parse().ok()
}

const ASK: &str = "ask the keeper for a terminal";
const PREPARE: &str = "prepare the program";
/// Bytes: the screen may be a megabyte behind, and what it has not drawn is kept.
const SMALLEST: usize = 1024 * 1024;
/// While the system is short of memory, or this user's sockets of room for descriptors.
const RETRY: Duration = Duration::from_millis(20);
/// For the hello.
const PATIENCE: Duration = Duration::from_secs(10);
