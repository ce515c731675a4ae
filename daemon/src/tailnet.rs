//! The tailnet of this machine, by its tailscaled, or by a node of the daemon's own: who is behind an
//! address, and what this node is.

mod cache;
pub(crate) mod certificate;
mod embedded;
mod follow;
mod listeners;
mod local_api;
mod policy;
mod probe;
mod way;

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pairing::TailnetIdentity;
use server::{Access, RemotePeer, WhoIs, WhoIsAnswer};
use tokio::{
    sync::{Notify, Semaphore, watch},
    time::Instant,
};

use self::local_api::Phase;
pub use self::probe::{Probe, ProbedNode, Trouble, probe};
use self::{
    cache::Cache,
    certificate::Certificate,
    embedded::Embedded,
    local_api::LocalApi,
    way::{Endpoint, Unasked, Way},
};
pub(crate) use self::{listeners::TailnetListeners, local_api::OwnNode};
use crate::config::{Allowed, Config, TailnetMode};

/// What is known of the tailnet, and who of it may come.
pub(crate) struct Tailnet {
    way: Way,
    allow: Mutex<Vec<Allowed>>,
    seen: watch::Sender<Seen>,
    /// What there is of a certificate for this machine's name.
    certificate: watch::Sender<Certificate>,
    /// Where there was ever a listener of the tailnet in this life: whoever comes there has to be known.
    listeners: Mutex<BTreeSet<SocketAddr>>,
    /// Every address that this node was told to have in this life: so is whoever comes there.
    owned: Mutex<BTreeSet<IpAddr>>,
    cache: Cache,
    /// Questions about peers that are under way.
    questions: Semaphore,
    /// Questions about peers that failed since one was answered.
    unanswered: Mutex<Unanswered>,
    /// Woken when there is one.
    unheard: Notify,
    /// Woken whenever tailscaled tells of a change, whatever that is.
    told: Notify,
}

#[derive(Default)]
struct Unanswered {
    count: u64,
    /// Whom the last one was about.
    about: Option<IpAddr>,
    /// Why it failed.
    why: String,
    /// When it was last said in the log: whoever keeps coming shall not fill the disk.
    said: Option<Instant>,
}

/// What tailscaled, or the daemon's own node, said last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What it is doing; none where it does not answer.
    pub(crate) phase: Option<Phase>,
    /// This machine's node, as it was told last.
    pub(crate) node: Option<OwnNode>,
    /// Why it does not answer.
    pub(crate) trouble: Option<String>,
}

/// Why an address that looks like one of a tailnet is not taken for this machine's in its own; a sentence without its subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOwn {
    /// This machine has others.
    #[error(
        "is not this machine's in its tailnet: a listener that others reach needs listen.dangerous_allow_any_interface = true"
    )]
    Another,
    /// Which it has is not known.
    #[error("may be this machine's in its tailnet or not, which cannot be told: {0}")]
    Unknown(String),
}

impl Seen {
    /// The addresses at which this machine is reached over the tailnet now; none where that is not known, and is what it was.
    pub(crate) fn addresses(&self) -> Option<Vec<IpAddr>> {
        match self.phase {
            Some(Phase::Running) => Some(self.node.iter().flat_map(|node| node.addresses.clone()).collect()),
            Some(Phase::NeedsLogin | Phase::Stopped) => Some(Vec::new()),
            Some(Phase::Starting) | None => None,
        }
    }

    /// This machine's node, where it is in its tailnet now.
    pub(crate) fn running(self) -> Option<OwnNode> {
        self.node.filter(|_| self.phase == Some(Phase::Running))
    }

    /// Why an address is not this machine's; none where it is, as far as was told last.
    fn disowns(&self, address: IpAddr) -> Option<NotOwn> {
        match &self.node {
            Some(node) if node.addresses.contains(&address) => None,
            Some(_) => Some(NotOwn::Another),
            None => Some(NotOwn::Unknown(
                self.trouble
                    .clone()
                    .unwrap_or_else(|| "tailscaled knows of no node here".to_owned()),
            )),
        }
    }

    /// The user whom this machine's node belongs to.
    fn owner(&self) -> Option<&str> {
        self.node.as_ref()?.user_id.as_deref()
    }
}

impl Tailnet {
    /// As it is configured; none where no tailnet is. A node of the daemon's own keeps its state below `state`. Nothing is asked
    /// yet.
    pub(crate) fn new(config: &Config, state: &Path) -> Option<Arc<Self>> {
        let way = match config.tailnet_mode {
            TailnetMode::Off => return None,
            TailnetMode::Host => Way::Host(LocalApi::new(config.tailnet_socket.clone())),
            TailnetMode::Embedded => Way::Embedded(Embedded::new(&config.tailnet_node, state.join(FOLDER))),
        };
        Some(Arc::new(Self::asking(way, config.tailnet_allow.clone())))
    }

    fn asking(way: Way, allow: Vec<Allowed>) -> Self {
        Self {
            way,
            allow: Mutex::new(allow),
            seen: watch::Sender::new(Seen::default()),
            certificate: watch::Sender::default(),
            listeners: Mutex::default(),
            owned: Mutex::default(),
            cache: Cache::default(),
            questions: Semaphore::new(QUESTIONS),
            unanswered: Mutex::default(),
            unheard: Notify::new(),
            told: Notify::new(),
        }
    }

    /// What tailscaled said last.
    pub(crate) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// The same, as it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Seen> {
        self.seen.subscribe()
    }

    /// What there is of a certificate for this machine's name.
    pub(crate) fn certificate(&self) -> Certificate {
        self.certificate.borrow().clone()
    }

    /// From now on who comes to this address has to be known.
    pub(crate) fn guard(&self, listener: SocketAddr) {
        self.listeners().insert(listener);
    }

    /// Changes who may come, and closes exactly the connections of those who may not any more: how many there were.
    pub(crate) fn allow(&self, allow: Vec<Allowed>, access: &Access) -> usize {
        *self.allowed() = allow;
        self.cache.empty();
        access.close_unlisted()
    }

    /// Takes this for what tailscaled said.
    #[cfg(test)]
    fn see(&self, seen: Seen) {
        self.remember(&seen);
        self.seen.send_replace(seen);
    }

    /// The mode that it is.
    pub(crate) fn mode(&self) -> TailnetMode {
        self.way.mode()
    }

    /// The keys that are configured otherwise by now, and wait for a restart.
    pub(crate) fn differing(&self, config: &Config) -> Vec<&'static str> {
        self.way.differing(config)
    }

    /// Why an address of the kernel's is not this machine's in the tailnet; none where it is, as far as was told last.
    pub(crate) fn disowns(&self, address: IpAddr) -> Option<NotOwn> {
        match self.mode() {
            // What such a node has is not the kernel's, and nobody who comes there is asked about.
            TailnetMode::Embedded => Some(NotOwn::Another),
            TailnetMode::Off | TailnetMode::Host => self.seen.borrow().disowns(address),
        }
    }

    /// The page at which somebody has to take a node of the daemon's own in.
    fn login_page(&self) -> Option<String> {
        self.way.login_page()
    }

    /// Listens at an address of this node.
    async fn listen(&self, at: SocketAddr) -> std::io::Result<Endpoint> {
        self.way.listen(at).await
    }

    /// Whether who comes to this address comes over the tailnet. A listener on all addresses has that one of them which was
    /// called; while this node's are not known, or not all of them, the ranges that Tailscale gives addresses from decide.
    fn is_ours(&self, listener: SocketAddr) -> bool {
        let address = listener.ip().to_canonical();
        is_of_a_tailnet(address) || self.owned().contains(&address) || self.listeners().contains(&listener)
    }

    /// Keeps in mind which addresses this node has, before anybody is told.
    fn remember(&self, seen: &Seen) {
        let addresses = seen.node.iter().flat_map(|node| &node.addresses);
        self.owned().extend(addresses.map(IpAddr::to_canonical));
    }

    /// Whether this node has the address.
    fn is_own(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let seen = self.seen.borrow();
        seen.node
            .as_ref()
            .is_some_and(|node| node.addresses.contains(&address))
    }

    async fn find(&self, address: IpAddr) -> Result<Option<TailnetIdentity>, Unasked> {
        let asked = match self.cache.find(address) {
            Ok(who) => return Ok(Some(who)),
            Err(asked) => asked,
        };
        // It is never closed. Whoever waits here waits for their handshake, which has its time.
        let Ok(_turn) = self.questions.acquire().await else {
            return Ok(None);
        };
        let who = self.way.who_is(address).await?;
        self.unanswered().count = 0;
        if let Some(who) = &who {
            self.cache.keep(asked, address, who);
        }
        Ok(who)
    }

    /// How far somebody may come who is there.
    async fn answer(&self, address: IpAddr) -> WhoIsAnswer {
        match self.find(address).await {
            Ok(Some(who)) => self.judge(who),
            Ok(None) => WhoIsAnswer::Refused,
            Err(error) => {
                self.note_unanswered(address, &error);
                WhoIsAnswer::Refused
            }
        }
    }

    /// Why nobody new comes in, where questions about peers fail: how many did since one was answered, and the last one's error.
    fn deafness(&self) -> Option<String> {
        let unanswered = self.unanswered();
        (unanswered.count > 0).then(|| {
            format!(
                "who comes over the tailnet cannot be asked, and is closed: {} times in a row, the last time as {}",
                unanswered.count, unanswered.why
            )
        })
    }

    fn note_unanswered(&self, address: IpAddr, error: &Unasked) {
        let mut unanswered = self.unanswered();
        unanswered.count += 1;
        unanswered.about = Some(address);
        self.unheard.notify_one();
        unanswered.why = error.to_string();
        if unanswered.said.is_none_or(|said| said.elapsed() >= SAID_EVERY) {
            unanswered.said = Some(Instant::now());
            tracing::warn!(%address, %error, "who comes over the tailnet cannot be asked and is closed, which is said once a minute");
        }
    }

    fn allowed(&self) -> MutexGuard<'_, Vec<Allowed>> {
        self.allow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unanswered(&self) -> MutexGuard<'_, Unanswered> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, BTreeSet<SocketAddr>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owned(&self) -> MutexGuard<'_, BTreeSet<IpAddr>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is one that Tailscale gives to nodes: 100.64.0.0/10 and fd7a:115c:a1e0::/48.
pub(crate) fn is_of_a_tailnet(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64,
        IpAddr::V6(address) => address.segments()[..3] == [0xfd7a, 0x115c, 0xa1e0],
    }
}

impl WhoIs for Tailnet {
    fn who_is<'a>(&'a self, peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer> {
        Box::pin(async move {
            let address = peer.address.ip().to_canonical();
            // What the kernel says of addresses says nothing of a node of the daemon's own.
            if self.mode() == TailnetMode::Embedded {
                return WhoIsAnswer::NotATailnet;
            }
            // From this machine's own address it comes from any of its users: as over loopback, nobody is known.
            if !self.is_ours(peer.listener) || self.is_own(address) {
                return WhoIsAnswer::NotATailnet;
            }
            self.answer(address).await
        })
    }

    fn who_is_in_userspace<'a>(&'a self, peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer> {
        Box::pin(async move {
            let address = peer.address.ip().to_canonical();
            match self.mode() {
                TailnetMode::Embedded if !self.is_own(address) => self.answer(address).await,
                _ => WhoIsAnswer::Refused,
            }
        })
    }

    fn judge(&self, who: TailnetIdentity) -> WhoIsAnswer {
        let allow = self.allowed();
        policy::judge(who, &allow, self.seen.borrow().owner())
    }

    fn knows_logins(&self) -> bool {
        self.way.knows_users()
    }

    fn is_there(&self) -> bool {
        true
    }
}

/// Below the state directory, where a node of the daemon's own keeps its keys.
const FOLDER: &str = "tailnet";

/// Peers that are asked about at a time.
const QUESTIONS: usize = 16;

/// Least time between two lines of the log about questions that failed.
const SAID_EVERY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
