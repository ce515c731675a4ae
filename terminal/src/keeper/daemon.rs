//! The one daemon that the keeper serves, and what it asks for.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::kept::{Kept, Phase, Reaper, Terminal, copy};
use super::message::{Build, End, Malformed, Packet, Refusal, Reply, Request, Step, Versions};
use super::packet::{self, Received};
use super::reaper::{self, Tools};
use super::serve::Service;
use super::system::{self, Forked};
use crate::id::SessionId;
use crate::journal::{Journal, UnixMs};
use crate::process::Member;
use crate::pty;
use crate::size::Size;

/// A connection.
pub(super) struct Daemon {
    socket: OwnedFd,
    /// When it must have said hello; none once it has.
    hello_until: Option<Instant>,
    /// What it has not taken yet. While there is any, nothing more is asked for, so it stays short.
    outbox: VecDeque<(Packet, Option<OwnedFd>)>,
    /// The system was short of what a packet takes; when to try again.
    retry_at: Option<Instant>,
}

impl Daemon {
    pub(super) fn new(socket: OwnedFd, now: Instant) -> Self {
        Self {
            socket,
            hello_until: Some(now + MAX_HELLO),
            outbox: VecDeque::new(),
            retry_at: None,
        }
    }

    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    pub(super) fn is_greeted(&self) -> bool {
        self.hello_until.is_none()
    }

    pub(super) fn hello_until(&self) -> Option<Instant> {
        self.hello_until
    }

    pub(super) fn interest(&self) -> PollFlags {
        match (self.retry_at, self.outbox.is_empty()) {
            (Some(_), _) => PollFlags::empty(),
            (None, true) => PollFlags::IN,
            (None, false) => PollFlags::OUT,
        }
    }

    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    fn retry_later(&mut self) {
        self.retry_at = Some(Instant::now() + RETRY);
    }

    /// Sends what can be sent now; false if nobody is there.
    fn flush(&mut self) -> bool {
        while let Some((packet, descriptor)) = self.outbox.front() {
            match packet::send(&self.socket, packet.bytes(), descriptor.as_ref().map(AsFd::as_fd)) {
                Ok(()) => drop(self.outbox.pop_front()),
                Err(error) if packet::is_short(&error) => {
                    self.retry_later();
                    return true;
                }
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        true
    }
}

impl Service {
    /// Does what the daemon asks for, as long as it takes the answers.
    pub(super) fn serve(&mut self, now: Instant) {
        let mut served = 0;
        while let Some(daemon) = &mut self.daemon {
            daemon.retry_at = None;
            if !daemon.flush() {
                return self.hang_up(now);
            }
            if !daemon.outbox.is_empty() || served == MAX_TURN {
                return;
            }
            let mut buffer = [0; 64];
            let asked = match packet::receive(&daemon.socket, &mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(Malformed),
                Err(error) if packet::is_short(&error) => return daemon.retry_later(),
                Err(_) | Ok(Received { length: 0, .. }) => return self.hang_up(now),
                Ok(received) => Request::decode(&buffer[..received.length]).map(|asked| (asked, received)),
            };
            match asked {
                Ok((Request::Spawn { id, .. }, received)) if received.is_descriptor_lost => {
                    self.not_started(id, Step::Process, libc::EMFILE);
                }
                Ok((request, received)) => self.answer(request, received.descriptor, now),
                Err(Malformed) => self.refuse(Refusal::Malformed, now),
            }
            served += 1;
        }
    }

    /// Queues a word for the daemon, if one is there.
    pub(super) fn say(&mut self, reply: Reply, descriptor: Option<OwnedFd>) {
        if let Some(daemon) = &mut self.daemon {
            daemon.outbox.push_back((reply.encode(), descriptor));
            // Who is not there any more is seen by the next look at the socket.
            daemon.flush();
        }
    }

    /// Gives the daemon a session that it waits for.
    pub(super) fn give(&mut self, at: usize) {
        let kept = &mut self.kept[at];
        if !std::mem::take(&mut kept.is_wanted) {
            return;
        }
        let (id, leader, end) = (kept.id, kept.leader, kept.end);
        match kept.terminal.as_ref().map(|terminal| copy(&terminal.master)) {
            Some(Ok(master)) => {
                (kept.is_given, kept.is_new) = (true, false);
                self.say(Reply::Held { id, leader, end }, Some(master));
            }
            Some(Err(error)) if kept.is_new => {
                kept.abandon();
                self.not_started(id, Step::Process, error.raw_os_error().unwrap_or(libc::EMFILE));
            }
            _ => self.say(Reply::Unknown(id), None),
        }
    }

    pub(super) fn not_started(&mut self, id: SessionId, step: Step, errno: i32) {
        self.say(Reply::NotStarted { id, step, errno }, None);
    }

    fn refuse(&mut self, why: Refusal, now: Instant) {
        self.say(Reply::Refused(why), None);
        self.hang_up(now);
    }

    fn answer(&mut self, request: Request, descriptor: Option<OwnedFd>, now: Instant) {
        let is_greeted = self.daemon.as_ref().is_some_and(Daemon::is_greeted);
        match request {
            Request::Hello(versions) if !is_greeted => self.greet(versions, now),
            _ if !is_greeted => self.refuse(Refusal::Malformed, now),
            Request::Spawn { id, capacity, size } => match descriptor {
                Some(plan) => {
                    if let Err((step, error)) = self.spawn(id, capacity, size, plan) {
                        let errno = error.raw_os_error().unwrap_or(libc::EIO);
                        self.not_started(id, step, errno);
                    }
                }
                None => self.refuse(Refusal::Malformed, now),
            },
            Request::List => self.list(),
            Request::Adopt(id) => self.adopt(id),
            Request::Signal(id, signal) => {
                let link = self.find(id).and_then(|at| self.kept[at].reaper.link.as_ref());
                if let Some(link) = link {
                    packet::send(link, &[signal], None).ok();
                }
            }
            Request::Forget(id) => match self.find(id) {
                Some(at) => {
                    self.kept[at].terminal = None;
                    self.say(Reply::Forgotten(id), None);
                }
                None => self.say(Reply::Unknown(id), None),
            },
            Request::Hello(_) => self.refuse(Refusal::Malformed, now),
        }
    }

    fn greet(&mut self, versions: Versions, now: Instant) {
        let Some(version) = self.versions.common(versions) else {
            return self.refuse(Refusal::Version, now);
        };
        let keeper = self.own;
        let build = Some(Build::ours());
        self.say(
            Reply::Welcome {
                version,
                keeper,
                build,
            },
            None,
        );
        if let Some(daemon) = &mut self.daemon {
            daemon.hello_until = None;
        }
    }

    fn find(&self, id: SessionId) -> Option<usize> {
        let is_it = |kept: &Kept| kept.id == id && kept.terminal.is_some() && kept.phase != Phase::Failed;
        self.kept.iter().position(is_it)
    }

    fn list(&mut self) {
        let is_there = |kept: &&Kept| kept.phase != Phase::Failed && !kept.is_over();
        let listed = self.kept.iter().filter(is_there);
        let listed: Vec<Reply> = listed
            .map(|kept| Reply::Listed {
                id: kept.id,
                reaper: kept.reaper.member,
                leader: kept.leader,
                forgotten: kept.terminal.is_none(),
                end: kept.end,
            })
            .collect();
        listed.into_iter().for_each(|listed| self.say(listed, None));
        self.say(Reply::ListEnd, None);
    }

    fn adopt(&mut self, id: SessionId) {
        let Some(at) = self.find(id) else {
            return self.say(Reply::Unknown(id), None);
        };
        self.kept[at].is_wanted = true;
        match self.introduce(at) {
            Ok(()) if self.kept[at].phase == Phase::Started => self.give(at),
            Ok(()) => {}
            Err(_no_descriptor) => {
                self.kept[at].is_wanted = false;
                self.say(Reply::Unknown(id), None);
            }
        }
    }

    /// Says who runs a session, and hands over everything but its master.
    fn introduce(&mut self, at: usize) -> io::Result<()> {
        let kept = &self.kept[at];
        let (id, reaper) = (kept.id, kept.reaper.member);
        let cgroup = kept
            .cgroup
            .as_ref()
            .map(|cgroup| copy(cgroup.directory()))
            .transpose()?;
        let journal = kept
            .terminal
            .as_ref()
            .and_then(|terminal| terminal.journal.as_ref());
        let journal = journal
            .ok_or(io::ErrorKind::NotFound)?
            .descriptor()
            .try_clone_to_owned()?;
        self.say(Reply::Reaper { id, reaper }, None);
        if let Some(cgroup) = cgroup {
            self.say(Reply::Cgroup(id), Some(cgroup));
        }
        self.say(Reply::Journal(id), Some(journal));
        Ok(())
    }

    fn spawn(
        &mut self,
        id: SessionId,
        capacity: u64,
        size: Size,
        plan: OwnedFd,
    ) -> Result<(), (Step, io::Error)> {
        // What is over is no more than not yet let go.
        if self.kept.iter().any(|kept| kept.id == id && !kept.is_over()) {
            return Err((Step::Duplicate, io::ErrorKind::AlreadyExists.into()));
        }
        let (master, slave) = pty::open(size).map_err(|error| (Step::Terminal, error))?;
        let capacity = usize::try_from(capacity.min(MAX_CAPACITY)).unwrap_or(usize::MAX);
        let journal =
            Journal::create(capacity, size, UnixMs::now()).map_err(|error| (Step::Journal, error))?;
        let process = |error: io::Error| (Step::Process, error);
        let flags = SocketFlags::CLOEXEC;
        let (link, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(|error| process(error.into()))?;
        let cgroup = self.cgroups.as_ref().and_then(|cgroups| cgroups.session(id).ok());
        let tools = Tools {
            link: theirs,
            plan,
            slave,
            cgroup: cgroup.as_ref().and_then(|cgroup| cgroup.procs().ok()),
        };
        let reaper = match system::fork().map_err(process)? {
            Forked::Child => reaper::run(tools),
            Forked::Parent(reaper) => reaper,
        };
        // From here on only the reaper and its program hold the terminal open.
        drop(tools);
        // It is a child that was not waited for, so the id is its own.
        let member = Member::find(reaper).ok_or_else(|| process(io::ErrorKind::NotFound.into()))?;
        self.kept.push(Kept {
            id,
            reaper: Reaper {
                member,
                link: Some(link),
                is_gone: false,
            },
            leader: 0,
            phase: Phase::Starting,
            end: End::Running,
            is_wanted: true,
            is_given: false,
            is_new: true,
            terminal: Some(Terminal::new(master, journal)),
            cgroup,
        });
        let at = self.kept.len() - 1;
        // The word only then, so that the daemon can know the reaper of whatever the program does.
        let introduced = self.introduce(at);
        introduced.and_then(|()| self.begin(at)).map_err(|error| {
            // Without the word its reaper ends.
            self.kept[at].abandon();
            process(error)
        })
    }

    fn begin(&self, at: usize) -> io::Result<()> {
        match &self.kept[at].reaper.link {
            Some(link) => packet::send(link, &[reaper::GO], None),
            None => Ok(()),
        }
    }
}

/// From the connection to the hello.
const MAX_HELLO: Duration = Duration::from_secs(5);
/// Between two tries while the system is short of memory, or this user's sockets of room for descriptors.
const RETRY: Duration = Duration::from_millis(20);
/// Requests before others get their turn.
const MAX_TURN: usize = 32;
/// Bytes of one journal.
const MAX_CAPACITY: u64 = 1 << 30;
