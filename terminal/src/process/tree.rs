//! A program and what it started, as far as that can be found without a subreaper.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::time::{Instant, sleep, timeout_at};

use crate::descriptor;

/// The processes of one session.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: Pid,
    /// Locked while the group is signalled and while the leader is said to be gone, so that its id is not used
    /// when it may already name somebody else.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    leader_is_gone: bool,
    /// What was alive when the leader ended.
    left: HashSet<Member>,
}

impl Tree {
    pub(crate) fn new(leader: Pid) -> Self {
        Self {
            leader,
            state: Mutex::default(),
        }
    }

    /// The program's process id.
    pub(crate) fn leader(&self) -> u32 {
        self.leader.as_raw_pid().unsigned_abs()
    }

    /// Looks for what the ended leader leaves behind, and uses its id no more. To be called before the leader
    /// is waited for: until then nobody else can have its id.
    pub(crate) fn leader_ended(&self) {
        let mut state = self.state();
        state.left = members(&processes(), &HashSet::new(), Some(self.leader));
        state.leader_is_gone = true;
    }

    /// Ends all of it; returns when nothing that can be found is left. False if some of it may not be ended by this user,
    /// as what `sudo` started: that is not waited for.
    pub(crate) async fn stop(&self) -> bool {
        let patience = Instant::now() + PATIENCE;
        let mut known = self.find(&HashSet::new());
        self.ask(&known);
        for member in &known {
            if timeout_at(patience, member.ended()).await.is_err() {
                break;
            }
        }
        let mut refused = HashSet::new();
        loop {
            let found: HashSet<Member> = self.find(&known).difference(&refused).copied().collect();
            if found.is_empty() {
                return refused.is_empty();
            }
            refused.extend(found.iter().filter(|member| !member.signal(&[Signal::KILL])));
            for member in found.difference(&refused) {
                member.ended().await;
            }
            known.extend(found);
        }
    }

    /// The living processes: the leader's terminal session, what `known` ones and those started.
    fn find(&self, known: &HashSet<Member>) -> HashSet<Member> {
        let table = processes();
        let state = self.state();
        let known: HashSet<Member> = state.left.union(known).copied().collect();
        // An id stays taken as long as one process has it as its session's.
        let is_ours = |process: &Process| process.session == self.leader && known.contains(&process.member);
        let session = !state.leader_is_gone || table.iter().any(is_ours);
        members(&table, &known, session.then_some(self.leader))
    }

    /// Asks them to end: the leader's group, and whoever left that.
    fn ask(&self, members: &HashSet<Member>) {
        // A stopped process takes its signal only when it goes on.
        let signals = [Signal::HUP, Signal::TERM, Signal::CONT];
        let state = self.state();
        if !state.leader_is_gone {
            for signal in signals {
                let _ = kill_process_group(self.leader, signal);
            }
        }
        let in_group = |member: &Member| {
            !state.leader_is_gone && rustix::process::getpgid(Some(member.id)) == Ok(self.leader)
        };
        members
            .iter()
            .filter(|member| !in_group(member))
            .for_each(|member| {
                member.signal(&signals);
            });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One process: an id alone may name another one later, an id with a time of start does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Member {
    id: Pid,
    /// Clock ticks since the machine's start.
    started: u64,
}

impl Member {
    /// Signals it, if it is there; false if that is not permitted.
    fn signal(&self, signals: &[Signal]) -> bool {
        let Some(pidfd) = self.open() else { return true };
        signals
            .iter()
            .all(|&signal| pidfd_send_signal(&pidfd, signal) != Err(Errno::PERM))
    }

    async fn ended(&self) {
        match self
            .open()
            .and_then(|fd| descriptor::watch(fd, Interest::READABLE).ok())
        {
            Some(pidfd) => {
                let _ = pidfd.readable().await;
            }
            // It is gone, or no descriptor is left to see it by: the next look at the table tells which.
            None => sleep(LOOK_AGAIN).await,
        }
    }

    /// A descriptor of this very process, unless it is gone.
    fn open(&self) -> Option<OwnedFd> {
        let pidfd = pidfd_open(self.id, PidfdFlags::NONBLOCK).ok()?;
        // Asked after the descriptor was opened, so the answer is about the process behind it.
        process(self.id)
            .is_some_and(|process| process.member == *self)
            .then_some(pidfd)
    }
}

struct Process {
    member: Member,
    parent: Option<Pid>,
    session: Pid,
}

/// Those of the table that belong to `session`, are in `known`, or descend from one of them.
fn members(table: &[Process], known: &HashSet<Member>, session: Option<Pid>) -> HashSet<Member> {
    let is_root = |process: &&Process| Some(process.session) == session || known.contains(&process.member);
    let mut found: HashSet<Member> = table
        .iter()
        .filter(is_root)
        .map(|process| process.member)
        .collect();
    let mut parents: HashSet<Pid> = found.iter().map(|member| member.id).chain(session).collect();
    loop {
        let before = found.len();
        for process in table {
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

/// Every living process of this machine that can be looked at.
fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    ids.filter_map(process).collect()
}

/// A living process; a zombie is none.
fn process(id: Pid) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_pid())).ok()?;
    // proc_pid_stat(5): the name in parentheses may itself contain some; then state, parent, group, session.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = Pid::from_raw(fields.next()?.parse().ok()?);
    let session = Pid::from_raw(fields.nth(1)?.parse().ok()?)?;
    let started = fields.nth(15)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Process {
        member: Member { id, started },
        parent,
        session,
    })
}

/// Between two looks for a process that cannot be waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How long processes have to end by themselves.
const PATIENCE: Duration = Duration::from_secs(5);
