//! A node of the daemon's own: Tailscale's Rust crate in this process, where it is built in. It is told no users, so that a peer
//! is known by its stable node id and its tags alone, and it is given no certificate.

mod listener;
mod stack;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use pairing::TailnetIdentity;
use server::UserspaceListener;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use self::listener::NodeListener;
use super::{OwnNode, Phase};
use crate::config::NodeOptions;

/// A node that runs in this process, as far as it is of interest. What it says of others it was told by its control server.
pub(super) trait Stack: Send + Sync + 'static {
    /// The node itself; pending while its control server has not told. An error is of the moment, as while a part of it begins
    /// anew.
    fn own(&self) -> BoxFuture<'_, Result<Own, NodeError>>;

    /// The node that has an address; none where nobody has.
    fn node_at(&self, address: IpAddr) -> BoxFuture<'_, Result<Option<NodeFacts>, NodeError>>;

    /// Listens at an address of the node's own.
    fn listen(&self, at: SocketAddr) -> BoxFuture<'_, Result<Box<dyn UserspaceListener>, NodeError>>;
}

/// Starts a [`Stack`].
pub(super) type Starter =
    Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Stack>, NodeError>> + Send + Sync>;

/// Where the node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(test, feature = "tailnet-embedded")),
    expect(dead_code, reason = "without a node of its own nobody tells of any")
)]
pub(super) enum Own {
    /// In its tailnet.
    Inside(NodeFacts),
    /// Somebody has to take it in, at this page.
    Outside(String),
    /// Nowhere: it has ended.
    Ended(NodeError),
}

/// A node, as a control server tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeFacts {
    /// Its stable id.
    pub(super) stable_id: String,
    /// Its MagicDNS name, as it is written.
    pub(super) name: String,
    /// Its addresses.
    pub(super) addresses: Vec<IpAddr>,
    /// Its tags.
    pub(super) tags: Vec<String>,
    /// Its key is not good any more.
    pub(super) is_expired: bool,
}

/// Why the node says nothing, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NodeError(pub(super) String);

/// The node, which is started again where it ends.
pub(super) struct Embedded {
    options: NodeOptions,
    starter: Starter,
    running: watch::Sender<Option<Arc<dyn Stack>>>,
    /// Why it does not run, where it was to.
    trouble: Mutex<Option<NodeError>>,
    /// Where it can be taken in.
    page: Mutex<Option<String>>,
    /// How often in a row it could not say where it stands.
    failures: AtomicU32,
    /// Whether it was in its tailnet since it was started.
    was_inside: AtomicBool,
    /// How long it may take to say what it knows by itself.
    quick: Duration,
}

impl Embedded {
    /// As it is configured, with its state in the folder. Nothing is started yet.
    pub(super) fn new(options: &NodeOptions, folder: PathBuf) -> Self {
        Self::started_by(stack::starter(options.clone(), folder), options)
    }

    pub(super) fn started_by(starter: Starter, options: &NodeOptions) -> Self {
        Self {
            options: options.clone(),
            starter,
            running: watch::Sender::new(None),
            trouble: Mutex::default(),
            page: Mutex::default(),
            failures: AtomicU32::new(0),
            was_inside: AtomicBool::new(false),
            quick: QUICK,
        }
    }

    /// Starts it, where it does not run.
    pub(super) async fn start(&self) -> Result<(), NodeError> {
        if self.running.borrow().is_none() {
            let started = (self.starter)().await;
            *held(&self.trouble) = started.as_ref().err().cloned();
            self.running.send_replace(Some(started?));
        }
        Ok(())
    }

    /// What it is, and whether it is in its tailnet. One that has ended is let go of, with all its streams; one that fails to say
    /// so a few times in a row is taken for ended.
    pub(super) async fn status(&self) -> Result<(Phase, Option<OwnNode>), NodeError> {
        let Some(stack) = self.stack() else {
            let trouble = held(&self.trouble).clone();
            return trouble.map_or(Ok((Phase::Starting, None)), Err);
        };
        let own = timeout(self.quick, stack.own()).await;
        let page = match &own {
            Ok(Ok(Own::Outside(page))) => Some(page.clone()),
            _ => None,
        };
        *held(&self.page) = page;
        let former = self.failures.load(Ordering::Relaxed);
        let failures = match &own {
            Ok(Ok(_)) => 0,
            // One that begins says nothing for as long as its control server does not.
            Err(_) if !self.was_inside.load(Ordering::Relaxed) => former,
            Ok(Err(_)) | Err(_) => former + 1,
        };
        self.failures.store(failures, Ordering::Relaxed);
        let own = own.or_else(|_| match failures < FAILURES {
            true => Err(()),
            false => Ok(Err(NodeError(SILENT.to_owned()))),
        });
        match own {
            Err(()) => Ok((Phase::Starting, None)),
            Ok(Ok(Own::Outside(_))) => Ok((Phase::NeedsLogin, None)),
            Ok(Ok(Own::Inside(node))) => {
                let phase = match node.is_expired {
                    true => Phase::NeedsLogin,
                    false => Phase::Running,
                };
                self.was_inside.store(true, Ordering::Relaxed);
                Ok((phase, Some(node.own())))
            }
            Ok(Err(error)) if failures < FAILURES => Err(error),
            Ok(Ok(Own::Ended(error)) | Err(error)) => {
                self.failures.store(0, Ordering::Relaxed);
                self.was_inside.store(false, Ordering::Relaxed);
                *held(&self.trouble) = Some(error.clone());
                self.running.send_replace(None);
                Err(error)
            }
        }
    }

    /// The page at which somebody has to take it in.
    pub(super) fn login_page(&self) -> Option<String> {
        held(&self.page).clone()
    }

    /// Completes when it is time to look at it again: it tells of nothing by itself.
    pub(super) async fn next_look(&self) {
        sleep(LOOK).await;
    }

    /// Which node has an address.
    pub(super) async fn who_is(&self, address: IpAddr) -> Result<Option<TailnetIdentity>, NodeError> {
        let stack = self.stack().ok_or_else(|| NodeError(NOT_RUNNING.to_owned()))?;
        let node = timeout(self.quick, stack.node_at(address)).await;
        let node = node.unwrap_or_else(|_| Err(NodeError(SILENT.to_owned())))?;
        Ok(node.and_then(|node| node.identity_at(address)))
    }

    /// Listens at an address of its own, also once it was started again.
    pub(super) async fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn UserspaceListener>> {
        let stack = self.stack().ok_or_else(|| io::Error::other(NOT_RUNNING))?;
        let listener = stack.listen(at).await.map_err(io::Error::other)?;
        Ok(Box::new(NodeListener::new(
            at,
            self.running.subscribe(),
            (stack, listener),
        )))
    }

    /// The keys that are configured otherwise by now.
    pub(super) fn differing(&self, options: &NodeOptions) -> Vec<&'static str> {
        let (was, is) = (&self.options, options);
        let keys = [
            ("tailnet.hostname", was.hostname != is.hostname),
            ("tailnet.auth_key_file", was.auth_key != is.auth_key),
            ("tailnet.control_url", was.control != is.control),
        ];
        keys.into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(key, _)| key)
            .collect()
    }

    fn stack(&self) -> Option<Arc<dyn Stack>> {
        self.running.borrow().clone()
    }
}

impl NodeFacts {
    fn own(self) -> OwnNode {
        OwnNode {
            name: super::local_api::name(&self.name),
            addresses: self.addresses,
            user_id: None,
            user: None,
            tags: self.tags,
            has_certificates: false,
        }
    }

    /// Who it is, for who comes from there; nobody where that is not its address, or it has no id or no good key.
    fn identity_at(self, address: IpAddr) -> Option<TailnetIdentity> {
        if self.is_expired || self.stable_id.is_empty() || !self.addresses.contains(&address) {
            return None;
        }
        Some(TailnetIdentity {
            user_id: String::new(),
            user: String::new(),
            node: super::local_api::name(&self.name).unwrap_or_else(|| self.stable_id.clone()),
            node_id: self.stable_id,
            tags: self.tags,
        })
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const NOT_RUNNING: &str = "the daemon's own node does not run";
const SILENT: &str = "the daemon's own node does not answer";

/// For what it knows by itself: well within the time of a TLS handshake, which waits for it.
const QUICK: Duration = Duration::from_secs(2);

/// Looks in a row at which it could not say where it stands, until it is taken for ended: by then it had some seconds to begin a
/// part of itself anew, through which its streams live.
const FAILURES: u32 = 5;

/// Between two looks at it.
const LOOK: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
