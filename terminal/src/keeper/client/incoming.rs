//! What the keeper says, and who waits for it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::{Listed, Shared, receive};
use crate::id::SessionId;
use crate::keeper::message::{End, Reply, Step};
use crate::process::{Exit, Member};

/// Everything of a session that the keeper hands over.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) reaper: Member,
    pub(super) cgroup: Option<OwnedFd>,
    pub(super) journal: OwnedFd,
    pub(super) master: OwnedFd,
    pub(super) leader: u32,
    pub(super) end: watch::Receiver<Option<Exit>>,
}

/// Why it does not.
#[derive(Debug)]
pub(super) struct Failure {
    /// None where it holds no such session.
    pub(super) step: Option<Step>,
    pub(super) errno: i32,
}

/// Who waits for what. Locked for a few assignments only.
#[derive(Default)]
pub(super) struct State(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    sessions: HashMap<SessionId, Arriving>,
    list: Option<(Vec<Listed>, oneshot::Sender<Vec<Listed>>)>,
    forgetting: HashMap<SessionId, oneshot::Sender<bool>>,
    /// Of every session that was taken over and whose program runs.
    ends: HashMap<SessionId, watch::Sender<Option<Exit>>>,
    /// Of every session that the keeper named, as long as they live.
    reapers: HashMap<Member, SessionId>,
    is_lost: bool,
}

/// A session that arrives piece by piece.
struct Arriving {
    reaper: Option<Member>,
    cgroup: Option<OwnedFd>,
    journal: Option<OwnedFd>,
    answer: oneshot::Sender<Result<Parts, Failure>>,
}

impl State {
    pub(super) fn wait_for(&self, id: SessionId) -> oneshot::Receiver<Result<Parts, Failure>> {
        let (answer, receiver) = oneshot::channel();
        let arriving = Arriving {
            reaper: None,
            cgroup: None,
            journal: None,
            answer,
        };
        let mut waiting = self.lock();
        if !waiting.is_lost {
            waiting.sessions.insert(id, arriving);
        }
        receiver
    }

    pub(super) fn wait_for_list(&self) -> oneshot::Receiver<Vec<Listed>> {
        let (answer, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        if !waiting.is_lost {
            waiting.list = Some((Vec::new(), answer));
        }
        receiver
    }

    pub(super) fn wait_for_forgetting(&self, id: SessionId) -> oneshot::Receiver<bool> {
        let (answer, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        if !waiting.is_lost {
            waiting.forgetting.insert(id, answer);
        }
        receiver
    }

    /// The session of the first in the line that is a reaper.
    pub(super) fn session_of(&self, line: &[Member]) -> Option<SessionId> {
        let waiting = self.lock();
        line.iter()
            .find_map(|member| waiting.reapers.get(member).copied())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes what the keeper says, until it is gone. Then nobody waits any more, and no end is known that was not.
pub(super) async fn listen(shared: Arc<Shared>) {
    loop {
        match receive(&shared.socket).await {
            Ok(Some((reply, descriptor))) => shared.state.lock().take(reply, descriptor),
            Ok(None) => break,
            Err(error) => {
                tracing::error!(%error, "the keeper cannot be understood");
                break;
            }
        }
    }
    let mut waiting = shared.state.lock();
    // The reapers stay: they may outlive the keeper for a moment.
    let reapers = std::mem::take(&mut waiting.reapers);
    *waiting = Waiting {
        reapers,
        is_lost: true,
        ..Waiting::default()
    };
    drop(waiting);
    shared.lost.send_replace(true);
}

impl Waiting {
    fn take(&mut self, reply: Reply, descriptor: Option<OwnedFd>) {
        match reply {
            Reply::Reaper { id, reaper } => {
                self.knows(id, reaper);
                self.arrives(id, |arriving| arriving.reaper = Some(reaper));
            }
            Reply::Cgroup(id) => self.arrives(id, |arriving| arriving.cgroup = descriptor),
            Reply::Journal(id) => self.arrives(id, |arriving| arriving.journal = descriptor),
            Reply::Held { id, leader, end } => self.held(id, leader, end, descriptor),
            Reply::NotStarted { id, step, errno } => self.failed(id, Some(step), errno),
            Reply::Listed {
                id,
                reaper,
                forgotten,
                end,
                ..
            } => {
                self.knows(id, reaper);
                if let Some((listed, _)) = &mut self.list {
                    listed.push(Listed {
                        id,
                        state: end.into(),
                        is_forgotten: forgotten,
                    });
                }
            }
            Reply::ListEnd => {
                if let Some((listed, answer)) = self.list.take() {
                    answer.send(listed).ok();
                }
            }
            Reply::Ended { id, end } => {
                let sender = self.ends.remove(&id);
                // Without a known end the sender is dropped, which says so.
                if let (Some(sender), End::Exited(exit)) = (sender, end) {
                    sender.send_replace(Some(exit));
                }
            }
            Reply::Forgotten(id) => {
                self.ends.remove(&id);
                if let Some(answer) = self.forgetting.remove(&id) {
                    answer.send(true).ok();
                }
            }
            Reply::Unknown(id) => {
                self.failed(id, None, libc::ESRCH);
                if let Some(answer) = self.forgetting.remove(&id) {
                    answer.send(false).ok();
                }
            }
            Reply::Welcome { .. } | Reply::Refused(_) => {
                tracing::warn!(?reply, "the keeper said what nobody asked for");
            }
        }
    }

    fn knows(&mut self, id: SessionId, reaper: Member) {
        self.reapers.insert(reaper, id);
        if self.reapers.len() > MANY {
            self.reapers
                .retain(|reaper, _| Member::find(reaper.id) == Some(*reaper));
        }
    }

    fn arrives(&mut self, id: SessionId, with: impl FnOnce(&mut Arriving)) {
        if let Some(arriving) = self.sessions.get_mut(&id) {
            with(arriving);
        }
    }

    fn held(&mut self, id: SessionId, leader: u32, end: End, master: Option<OwnedFd>) {
        let Some(arriving) = self.sessions.remove(&id) else {
            return;
        };
        let (Some(reaper), Some(journal), Some(master)) = (arriving.reaper, arriving.journal, master) else {
            tracing::error!(session = %id, "the keeper left out a piece of a session");
            return;
        };
        let (sender, receiver) = watch::channel(None);
        match end {
            End::Running => drop(self.ends.insert(id, sender)),
            End::Exited(exit) => drop(sender.send_replace(Some(exit))),
            End::Unknown => drop(sender),
        }
        let parts = Parts {
            reaper,
            cgroup: arriving.cgroup,
            journal,
            master,
            leader,
            end: receiver,
        };
        if arriving.answer.send(Ok(parts)).is_err() {
            tracing::warn!(session = %id, "nobody waited for a session any more");
        }
    }

    fn failed(&mut self, id: SessionId, step: Option<Step>, errno: i32) {
        if let Some(arriving) = self.sessions.remove(&id) {
            arriving.answer.send(Err(Failure { step, errno })).ok();
        }
    }
}

/// Reapers, before those that have ended are looked for.
const MANY: usize = 256;
