//! Where local processes come from: a program of a session is that session, and never the owner.

use std::{
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use pairing::Authenticated;
use server::{LocalAnswer, LocalOrigin, LocalPeer, LocalProcess};
use terminal::{Origin, PeerProcess, SessionId};
use tokio::{sync::OnceCell, time::sleep};

use crate::{
    keeper::KeeperLink,
    sessions::{Inside, Sessions},
};

/// Tells processes of sessions by the keeper's reapers and cgroups.
pub(crate) struct Origins {
    keeper: KeeperLink,
    sessions: Sessions,
}

impl Origins {
    pub(crate) fn new(keeper: KeeperLink, sessions: Sessions) -> Self {
        Self { keeper, sessions }
    }
}

impl LocalOrigin for Origins {
    fn meet(&self, socket: BorrowedFd<'_>, peer: &LocalPeer) -> Box<dyn LocalProcess> {
        Box::new(Process {
            peer: peer.pid.and_then(|pid| PeerProcess::of(socket, pid)),
            keeper: self.keeper.clone(),
            sessions: self.sessions.clone(),
            known: OnceCell::new(),
        })
    }
}

struct Process {
    /// None where it was gone by then, or is of another process namespace.
    peer: Option<PeerProcess>,
    keeper: KeeperLink,
    sessions: Sessions,
    /// Found once: nobody gets out of a session, nor into one.
    known: OnceCell<Known>,
}

enum Known {
    /// Of no session, or of one whose programs are the owner.
    Owner,
    Inside(Authenticated),
}

/// Why it is nobody.
#[derive(Clone, Copy)]
struct Unknown {
    detail: &'static str,
    hint: &'static str,
}

impl LocalProcess for Process {
    fn origin(&self) -> BoxFuture<'_, LocalAnswer> {
        Box::pin(async {
            match self.known.get_or_try_init(|| self.find()).await {
                Ok(Known::Inside(who)) => LocalAnswer::Inside(who.clone()),
                Ok(Known::Owner) if !self.keeper.is_settled_within(PATIENCE).await => MOURNING.answer(),
                Ok(Known::Owner) if self.keeper.may_have_orphans() => LocalAnswer::Doubtful,
                Ok(Known::Owner) => LocalAnswer::Outside,
                Err(unknown) => unknown.answer(),
            }
        })
    }
}

impl Process {
    /// Looks again for a moment: a program may be here before the word on its reaper is, or its session is in the list.
    async fn find(&self) -> Result<Known, Unknown> {
        let peer = self.peer.as_ref().ok_or(GONE)?;
        let until = Instant::now() + PATIENCE;
        let mut pause = Duration::from_millis(1);
        loop {
            let unknown = match self.look(peer) {
                Ok(known) => return Ok(known),
                Err(unknown) => unknown,
            };
            if !peer.is_alive() {
                return Err(GONE);
            }
            if Instant::now() >= until {
                return Err(unknown);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn look(&self, peer: &PeerProcess) -> Result<Known, Unknown> {
        match self.keeper.origin(peer) {
            Origin::Outside => Ok(Known::Owner),
            Origin::Inside(id) => self.inside(id),
            Origin::Unknown if self.keeper.is_mourning() => Err(MOURNING),
            Origin::Unknown => Err(UNREADABLE),
        }
    }

    fn inside(&self, id: SessionId) -> Result<Known, Unknown> {
        match self.sessions.inside(&id.to_string()) {
            Some(Inside::Trusted) => Ok(Known::Owner),
            Some(Inside::Scoped(who)) => Ok(Known::Inside(who)),
            Some(Inside::Ended) | None => Err(ENDED),
        }
    }
}

impl Unknown {
    fn answer(self) -> LocalAnswer {
        LocalAnswer::Unknown {
            detail: self.detail,
            hint: self.hint,
        }
    }
}

const GONE: Unknown = Unknown {
    detail: "it cannot be told whether this process is inside of a session: it is gone, or of another process namespace",
    hint: "ask from a process on the daemon's own machine that waits for its answer",
};
const UNREADABLE: Unknown = Unknown {
    detail: "it cannot be told whether this process is inside of a session: its ancestors cannot be read",
    hint: "where /proc is mounted with `hidepid`, let this user see every process; else ask again",
};
const ENDED: Unknown = Unknown {
    detail: "this runs inside of a session that has ended",
    hint: "ask from a terminal outside of sessions",
};
const MOURNING: Unknown = Unknown {
    detail: "the keeper of sessions died, and until its sessions are ended nobody is taken for the owner",
    hint: "ask again in a moment",
};
/// How long a process waits to be known.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
