//! The keeper's one loop: it waits for whatever happens next, and does it.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketAddrUnix, SocketFlags, accept_with, getsockname};
use rustix::process::{Signal, getpid, kill_process};

use super::cgroup::Cgroups;
use super::daemon::Daemon;
use super::kept::{Kept, Phase, Terminal};
use super::message::{End, Refusal, Reply, Step, Versions};
use super::packet::{self, Received};
use super::reaper::News;
use super::system;
use crate::process::{Member, PeerProcess, children, take_ended};

/// The keeper.
pub(super) struct Service {
    pub(super) versions: Versions,
    pub(super) cgroups: Option<Cgroups>,
    /// This process.
    pub(super) own: Member,
    pub(super) kept: Vec<Kept>,
    listener: OwnedFd,
    /// Nobody else listens on it: its file goes when this ends.
    pub(super) owns_socket: bool,
    ended: OwnedFd,
    pub(super) daemon: Option<Daemon>,
    /// A reaper was killed: what it held are now children of this process, who knows of nobody's children but its own.
    has_orphans: bool,
    /// When they are looked for again, and how long after that.
    looks_at: Instant,
    look: Duration,
    /// No descriptor was left for who connects.
    accepts_at: Option<Instant>,
    /// Without a daemon and a session it ends then.
    retires_at: Instant,
}

impl Service {
    pub(super) fn new(listener: OwnedFd, versions: Versions, cgroups: Option<Cgroups>) -> io::Result<Self> {
        Ok(Self {
            versions,
            cgroups,
            own: Member::find(getpid()).ok_or(io::ErrorKind::NotFound)?,
            kept: Vec::new(),
            listener,
            owns_socket: true,
            ended: system::child_events()?,
            daemon: None,
            has_orphans: false,
            looks_at: Instant::now(),
            look: FIRST_LOOK,
            accepts_at: None,
            retires_at: Instant::now() + FIRST_CONTACT,
        })
    }

    /// Keeps until there is nothing to keep and nobody to keep it for.
    pub(super) fn run(mut self) -> io::Result<()> {
        while !self.may_retire() {
            let ready = self.wait()?;
            let now = Instant::now();
            self.take_children(now);
            self.take_news(&ready.links, now);
            self.read(&ready.terminals, now);
            let is_retried = self
                .daemon
                .as_ref()
                .and_then(Daemon::retry_at)
                .is_some_and(|at| at <= now);
            if ready.daemon || is_retried {
                self.serve(now);
            }
            if ready.listener && self.daemon.is_none() {
                self.accept(now);
            }
            self.keep_time(now);
            self.kept.retain(|kept| !kept.is_over());
        }
        // Unlinked while it still listens: who is refused from now on finds no socket here that is not its own.
        if self.owns_socket
            && let Ok(address) = getsockname(&self.listener)
            && let Ok(address) = SocketAddrUnix::try_from(address)
            && let Some(path) = address.path()
        {
            rustix::fs::unlink(path).ok();
        }
        Ok(())
    }

    fn may_retire(&self) -> bool {
        self.kept.is_empty()
            && self.daemon.is_none()
            && !self.has_orphans
            && self.retires_at <= Instant::now()
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut fds = Vec::with_capacity(3 + 2 * self.kept.len());
        fds.push(PollFd::new(&self.ended, PollFlags::IN));
        match &self.daemon {
            // The next one waits, unanswered, until this one has hung up.
            Some(daemon) => fds.push(PollFd::new(daemon.socket(), daemon.interest())),
            None if self.accepts_at.is_some() => fds.push(PollFd::new(&self.listener, PollFlags::empty())),
            None => fds.push(PollFd::new(&self.listener, PollFlags::IN)),
        }
        let links = self.kept.iter().enumerate();
        let links = links.filter_map(|(at, kept)| Some((at, kept.reaper.link.as_ref()?)));
        let mut ready = Ready::default();
        for (at, link) in links {
            fds.push(PollFd::new(link, PollFlags::IN));
            ready.links.push(at);
        }
        for (at, kept) in self
            .kept
            .iter()
            .enumerate()
            .filter(|(_, kept)| kept.is_read_here())
        {
            if let Some(terminal) = kept.terminal.as_ref().filter(|terminal| terminal.is_read()) {
                fds.push(PollFd::new(&terminal.master, PollFlags::IN));
                ready.terminals.push(at);
            }
        }
        let timeout = self
            .wakes_at()
            .map(|at| span(at.saturating_duration_since(Instant::now())));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {}
            Err(error) if system::is_passing(error) => return Ok(Ready::default()),
            Err(error) => return Err(error.into()),
        }
        let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (links, terminals) = is_ready[2..].split_at(ready.links.len());
        ready.links = picked(&ready.links, links);
        ready.terminals = picked(&ready.terminals, terminals);
        ready.daemon = is_ready[1] && self.daemon.is_some();
        ready.listener = is_ready[1] && self.daemon.is_none();
        Ok(ready)
    }

    /// When something is to be done though nothing happens.
    fn wakes_at(&self) -> Option<Instant> {
        let read_here = self.kept.iter().filter(|kept| kept.is_read_here());
        let terminals = read_here.filter_map(|kept| kept.terminal.as_ref());
        let terminals = terminals.filter_map(Terminal::wakes_at);
        let hello = self.daemon.as_ref().and_then(Daemon::hello_until);
        let retry = self.daemon.as_ref().and_then(Daemon::retry_at);
        let orphans = self.has_orphans.then_some(self.looks_at);
        let retirement = (self.kept.is_empty() && self.daemon.is_none()).then_some(self.retires_at);
        let others = hello
            .into_iter()
            .chain(retry)
            .chain(self.accepts_at)
            .chain(orphans)
            .chain(retirement);
        terminals.chain(others).min()
    }

    fn accept(&mut self, now: Instant) {
        let Ok(socket) = accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else {
            // Whoever waits goes on waiting; without a descriptor for it, its readiness says so for ever.
            self.accepts_at = Some(now + ACCEPT_AGAIN);
            return;
        };
        match self.refusal(&socket) {
            None => self.daemon = Some(Daemon::new(socket, now)),
            Some(why) => {
                // What it has sent already is read, as its answer would be discarded with a socket that was not read.
                rustix::net::shutdown(&socket, rustix::net::Shutdown::Read).ok();
                while packet::receive(&socket, &mut [0; 64]).is_ok_and(|received| received.length > 0) {}
                packet::send(&socket, Reply::Refused(why).encode().bytes(), None).ok();
            }
        }
    }

    /// Why who connected is not served. Programs of sessions have the keeper's uid; they are known by their parents.
    fn refusal(&self, socket: &OwnedFd) -> Option<Refusal> {
        let Ok(credentials) = rustix::net::sockopt::socket_peercred(socket) else {
            return Some(Refusal::Inside);
        };
        if credentials.uid != rustix::process::geteuid() {
            return Some(Refusal::OtherUser);
        }
        let peer = PeerProcess::of(socket, credentials.pid.as_raw_pid());
        match peer.and_then(|peer| peer.line()) {
            Some(line) if !line.contains(&self.own) => None,
            _ => Some(Refusal::Inside),
        }
    }

    fn take_news(&mut self, links: &[usize], now: Instant) {
        for &at in links {
            while let Some(link) = &self.kept[at].reaper.link {
                let mut buffer = [0; 64];
                match packet::receive(link, &mut buffer) {
                    Ok(Received { length: 0, .. }) => self.lost_link(at, now),
                    Ok(Received { length, .. }) => match News::decode(&buffer[..length]) {
                        Ok(news) => self.heard(at, news, now),
                        Err(_) => self.lost_link(at, now),
                    },
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock || packet::is_short(&error) => {
                        break;
                    }
                    Err(_) => self.lost_link(at, now),
                }
            }
        }
    }

    fn heard(&mut self, at: usize, news: News, now: Instant) {
        let kept = &mut self.kept[at];
        match news {
            News::Started(leader) => {
                (kept.leader, kept.phase) = (leader, Phase::Started);
                self.give(at);
            }
            News::NotStarted { step, errno } => {
                kept.phase = Phase::Failed;
                if kept.is_wanted {
                    let id = kept.id;
                    self.not_started(id, step, errno);
                }
            }
            News::Ended(end) => self.ended(at, end, now),
        }
    }

    fn lost_link(&mut self, at: usize, now: Instant) {
        let kept = &mut self.kept[at];
        kept.reaper.link = None;
        match kept.phase {
            Phase::Starting => {
                kept.phase = Phase::Failed;
                let (id, is_wanted) = (kept.id, kept.is_wanted);
                if is_wanted {
                    self.not_started(id, Step::Process, libc::ECHILD);
                }
            }
            Phase::Started if kept.end == End::Running => {
                if let Some(cgroup) = &kept.cgroup {
                    cgroup.kill();
                }
                self.ended(at, End::Unknown, now);
            }
            Phase::Started | Phase::Failed => {}
        }
    }

    fn ended(&mut self, at: usize, end: End, now: Instant) {
        let kept = &mut self.kept[at];
        let id = kept.id;
        // Who is given it later is told with it.
        if kept.ended(end, now) && kept.is_given {
            self.say(Reply::Ended { id, end }, None);
        }
    }

    fn take_children(&mut self, now: Instant) {
        let is_news = rustix::io::read(&self.ended, &mut [0; 128]).is_ok();
        let is_time_to_look = self.has_orphans && self.looks_at <= now;
        if !is_news && !is_time_to_look {
            return;
        }
        while let Ok(Some(ended)) = take_ended() {
            let is_its_reaper = |kept: &Kept| kept.reaper.member.id == ended.id && !kept.reaper.is_gone;
            if let Some(at) = self.kept.iter().position(is_its_reaper) {
                // It may have left news.
                self.take_news(&[at], now);
                self.kept[at].reaper.is_gone = true;
                // Those it left are children of this process now, if it was killed; else there are none.
                self.has_orphans = true;
                self.look = FIRST_LOOK;
            }
        }
        self.end_orphans(now);
    }

    /// Kills the children that are no reapers: they lost theirs, and nobody could tell any more whose they are.
    fn end_orphans(&mut self, now: Instant) {
        if !self.has_orphans {
            return;
        }
        let reapers = self.kept.iter().filter(|kept| !kept.reaper.is_gone);
        let reapers: Vec<_> = reapers.map(|kept| kept.reaper.member.id).collect();
        let orphans = children().filter(|child| !reapers.contains(child));
        // None was waited for, so each id is its own. Those of other users are left to themselves.
        self.has_orphans = orphans
            .filter(|orphan| kill_process(*orphan, Signal::KILL).is_ok())
            .count()
            > 0;
        // One that waits for a disk cannot end before that, and each look is at all processes of the machine.
        self.looks_at = now + self.look;
        self.look = (self.look * 2).min(LAST_LOOK);
    }

    fn read(&mut self, terminals: &[usize], now: Instant) {
        for &at in terminals {
            let kept = &mut self.kept[at];
            // It may have been given away since it was waited for.
            if let Some(terminal) = kept
                .terminal
                .as_mut()
                .filter(|_| !kept.is_given && !kept.is_wanted)
            {
                terminal.read(now);
            }
        }
    }

    fn keep_time(&mut self, now: Instant) {
        self.accepts_at = self.accepts_at.filter(|at| *at > now);
        let read_here = self.kept.iter_mut().filter(|kept| kept.is_read_here());
        let terminals = read_here.filter_map(|kept| kept.terminal.as_mut());
        terminals.for_each(|terminal| terminal.wake(now));
        if self
            .daemon
            .as_ref()
            .and_then(Daemon::hello_until)
            .is_some_and(|until| until <= now)
        {
            self.hang_up(now);
        }
    }

    /// The daemon is gone: its terminals are read here from now on.
    pub(super) fn hang_up(&mut self, now: Instant) {
        self.daemon = None;
        self.retires_at = now;
        self.kept.iter_mut().for_each(|kept| kept.take_over(now));
    }
}

/// What has something to say, sessions by their place.
#[derive(Default)]
struct Ready {
    listener: bool,
    daemon: bool,
    links: Vec<usize>,
    terminals: Vec<usize>,
}

fn picked(places: &[usize], is_ready: &[bool]) -> Vec<usize> {
    let ready = places.iter().zip(is_ready).filter(|(_, is_ready)| **is_ready);
    ready.map(|(at, _)| *at).collect()
}

fn span(duration: Duration) -> Timespec {
    // Rounded up, so that it is time when the wait is over.
    let duration = duration + Duration::from_millis(1);
    Timespec::try_from(duration).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    })
}

/// How long a keeper waits for the daemon that started it.
const FIRST_CONTACT: Duration = Duration::from_secs(10);
/// Between two looks for orphans that were killed, doubled each time.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// Between two tries while there is no descriptor for who connects.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
