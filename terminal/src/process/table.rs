//! The machine's processes, as `/proc` shows them.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process: an id alone may name another one later, an id with a time of start does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) id: Pid,
    /// Clock ticks since the machine's start.
    pub(crate) started: u64,
}

impl Member {
    /// The living process of this id.
    pub(crate) fn find(id: Pid) -> Option<Self> {
        process(id).map(|process| process.member)
    }

    /// Signals it, if it is there; false if that is not permitted.
    pub(super) fn signal(&self, signals: &[Signal]) -> bool {
        let Some(pidfd) = self.open() else { return true };
        signals
            .iter()
            .all(|&signal| pidfd_send_signal(&pidfd, signal) != Err(Errno::PERM))
    }

    /// A descriptor of this very process, unless it is gone.
    pub(super) fn open(&self) -> Option<OwnedFd> {
        let pidfd = pidfd_open(self.id, PidfdFlags::NONBLOCK).ok()?;
        // Asked after the descriptor was opened, so the answer is about the process behind it.
        (Self::find(self.id) == Some(*self)).then_some(pidfd)
    }
}

/// A living process as it was when it was looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) member: Member,
    pub(super) parent: Option<Pid>,
}

/// Those of the roots that live, and all that descend from them.
pub(super) fn families(roots: &HashSet<Member>) -> HashSet<Member> {
    let table = processes();
    let living = table.iter().map(|process| process.member);
    let mut found: HashSet<Member> = living.filter(|member| roots.contains(member)).collect();
    let mut parents: HashSet<Pid> = found.iter().map(|member| member.id).collect();
    loop {
        let before = found.len();
        for process in &table {
            if process.parent.is_some_and(|parent| parents.contains(&parent)) && found.insert(process.member)
            {
                parents.insert(process.member.id);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The living children of this process.
pub(crate) fn children() -> impl Iterator<Item = Pid> {
    let own = rustix::process::getpid();
    processes()
        .into_iter()
        .filter(move |process| process.parent == Some(own))
        .map(|process| process.member.id)
}

/// Every living process of this machine that can be looked at.
fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    ids.filter_map(process).collect()
}

/// A living process; a zombie is none, unless it is only the first thread of one that others run on.
pub(super) fn process(id: Pid) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_pid())).ok()?;
    // proc_pid_stat(5): the name in parentheses may itself contain some; then state, parent, the number of
    // threads as 20th and the time of start as 22nd.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = Pid::from_raw(fields.next()?.parse().ok()?);
    let threads: u32 = fields.nth(15)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    (threads > 1 || !matches!(state, "Z" | "X")).then_some(Process {
        member: Member { id, started },
        parent,
    })
}
