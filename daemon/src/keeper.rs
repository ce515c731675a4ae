//! The daemon's keeper: found at the start where one runs, started with the first session elsewhere, and mourned when it dies.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use protocol::access::KeeperStatus;
use terminal::{
    Command, Held, Keeper, KeeperError, KeeperOptions, Listed, Options, Origin, PeerProcess, SessionId,
    SpawnError,
};
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use crate::paths::Paths;

/// The way to the keeper; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct KeeperLink {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: KeeperOptions,
    /// Where the socket of a keeper is that a service manager starts, or that an older daemon started.
    former: Option<PathBuf>,
    /// What the directory of the sessions' cgroups is called.
    name: String,
    /// Locked while a keeper is looked for or started, so that there is one.
    finding: tokio::sync::Mutex<()>,
    /// A turn for each session that is on its way.
    turns: Semaphore,
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

/// How the keeper stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeeperState {
    /// None is needed yet.
    None,
    /// It holds what sessions there are.
    Connected,
    /// It died, and what it held may still live.
    Mourned,
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
        let former = Some(paths.former_keeper()).filter(|former| *former != options.socket);
        Self::with(options, former, name)
    }

    pub(crate) fn with(options: KeeperOptions, former: Option<PathBuf>, name: String) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                former,
                name,
                finding: tokio::sync::Mutex::default(),
                turns: Semaphore::new(AT_ONCE as usize),
                state: Mutex::default(),
                losses: watch::Sender::new(0),
            }),
        }
    }

    /// Connects to a keeper that runs, and says what it holds that can be [adopted](Self::adopt); nothing where none runs.
    ///
    /// # Errors
    /// When one runs and does not serve this daemon.
    pub(crate) async fn find(&self) -> Result<Vec<Listed>, KeeperError> {
        let _finding = self.shared.finding.lock().await;
        let Some(keeper) = self.running().await? else {
            return Ok(Vec::new());
        };
        let keeper = self.begin(keeper);
        let mut listed = keeper.list().await?;
        listed.retain(|listed| !listed.is_forgotten);
        Ok(listed)
    }

    /// Takes over a session that the keeper holds, once its program has begun; `alone`, while no other is on its way.
    ///
    /// # Errors
    /// As [`Keeper::adopt`].
    pub(crate) async fn adopt(&self, id: SessionId, alone: bool) -> Result<Held, KeeperError> {
        let keeper = self.current()?;
        let turns = if alone { AT_ONCE } else { 1 };
        let turn = self.shared.turns.acquire_many(turns).await;
        let mut adopting = std::pin::pin!(keeper.adopt(id));
        let held = match timeout(TURN, &mut adopting).await {
            Ok(held) => held?,
            // It is not on its way yet, and keeps nobody from theirs.
            Err(_not_begun) => {
                drop(turn);
                adopting.await?
            }
        };
        self.note(&held);
        Ok(held)
    }

    /// Whether the keeper holds a session still, so that it can be adopted.
    ///
    /// # Errors
    /// Where the keeper is gone.
    pub(crate) async fn holds(&self, id: SessionId) -> Result<bool, KeeperError> {
        let listed = self.current()?.list().await?;
        Ok(listed
            .iter()
            .any(|listed| listed.id == id && !listed.is_forgotten))
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
            Some(keeper) => keeper.origin(peer, &[&self.shared.name, SERVICE]),
            // One that has ended may have come from what a dead keeper held, and its connection be somebody else's by now.
            None if !peer.is_alive() => Origin::Unknown,
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

    /// Ends what lives of the sessions that the keeper holds and that are chosen, as those that nobody adopted have no other end;
    /// returns how many of them had begun.
    pub(crate) async fn end(&self, is_chosen: impl Fn(&Listed) -> bool) -> usize {
        let Ok(keeper) = self.current() else { return 0 };
        keeper.end(is_chosen).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "what sessions left running could not be ended");
            0
        })
    }

    /// The keeper that is connected, for the owner.
    pub(crate) fn status(&self) -> Option<KeeperStatus> {
        let keeper = self.state().keeper.clone()?;
        Some(KeeperStatus {
            pid: keeper.process_id(),
            version: keeper.build(),
        })
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> KeeperState {
        let state = self.state();
        match &state.keeper {
            _ if state.is_mourning => KeeperState::Mourned,
            Some(_) => KeeperState::Connected,
            None => KeeperState::None,
        }
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

    /// The keeper that is connected.
    fn current(&self) -> Result<Arc<Keeper>, KeeperError> {
        self.state().keeper.clone().ok_or(KeeperError::Gone)
    }

    async fn keeper(&self) -> Result<Arc<Keeper>, KeeperError> {
        let _finding = self.shared.finding.lock().await;
        self.settled().await;
        let current = self.state().keeper.clone().filter(|keeper| !keeper.is_lost());
        match current {
            Some(keeper) => Ok(keeper),
            None => {
                // What is wrong with one that runs is said by the second try.
                let keeper = match self.running().await {
                    Ok(Some(keeper)) => keeper,
                    _ => Keeper::connect_or_start(&self.shared.options).await?,
                };
                Ok(self.begin(keeper))
            }
        }
    }

    async fn settled(&self) {
        // The one that is connected may be dead, and nobody told yet.
        let is_settled = |_: &u64| {
            let state = self.state();
            !state.is_mourning && state.keeper.as_ref().is_none_or(|keeper| !keeper.is_lost())
        };
        // The sender lives in `shared`.
        let _ = self.losses().wait_for(is_settled).await;
    }

    /// A connection to the keeper that runs, if one does.
    async fn running(&self) -> Result<Option<Keeper>, KeeperError> {
        match (
            Keeper::connect(&self.shared.options.socket).await?,
            &self.shared.former,
        ) {
            (None, Some(former)) => Keeper::connect(former).await,
            (found, _) => Ok(found),
        }
    }

    fn begin(&self, keeper: Keeper) -> Arc<Keeper> {
        // Sessions' tasks may run on after everything else of this daemon is dropped.
        if let Err(error) = keeper.hold_until_exit() {
            tracing::warn!(%error, "the keeper is let go before this process ends");
        }
        let keeper = Arc::new(keeper);
        self.state().keeper = Some(Arc::clone(&keeper));
        let (link, lost, dead) = (self.clone(), keeper.lost(), Arc::downgrade(&keeper));
        tracing::info!(process = keeper.process_id(), "connected to the keeper");
        tokio::spawn(async move {
            lost.await;
            link.lose(&dead);
        });
        keeper
    }

    /// A keeper died; another may be connected by now.
    fn lose(&self, dead: &Weak<Keeper>) {
        tracing::error!("the keeper is gone: its sessions are ended");
        {
            let mut state = self.state();
            state.is_mourning = true;
            state.may_have_orphans |= state.is_without_cgroups;
            let is_current = |keeper: &Arc<Keeper>| std::ptr::eq(Arc::as_ptr(keeper), dead.as_ptr());
            if state.keeper.as_ref().is_some_and(is_current) {
                state.keeper = None;
                state.is_without_cgroups = false;
            }
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

/// With what name the unit of a keeper starts it (`deploy/systemd/transom-keeper.service`).
const SERVICE: &str = "transom-service";
/// Sessions that are asked for before the first is there: none waits for the way to and fro, and few descriptors are on it
/// (unix(7), `ETOOMANYREFS`).
const AT_ONCE: u32 = 16;
/// A session that did not come for so long has not begun.
const TURN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use terminal::{Keeper, KeeperOptions};

    use super::KeeperLink;

    #[tokio::test]
    async fn the_death_of_a_former_keeper_is_not_that_of_the_one_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let options = |name| KeeperOptions {
            socket: folder.path().join(name),
            program: std::env::current_exe().unwrap(),
            arguments: ["--exact", "sessions::tests::keeper_process", "--ignored"]
                .map(Into::into)
                .to_vec(),
        };
        let link = KeeperLink::with(options("first.sock"), None, "transom-test".to_owned());
        let first = link.keeper().await.unwrap();
        let second = Keeper::connect_or_start(&options("second.sock")).await.unwrap();
        let second = link.begin(second);
        link.lose(&Arc::downgrade(&first));
        assert!(Arc::ptr_eq(&link.current().unwrap(), &second));
        assert!(link.is_mourning());
        link.lose(&Arc::downgrade(&second));
        assert!(link.current().is_err());
    }
}
