//! The process of a session's program: its end, and ending it with all it started.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tokio::io::Interest;

use crate::descriptor;

mod tree;

pub(crate) use tree::Tree;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Milliseconds from its start to its end.
    pub duration_ms: u64,
    /// The most memory that it, or one process it waited for, held at once, in bytes. Linux counts what this
    /// process held when it forked, so it is at least that.
    pub peak_memory_bytes: u64,
}

/// A program that was started on a terminal: what a session takes over.
pub(crate) struct Program {
    /// The terminal's master; does not block.
    pub(crate) master: OwnedFd,
    pub(crate) child: Child,
    pub(crate) tree: Tree,
}

/// A child of this process that nobody else waits for. Dropped before its end, it is killed.
#[derive(Debug)]
pub(crate) struct Child {
    id: Pid,
    began: Instant,
    has_ended: bool,
}

impl Child {
    /// The child with the given id, which was not waited for yet.
    pub(crate) fn new(id: u32) -> io::Result<Self> {
        let id = i32::try_from(id)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            id,
            began: Instant::now(),
            has_ended: false,
        })
    }

    /// The process's id.
    pub(crate) fn id(&self) -> Pid {
        self.id
    }

    /// Waits for the end. The process stays a zombie, and its id its own, until it is [reaped](Ended::reap).
    pub(crate) async fn ended(mut self) -> io::Result<Ended> {
        let pidfd = descriptor::watch(pidfd_open(self.id, PidfdFlags::NONBLOCK)?, Interest::READABLE)?;
        let _ = pidfd.readable().await?;
        self.has_ended = true;
        Ok(Ended {
            id: self.id,
            duration: self.began.elapsed(),
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.has_ended {
            // Nobody waited for it, so the id is still its own.
            let _ = rustix::process::kill_process(self.id, Signal::KILL);
            let _ = wait(self.id, Duration::ZERO);
        }
    }
}

/// A child that has ended and was not waited for yet.
#[derive(Debug)]
pub(crate) struct Ended {
    id: Pid,
    duration: Duration,
}

impl Ended {
    /// Takes the end, so that no zombie stays.
    pub(crate) fn reap(self) -> io::Result<Exit> {
        wait(self.id, self.duration)
    }
}

/// Takes the end of a child; blocks while it has not ended.
#[expect(unsafe_code, reason = "only wait4 reports the resources of one child")]
fn wait(id: Pid, duration: Duration) -> io::Result<Exit> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live, writable values of the types that wait4 fills.
    while unsafe { libc::wait4(id.as_raw_pid(), &raw mut status, 0, usage.as_mut_ptr()) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: every field of rusage is an integer, for which zeroes are a value, and wait4 has succeeded.
    let usage = unsafe { usage.assume_init() };
    Ok(Exit {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    })
}
