//! The processes of one session: whoever descends from its reaper.

use std::collections::HashSet;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::Interest;
use tokio::time::{Instant, sleep, timeout_at};

use super::table::{self, Member};
use crate::descriptor;
use crate::keeper::cgroup;

/// The processes of one session. The reaper, a subreaper, is the parent or an ancestor of each of them, also of those that left the
/// program's group and terminal and whose parents are dead.
pub(crate) struct Tree {
    reaper: Member,
    leader: Pid,
    /// Who was seen to be of it. They are found here also when its reaper was killed, and the keeper that would have ended them.
    known: Mutex<HashSet<Member>>,
    /// The session's cgroup, where it has one and anything of it may live.
    cgroup: Mutex<Option<Arc<OwnedFd>>>,
    /// Signals the program's group, if the program was not waited for; false if it cannot be asked for.
    signal_group: Box<dyn Fn(Signal) -> bool + Send + Sync>,
}

impl Tree {
    pub(crate) fn new(
        reaper: Member,
        leader: Pid,
        cgroup: Option<OwnedFd>,
        signal_group: impl Fn(Signal) -> bool + Send + Sync + 'static,
    ) -> Self {
        // A child of the reaper's, so the id is not another's by now.
        let program = table::process(leader).filter(|process| process.parent == Some(reaper.id));
        let known = program.into_iter().map(|process| process.member);
        Self {
            reaper,
            leader,
            known: Mutex::new(known.collect()),
            cgroup: Mutex::new(cgroup.map(Arc::new)),
            signal_group: Box::new(signal_group),
        }
    }

    /// The program's process id.
    pub(crate) fn leader(&self) -> u32 {
        self.leader.as_raw_pid().unsigned_abs()
    }

    /// Whether there is a cgroup.
    pub(crate) fn has_cgroup(&self) -> bool {
        self.cgroup().is_some()
    }

    /// Waits until nothing of it lives, and gives back what is held for ending it.
    pub(crate) async fn until_over(&self) {
        while Member::find(self.reaper.id) == Some(self.reaper) {
            ended(self.reaper).await;
        }
        // A reaper that was killed may have left somebody.
        if self.cgroup().is_none_or(|cgroup| !cgroup::is_populated(&cgroup)) {
            self.lock_cgroup().take();
        }
    }

    /// The reaper.
    #[cfg(test)]
    pub(crate) fn reaper(&self) -> Member {
        self.reaper
    }

    /// Whether anything of it lives.
    #[cfg(test)]
    pub(crate) fn has_reaper(&self) -> bool {
        Member::find(self.reaper.id) == Some(self.reaper)
    }

    /// Ends all of it: asks, and after 5 s kills. Returns when nothing is left; false if some of it may not be ended by this user,
    /// as what `sudo` started where there is no cgroup: that is not waited for.
    pub(crate) async fn stop(&self) -> bool {
        let patience = Instant::now() + PATIENCE;
        let known = self.look().await.members;
        self.ask(&known);
        for member in &known {
            if timeout_at(patience, ended(*member)).await.is_err() {
                break;
            }
        }
        self.kill().await
    }

    /// Kills all of it, at once; otherwise as [`stop`](Self::stop).
    pub(crate) async fn kill(&self) -> bool {
        let is_all = self.kill_seen().await;
        // What the kernel kills by itself needs no permission, and may have left the reaper only where it was killed.
        let Some(cgroup) = self.cgroup() else {
            return is_all;
        };
        while cgroup::is_populated(&cgroup) {
            if cgroup::kill(&cgroup).is_err() {
                return is_all;
            }
            sleep(LOOK_AGAIN).await;
        }
        true
    }

    /// Kills everybody that can be seen; false if some may not be killed, or cannot be seen.
    async fn kill_seen(&self) -> bool {
        let mut refused = HashSet::new();
        let mut nobody_since = None;
        loop {
            let Look { members, has_reaper } = self.look().await;
            let found: HashSet<Member> = members.difference(&refused).copied().collect();
            if found.is_empty() {
                if !has_reaper || !refused.is_empty() {
                    return refused.is_empty();
                }
                // A look takes a while, and may miss who begins meanwhile; the reaper lives as long as anybody does.
                if nobody_since.get_or_insert_with(Instant::now).elapsed() > UNSEEN {
                    return false;
                }
                timeout_at(Instant::now() + LOOK_AGAIN, ended(self.reaper))
                    .await
                    .ok();
                continue;
            }
            nobody_since = None;
            refused.extend(found.iter().filter(|member| !member.signal(&[Signal::KILL])));
            for member in found.difference(&refused) {
                ended(*member).await;
            }
        }
    }

    /// Asks them to end: the program's group at once, and whoever left that.
    fn ask(&self, members: &HashSet<Member>) {
        // A stopped process takes its signal only when it goes on.
        let signals = [Signal::HUP, Signal::TERM, Signal::CONT];
        // Without its leader, the group's id may be another's, and its reaper signals none.
        let has_leader = members.iter().any(|member| member.id == self.leader);
        let asked = has_leader && signals.iter().all(|signal| (self.signal_group)(*signal));
        let in_group = |member: &Member| rustix::process::getpgid(Some(member.id)) == Ok(self.leader);
        for member in members.iter().filter(|member| !(asked && in_group(member))) {
            member.signal(&signals);
        }
    }

    fn cgroup(&self) -> Option<Arc<OwnedFd>> {
        self.lock_cgroup().clone()
    }

    fn lock_cgroup(&self) -> MutexGuard<'_, Option<Arc<OwnedFd>>> {
        self.cgroup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A look at all processes of the machine, off the threads that serve.
    async fn look(&self) -> Look {
        let mut roots = self.known().clone();
        roots.insert(self.reaper);
        let looking = tokio::task::spawn_blocking(move || table::families(&roots));
        let Ok(mut members) = looking.await else {
            // The runtime ends, and with it whoever asks.
            return std::future::pending().await;
        };
        let has_reaper = members.remove(&self.reaper);
        self.known().clone_from(&members);
        Look { members, has_reaper }
    }

    fn known(&self) -> MutexGuard<'_, HashSet<Member>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a look finds.
struct Look {
    /// Without the reaper.
    members: HashSet<Member>,
    has_reaper: bool,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("reaper", &self.reaper)
            .field("leader", &self.leader)
            .finish_non_exhaustive()
    }
}

/// Waits for a process's end.
async fn ended(member: Member) {
    let pidfd = member.open();
    match pidfd.and_then(|pidfd| descriptor::watch(pidfd, Interest::READABLE).ok()) {
        Some(pidfd) => {
            let _ = pidfd.readable().await;
        }
        // It is gone, or no descriptor is left to see it by: the next look at the table tells which.
        None => sleep(LOOK_AGAIN).await,
    }
}

/// Between two looks for a process that cannot be waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// A reaper that lives this long though nobody is seen below it holds somebody of another user's, who is hidden.
const UNSEEN: Duration = Duration::from_secs(2);
/// How long processes have to end by themselves.
const PATIENCE: Duration = Duration::from_secs(5);
