//! One session as the keeper holds it.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::cgroup::Cgroup;
use super::message::End;
use crate::drain::Drain;
use crate::id::SessionId;
use crate::journal::Journal;
use crate::offset::Offset;
use crate::process::Member;
use crate::pty::{FIRST_RETRY, LAST_RETRY, READ_SIZE};

/// One session: who runs it, and what the daemon is given of it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) id: SessionId,
    pub(super) reaper: Reaper,
    pub(super) leader: u32,
    pub(super) phase: Phase,
    pub(super) end: End,
    /// The daemon that is connected waits to be given it, once its program has started.
    pub(super) is_wanted: bool,
    /// The daemon that is connected was given it, and reads its terminal.
    pub(super) is_given: bool,
    /// No daemon was given it ever: nobody knows of it but the one that asks for it now.
    pub(super) is_new: bool,
    /// Gone when it was forgotten.
    pub(super) terminal: Option<Terminal>,
    pub(super) cgroup: Option<Cgroup>,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Starting,
    /// Its program was executed; `end` says whether it runs.
    Started,
    /// Its program was not executed.
    Failed,
}

/// A session's reaper, a child of the keeper.
#[derive(Debug)]
pub(super) struct Reaper {
    pub(super) member: Member,
    /// Gone when the reaper has closed its end.
    pub(super) link: Option<OwnedFd>,
    /// It was waited for.
    pub(super) is_gone: bool,
}

impl Kept {
    /// Whether there is nothing left to keep of it.
    pub(super) fn is_over(&self) -> bool {
        let is_done = self.terminal.is_none() || self.phase == Phase::Failed;
        self.reaper.is_gone && self.reaper.link.is_none() && is_done
    }

    /// Whether its terminal is read here: no daemon reads it, and none begins to in a moment.
    pub(super) fn is_read_here(&self) -> bool {
        !self.is_given && !self.is_wanted
    }

    /// Ends all of it, as nobody knows of it: its reaper kills what it holds when nobody listens to it.
    pub(super) fn abandon(&mut self) {
        self.reaper.link = None;
        self.terminal = None;
        self.phase = Phase::Failed;
        self.is_wanted = false;
    }

    /// The daemon is gone: its terminal is read here from now on.
    pub(super) fn take_over(&mut self, now: Instant) {
        (self.is_wanted, self.is_new) = (false, false);
        if !std::mem::take(&mut self.is_given) {
            return;
        }
        let has_ended = self.end != End::Running;
        if let Some(terminal) = &mut self.terminal {
            terminal.take_over(has_ended, now);
        }
    }

    /// Notes how the program ended, once.
    pub(super) fn ended(&mut self, end: End, now: Instant) -> bool {
        if self.end != End::Running {
            return false;
        }
        self.end = end;
        if let Some(terminal) = &mut self.terminal {
            terminal.drain(now);
        }
        true
    }
}

/// A master, and the journal that its output goes to while no daemon reads it.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) master: OwnedFd,
    /// Gone when what a daemon left of it was not whole: the output is read on, so that the program goes on, and lost.
    pub(super) journal: Option<Journal>,
    /// Not read before; after a terminal that nobody had open was tried.
    retry_at: Option<Instant>,
    retry: Duration,
    reading: Reading,
}

/// How far the output is read.
#[derive(Debug, Clone, Copy)]
enum Reading {
    /// The program has not ended.
    On,
    /// It has.
    Out(Drain),
    Done,
}

impl Terminal {
    pub(super) fn new(master: OwnedFd, journal: Journal) -> Self {
        Self {
            master,
            journal: Some(journal),
            retry_at: None,
            retry: FIRST_RETRY,
            reading: Reading::On,
        }
    }

    fn take_over(&mut self, has_ended: bool, now: Instant) {
        if let Some(journal) = &mut self.journal
            && journal.refresh().is_err()
        {
            self.journal = None;
        }
        self.retry_at = None;
        if has_ended {
            // The daemon may have ended before it had read all of it.
            self.reading = Reading::On;
            self.drain(now);
        }
    }

    /// The program has ended: what it wrote is read, and no more of what others go on writing than cannot be told from it.
    fn drain(&mut self, now: Instant) {
        if matches!(self.reading, Reading::On) {
            self.retry_at = None;
            self.reading = Reading::Out(Drain::begin(now));
        }
    }

    /// Whether to wait for output now.
    pub(super) fn is_read(&self) -> bool {
        self.retry_at.is_none() && !matches!(self.reading, Reading::Done)
    }

    /// When to look again without output.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        match self.reading {
            Reading::Done => None,
            Reading::Out(drain) => Some(drain.until()),
            Reading::On => self.retry_at,
        }
    }

    /// Looks again, where it is time to.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.read(now);
        }
        if let Reading::Out(drain) = self.reading
            && drain.until() <= now
        {
            self.reading = Reading::Done;
        }
    }

    /// Takes up to [`MAX_TURN`] bytes into the journal.
    pub(super) fn read(&mut self, now: Instant) {
        let mut buffer = [0; READ_SIZE];
        let mut turn = 0;
        while turn < MAX_TURN {
            match rustix::io::read(&self.master, &mut buffer) {
                Ok(0) | Err(Errno::IO) => return self.closed(now),
                Ok(length) => {
                    if let Some(journal) = &mut self.journal {
                        // Nobody draws, so nothing has to be kept for the screen: programs do not wait for a daemon that is away.
                        let time_ms = journal.time_ms();
                        journal.append(time_ms, &buffer[..length], Offset(u64::MAX));
                    }
                    turn += length;
                }
                Err(Errno::INTR) => {}
                Err(_would_block) => {
                    if let Reading::Out(drain) = &mut self.reading {
                        drain.emptied();
                    }
                    break;
                }
            }
        }
        if turn > 0 {
            self.retry = FIRST_RETRY;
            if let Reading::Out(drain) = &mut self.reading
                && drain.read(turn, now)
            {
                self.reading = Reading::Done;
            }
        }
    }

    /// No process has the terminal open.
    fn closed(&mut self, now: Instant) {
        if matches!(self.reading, Reading::Out(_)) {
            self.reading = Reading::Done;
        } else {
            // Its readiness says so for ever, also when one opens it again (`/dev/tty`).
            self.retry_at = Some(now + self.retry);
            self.retry = (self.retry * 2).min(LAST_RETRY);
        }
    }
}

/// A copy of a descriptor, to be sent.
pub(super) fn copy(descriptor: &OwnedFd) -> io::Result<OwnedFd> {
    descriptor.try_clone()
}

/// Bytes taken before others get their turn.
const MAX_TURN: usize = 64 * 1024;
