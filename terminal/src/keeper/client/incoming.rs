//! What the keeper says, and who waits for it.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::process::Pid;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

use super::{Held, Listed, Piece, Shared, receive, send};
use crate::id::SessionId;
use crate::journal::Journal;
use crate::keeper::message::{End, Reply, Request, Step};
use crate::process::{Exit, Member, Tree};

/// Everything of a session that the keeper hands over. Dropped without having been [claimed](Self::claim), a session that was
/// started for whoever waited is ended and forgotten: nobody would know of it.
#[derive(Debug)]
pub(super) struct Parts {
    id: SessionId,
    tree: Option<Tree>,
    /// None where this process had no room for the descriptor.
    journal: Option<OwnedFd>,
    /// The same.
    master: Option<OwnedFd>,
    end: watch::Receiver<Option<Exit>>,
    is_new: bool,
    shared: Weak<Shared>,
}

impl Parts {
    /// Takes the session over.
    ///
    /// # Errors
    /// Where a descriptor of it was lost, or its journal is not whole.
    pub(super) fn claim(mut self) -> io::Result<Held> {
        let (Some(journal), Some(master)) = (self.journal.take(), self.master.take()) else {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        };
        let journal = Journal::open(journal)?;
        Ok(Held {
            id: self.id,
            master,
            journal,
            tree: self.tree.take().expect("only this takes it, once"),
            end: self.end.clone(),
        })
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let (Some(tree), Ok(runtime)) = (self.tree.take(), Handle::try_current()) else {
            return;
        };
        if !self.is_new {
            return;
        }
        tracing::warn!(session = %self.id, "nobody took over a session that was started: it is ended");
        let (id, shared) = (self.id, self.shared.clone());
        runtime.spawn(async move {
            tree.kill().await;
            if let Some(shared) = shared.upgrade() {
                send(&shared.socket, Request::Forget(id), None).await.ok();
            }
        });
    }
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
    /// A piece came for which this process had no room.
    is_torn: bool,
    /// Nobody knows of it but who waits.
    is_new: bool,
    answer: oneshot::Sender<Result<Parts, Failure>>,
}

impl State {
    /// `is_new` of one that is yet to be started.
    pub(super) fn wait_for(&self, id: SessionId, is_new: bool) -> oneshot::Receiver<Result<Parts, Failure>> {
        let (answer, receiver) = oneshot::channel();
        let arriving = Arriving {
            reaper: None,
            cgroup: None,
            journal: None,
            is_torn: false,
            is_new,
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
            Ok(Some((reply, piece))) => {
                // Dropped after the lock.
                let _unclaimed = shared.state.lock().take(&shared, reply, piece);
            }
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::error!(%error, "the keeper said what is not understood");
            }
            Err(error) => {
                tracing::error!(%error, "the keeper cannot be listened to");
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
    /// Returns what came for somebody who does not wait any more.
    fn take(&mut self, shared: &Arc<Shared>, reply: Reply, piece: Piece) -> Option<Result<Parts, Failure>> {
        let Piece { descriptor, is_lost } = piece;
        match reply {
            Reply::Reaper { id, reaper } => {
                self.knows(id, reaper);
                self.arrives(id, |arriving| arriving.reaper = Some(reaper));
            }
            Reply::Cgroup(id) => self.arrives(id, |arriving| {
                arriving.cgroup = descriptor;
                arriving.is_torn |= is_lost;
            }),
            Reply::Journal(id) => self.arrives(id, |arriving| {
                arriving.journal = descriptor;
                arriving.is_torn |= is_lost;
            }),
            Reply::Held { id, leader, end } => return self.held(shared, id, leader, end, descriptor),
            Reply::NotStarted { id, step, errno } => self.failed(id, Some(step), errno),
            Reply::Listed {
                id,
                reaper,
                leader,
                forgotten,
                end,
            } => {
                self.knows(id, reaper);
                if let Some((listed, _)) = &mut self.list {
                    listed.push(Listed {
                        id,
                        state: end.into(),
                        has_begun: leader != 0,
                        is_forgotten: forgotten,
                        reaper,
                        leader,
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
        None
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

    fn held(
        &mut self,
        shared: &Arc<Shared>,
        id: SessionId,
        leader: u32,
        end: End,
        master: Option<OwnedFd>,
    ) -> Option<Result<Parts, Failure>> {
        let arriving = self.sessions.remove(&id)?;
        let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
        let (Some(reaper), Some(leader)) = (arriving.reaper, leader) else {
            tracing::error!(session = %id, "the keeper left out who runs a session");
            return None;
        };
        let (sender, receiver) = watch::channel(None);
        match end {
            End::Running => drop(self.ends.insert(id, sender)),
            End::Exited(exit) => drop(sender.send_replace(Some(exit))),
            End::Unknown => drop(sender),
        }
        let tree = Tree::new(reaper, leader, arriving.cgroup, shared.signal_group(id));
        let parts = Parts {
            id,
            tree: Some(tree),
            journal: arriving.journal.filter(|_| !arriving.is_torn),
            master,
            end: receiver,
            is_new: arriving.is_new,
            shared: Arc::downgrade(shared),
        };
        arriving.answer.send(Ok(parts)).err()
    }

    fn failed(&mut self, id: SessionId, step: Option<Step>, errno: i32) {
        if let Some(arriving) = self.sessions.remove(&id) {
            arriving.answer.send(Err(Failure { step, errno })).ok();
        }
    }
}

/// Reapers, before those that have ended are looked for.
const MANY: usize = 256;
