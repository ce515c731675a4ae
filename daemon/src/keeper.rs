//! The daemon's keeper: found at the start where one runs, started with the first session elsewhere, and mourned when it dies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use protocol::access::KeeperStatus;
use terminal::{
    Command, Held, Keeper, KeeperError, KeeperOptions, Options, Origin, PeerProcess, SessionId, SpawnError,
};
use tokio::{sync::watch, time::timeout};

use crate::paths::Paths;

/// The way to the keeper; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct KeeperLink {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: KeeperOptions,
    /// What the directory of the sessions' cgroups is called.
    name: String,
    /// Locked while a keeper is looked for or started, so that there is one.
    finding: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// How many keepers died.
    losses: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    keeper: Option<Arc<Keeper>>,
    /// A keeper died, and what it held may still live.
    is_mourning: bool,
    /// A session of this keeper has no cgroup.
    is_without_cgroups: bool,
    /// A keeper died that had such a session, so what escaped from it cannot be told from the owner.
    may_have_orphans: bool,
}

impl KeeperLink {
    /// The way to the keeper of this instance.
    pub(crate) fn new(paths: &Paths, instance: &str, cgroups: bool, speak: Option<u16>) -> Self {
        let name = format!("transom-{instance}");
        let mut arguments = vec!["keep".into(), name.clone().into()];
        if !cgroups {
            arguments.push("--no-cgroups".into());
        }
        if let Some(newest) = speak {
            arguments.extend(["--speak".into(), newest.to_string().into()]);
        }
        let options = KeeperOptions {
            socket: paths.keeper(),
            // The very file that this process executes, also when another is at its path by now.
            program: "/proc/self/exe".into(),
            arguments,
        };
        Self::with(options, name)
    }

    pub(crate) fn with(options: KeeperOptions, name: String) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                name,
                finding: tokio::sync::Mutex::default(),
                state: Mutex::default(),
                losses: watch::Sender::new(0),
            }),
        }
    }

    /// Connects to a keeper that runs, and takes over all that it holds; nothing where none runs.
    ///
    /// # Errors
    /// When one runs and does not serve this daemon.
    pub(crate) async fn adopt_all(&self) -> Result<Vec<Held>, KeeperError> {
        let _finding = self.shared.finding.lock().await;
        let Some(keeper) = Keeper::connect(&self.shared.options.socket).await? else {
            return Ok(Vec::new());
        };
        let keeper = self.begin(keeper);
        let listed = keeper.list().await?;
        let ids = listed
            .iter()
            .filter(|listed| !listed.is_forgotten)
            .map(|listed| listed.id);
        let adopted = stream::iter(ids).map(async |id| (id, keeper.adopt(id).await));
        let held = adopted
            .buffered(AT_ONCE)
            .filter_map(async |(id, adopted)| match adopted {
                Ok(session) => {
                    self.note(&session);
                    Some(session)
                }
                Err(error) => {
                    tracing::error!(session = %id, %error, "a session could not be taken over");
                    None
                }
            });
        Ok(held.collect().await)
    }

    /// Starts a program, and a keeper if there is none.
    ///
    /// # Errors
    /// [`SpawnError`], with nothing started.
    pub(crate) async fn spawn(
        &self,
        id: SessionId,
        command: Command,
        options: Options,
    ) -> Result<terminal::Session, SpawnError> {
        let keeper = self.keeper().await.map_err(|error| SpawnError::System {
            what: "start the keeper of terminals",
            source: std::io::Error::other(error),
        })?;
        let held = keeper.spawn(command, id, options.scrollback_memory).await?;
        self.note(&held);
        terminal::Session::adopt_new(&keeper, held, options).await
    }

    /// Where a process of this user comes from.
    pub(crate) fn origin(&self, peer: &PeerProcess) -> Origin {
        let keeper = {
            let state = self.state();
            if state.is_mourning {
                return Origin::Unknown;
            }
            state.keeper.clone()
        };
        match keeper {
            Some(keeper) => keeper.origin(peer, Some(&self.shared.name)),
            None => Origin::Outside,
        }
    }

    /// Whether what a dead keeper held may still live.
    pub(crate) fn is_mourning(&self) -> bool {
        self.state().is_mourning
    }

    /// Whether a process may come from a session although it does not look so.
    pub(crate) fn may_have_orphans(&self) -> bool {
        self.state().may_have_orphans
    }

    /// Waits while what a dead keeper held may still live, and says whether that is over.
    pub(crate) async fn is_settled_within(&self, patience: Duration) -> bool {
        timeout(patience, self.settled()).await.is_ok()
    }

    /// Lets the keeper drop what it holds of a session, whose record is complete or wanted no more.
    pub(crate) async fn forget(&self, id: SessionId) {
        let keeper = self.state().keeper.clone();
        if let Some(keeper) = keeper
            && let Err(error) = keeper.forget(id).await
        {
            tracing::debug!(session = %id, %error, "the keeper did not forget a session");
        }
    }

    /// Ends what lives of sessions that the keeper was let drop.
    pub(crate) async fn end_forgotten(&self) {
        let keeper = self.state().keeper.clone();
        if let Some(keeper) = keeper
            && let Err(error) = keeper.end_forgotten().await
        {
            tracing::warn!(%error, "what ended sessions left running could not be ended");
        }
    }

    /// The keeper that is connected, for the owner.
    pub(crate) fn status(&self) -> Option<KeeperStatus> {
        let keeper = self.state().keeper.clone()?;
        Some(KeeperStatus {
            pid: keeper.process_id(),
            version: keeper.build(),
        })
    }

    /// Tells when a keeper dies. Whoever is told ends what it held, and says [`mourned`](Self::mourned) then.
    pub(crate) fn losses(&self) -> watch::Receiver<u64> {
        self.shared.losses.subscribe()
    }

    /// All that the dead keeper held is gone.
    pub(crate) fn mourned(&self) {
        self.state().is_mourning = false;
        self.shared.losses.send_modify(|_| ());
    }

    async fn keeper(&self) -> Result<Arc<Keeper>, KeeperError> {
        let _finding = self.shared.finding.lock().await;
        self.settled().await;
        let current = self.state().keeper.clone().filter(|keeper| !keeper.is_lost());
        match current {
            Some(keeper) => Ok(keeper),
            None => Ok(self.begin(Keeper::connect_or_start(&self.shared.options).await?)),
        }
    }

    async fn settled(&self) {
        // The sender lives in `shared`.
        let _ = self.losses().wait_for(|_| !self.is_mourning()).await;
    }

    fn begin(&self, keeper: Keeper) -> Arc<Keeper> {
        // Sessions' tasks may run on after everything else of this daemon is dropped.
        if let Err(error) = keeper.hold_until_exit() {
            tracing::warn!(%error, "the keeper is let go before this process ends");
        }
        let keeper = Arc::new(keeper);
        self.state().keeper = Some(Arc::clone(&keeper));
        let (link, lost) = (self.clone(), keeper.lost());
        tracing::info!(process = keeper.process_id(), "connected to the keeper");
        tokio::spawn(async move {
            lost.await;
            link.lose();
        });
        keeper
    }

    fn lose(&self) {
        tracing::error!("the keeper is gone: its sessions are ended");
        {
            let mut state = self.state();
            state.is_mourning = true;
            state.keeper = None;
            state.may_have_orphans |= std::mem::take(&mut state.is_without_cgroups);
        }
        self.shared.losses.send_modify(|losses| *losses += 1);
    }

    fn note(&self, held: &Held) {
        if !held.has_cgroup() {
            let mut state = self.state();
            state.is_without_cgroups = true;
            // It may have died with this one.
            state.may_have_orphans |= state.keeper.is_none();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sessions that are asked for before the first is there: none waits for the way to and fro, and few descriptors are on it
/// (unix(7), `ETOOMANYREFS`).
const AT_ONCE: usize = 16;
