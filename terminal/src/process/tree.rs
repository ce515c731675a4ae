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
        Self {
            reaper,
            leader,
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
        let known = self.members().await;
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
        let mut refused = HashSet::new();
        loop {
            let found: HashSet<Member> = self.members().await.difference(&refused).copied().collect();
            if found.is_empty() {
                break;
            }
            refused.extend(found.iter().filter(|member| !member.signal(&[Signal::KILL])));
            for member in found.difference(&refused) {
                ended(*member).await;
            }
        }
        // What the kernel kills by itself needs no permission, and may have left the reaper only where it was killed.
        let Some(cgroup) = self.cgroup() else {
            return refused.is_empty();
        };
        while cgroup::is_populated(&cgroup) {
            if cgroup::kill(&cgroup).is_err() {
                return refused.is_empty();
            }
            sleep(LOOK_AGAIN).await;
        }
        true
    }

    /// Asks them to end: the program's group at once, and whoever left that.
    fn ask(&self, members: &HashSet<Member>) {
        // A stopped process takes its signal only when it goes on.
        let signals = [Signal::HUP, Signal::TERM, Signal::CONT];
        let asked = signals.iter().all(|signal| (self.signal_group)(*signal));
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
    async fn members(&self) -> HashSet<Member> {
        let reaper = self.reaper;
        let looking = tokio::task::spawn_blocking(move || table::descendants(reaper));
        looking.await.unwrap_or_default()
    }
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
/// How long processes have to end by themselves.
const PATIENCE: Duration = Duration::from_secs(5);
