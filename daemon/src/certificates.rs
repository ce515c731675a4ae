//! What the TLS listeners show: the identity's leaf, made anew in time, and what others issued.

mod rotate;
mod shown;
mod trusted;
mod warnings;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use certs::{
    Authority, Certified, CertsError, Identity, Names, Pair, PairFilesError, Resolver, Source, SpkiPin,
    UnixTime,
};
use server::{Shutdown, Stop, clock};
use tokio::{sync::Notify, time::sleep};

pub(crate) use self::shown::timestamp;
use crate::{
    addresses,
    config::{Config, PairFiles},
    tasks,
};

/// The certificates of one daemon.
pub(crate) struct Certificates {
    keys: PathBuf,
    instance: String,
    resolver: Arc<Resolver>,
    /// Held while one of them is made and kept: that waits for the disk.
    changing: Mutex<()>,
    /// Never held while anything is waited for.
    held: Mutex<Held>,
    /// Woken when there is another leaf, which is due at another time.
    changed: Notify,
}

struct Held {
    identity: Arc<Identity>,
    /// What is configured of what the leaf is for.
    configured: Names,
    /// What the tailnet adds: this machine's name and addresses there.
    node: Names,
    /// What the leaf is for.
    names: Names,
    leaf: Certified,
    /// Where the pair that is served came from.
    pair: Option<PairFiles>,
    /// From when on a pair can be served that could not yet.
    begins: Option<UnixTime>,
    /// What devices were told to trust.
    authority: Option<Authority>,
}

impl Certificates {
    /// Takes up the leaf for these names, or makes it. Where it was made for all of them and more, and all of that is in `before`,
    /// the rest is taken for what the tailnet added, and stays until it says something else: browsers' exceptions are for the
    /// leaf, and shall outlive a restart.
    ///
    /// # Errors
    /// When a name cannot stand in it, or its file is not as it must be.
    pub(crate) fn open(
        keys: PathBuf,
        identity: Identity,
        instance: &str,
        configured: Names,
        before: Names,
        now: UnixTime,
    ) -> Result<Arc<Self>, CertsError> {
        let node = match before.has_all(&configured) {
            true => before.without(&configured),
            false => Names::default(),
        };
        let names = configured.clone().and(&node);
        let leaf = identity.kept_certificate(&keys, &names, now)?;
        let authority = Authority::load(&keys, instance)?;
        let certificates = Arc::new(Self {
            keys,
            instance: instance.to_owned(),
            resolver: Resolver::new(leaf.clone()),
            changing: Mutex::default(),
            held: Mutex::new(Held {
                identity: Arc::new(identity),
                configured,
                node,
                names,
                leaf,
                pair: None,
                begins: None,
                authority,
            }),
            changed: Notify::new(),
        });
        certificates.issue(&certificates.held(), now);
        Ok(certificates)
    }

    /// Chooses what is shown to whom; for who has certificates from elsewhere.
    pub(crate) fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// What a listener at the address speaks.
    pub(crate) fn tls(&self, at: SocketAddr) -> Arc<rustls::ServerConfig> {
        let resolver = Arc::clone(self.resolver());
        match at.ip().is_unspecified() {
            true => certs::server_config(resolver),
            false => certs::server_config_at(resolver, at.ip()),
        }
    }

    /// The pin of the identity key.
    pub(crate) fn pin(&self) -> SpkiPin {
        self.held().identity.pin()
    }

    /// The names and addresses by which a browser may reach the daemon.
    pub(crate) fn reached_by(&self) -> Vec<String> {
        in_words(&self.held().names)
    }

    /// What was configured last of what the leaf is for.
    pub(crate) fn configured(&self) -> Names {
        self.held().configured.clone()
    }

    /// Does something that waits for the disk, on a thread that may. It is done even if nobody waits for it any more.
    pub(crate) async fn on_disk<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let certificates = Arc::clone(self);
        tasks::blocking(move || act(&certificates)).await
    }

    /// Shows a leaf for these names from the next handshake on; says whether it is another one. The key stays. Waits for the disk,
    /// as does each of the following that can fail.
    ///
    /// # Errors
    /// As [`Certificates::open`]; then the former one goes on.
    pub(crate) fn cover(&self, names: Names, now: UnixTime) -> Result<bool, CertsError> {
        let changing = self.changing();
        let node = self.held().node.clone();
        self.cover_all(&changing, names, node, now)
    }

    /// The same for this machine's name and addresses in its tailnet, besides what is configured.
    ///
    /// # Errors
    /// As [`Certificates::cover`].
    pub(crate) fn cover_node(
        &self,
        name: Option<String>,
        addresses: Vec<IpAddr>,
        now: UnixTime,
    ) -> Result<bool, CertsError> {
        let changing = self.changing();
        let configured = self.held().configured.clone();
        let named = name.iter().fold(Names::default(), |names, name| names.host(name));
        let node = addresses.into_iter().fold(named, Names::address);
        self.cover_all(&changing, configured, node, now)
    }

    /// Under one lock with reading what stays of both: they come from tasks of their own, and neither must undo the other's.
    fn cover_all(
        &self,
        _changing: &MutexGuard<'_, ()>,
        configured: Names,
        node: Names,
        now: UnixTime,
    ) -> Result<bool, CertsError> {
        let names = configured.clone().and(&node);
        let identity = Arc::clone(&self.held().identity);
        let leaf = identity.kept_certificate(&self.keys, &names, now)?;
        let mut held = self.held();
        let is_other = leaf.key.cert != held.leaf.key.cert;
        if is_other {
            self.resolver.swap(leaf.clone());
            held.leaf = leaf;
        }
        held.configured = configured;
        held.node = node;
        held.names = names;
        self.issue(&held, now);
        drop(held);
        self.changed.notify_one();
        Ok(is_other)
    }

    /// Makes the leaf anew if that is due; says whether it was.
    ///
    /// # Errors
    /// As [`Certificates::open`]; then the former one goes on.
    pub(crate) fn renew(&self, now: UnixTime) -> Result<bool, CertsError> {
        let changing = self.changing();
        let (configured, node) = {
            let held = self.held();
            self.issue(&held, now);
            if held.leaf.renews_in(now).is_some() {
                return Ok(false);
            }
            (held.configured.clone(), held.node.clone())
        };
        self.cover_all(&changing, configured, node, now)
    }

    /// Serves the user's own pair for its names, or none any more; says whether it comes from other files than before.
    pub(crate) fn serve_own(&self, own: Option<(PairFiles, Pair)>) -> bool {
        let (files, pair) = own.unzip();
        let mut held = self.held();
        let is_other = held.pair != files;
        held.pair = files;
        held.begins = None;
        self.resolver.serve(Source::Own, pair.map(Arc::new));
        is_other
    }

    /// Notes from when on a pair can be served that could not yet, if that is all that is wrong with it.
    pub(crate) fn await_own(&self, begins: Option<UnixTime>) {
        self.held().begins = begins;
    }

    /// Completes, once for each, when one can be served by now that could not when it was read.
    pub(crate) async fn own_begins(&self, now: impl Fn() -> UnixTime) {
        loop {
            let wait = wait_for(self.held().begins, now());
            if wait.is_zero() {
                self.held().begins = None;
                return;
            }
            sleep(wait).await;
        }
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of a daemon with this configuration that listens at these addresses. Of a listener on all of the machine's, those
/// that it has now, or, where the kernel does not say, all of `known`.
pub(crate) fn names(
    instance: &str,
    config: &Config,
    addresses: impl IntoIterator<Item = IpAddr>,
    known: &Names,
) -> Names {
    let mut addresses: Vec<IpAddr> = addresses.into_iter().collect();
    if addresses.iter().any(IpAddr::is_unspecified) {
        addresses.extend(told_or_known(addresses::of_this_machine(), known));
    }
    let named = config
        .names
        .iter()
        .fold(Names::new(instance), |names, name| names.host(name));
    addresses
        .into_iter()
        .filter(|address| !address.is_unspecified())
        .fold(named, Names::address)
}

/// A leaf that lacks what it had costs every browser its exception: one address too many does not.
fn told_or_known(told: io::Result<Vec<IpAddr>>, known: &Names) -> Vec<IpAddr> {
    told.unwrap_or_else(|error| {
        tracing::error!(%error, "the certificate names the addresses that this machine had before");
        known.addresses().collect()
    })
}

/// Reads the pair of the user's own, if one is configured.
///
/// # Errors
/// When it cannot be served.
pub(crate) fn read_own(config: &Config, now: UnixTime) -> Result<Option<(PairFiles, Pair)>, PairFilesError> {
    let read = |files: &PairFiles| {
        let pair = Pair::read(&files.certificate, &files.key, now)?;
        Ok((files.clone(), pair))
    };
    config.pair.as_ref().map(read).transpose()
}

/// Says that it cannot.
pub(crate) fn unusable(error: &PairFilesError) -> String {
    format!(
        "the certificate of listen.certificate cannot be used: {error}; mend its files, until then what was shown before is \
         shown on, or the daemon's own"
    )
}

/// The time by the wall clock, which certificates go by.
pub(crate) fn now() -> UnixTime {
    let now = Duration::from_millis(clock::now().0.max(0).cast_unsigned());
    UnixTime::since_unix_epoch(now)
}

/// Makes the leaf anew whenever it is due, until the soft stop.
pub(crate) async fn keep_fresh(certificates: Arc<Certificates>, stop: Stop) {
    loop {
        let due = certificates.held().leaf.renews_in(now());
        // Clocks are set and machines sleep: the time to wait is no more than a guess.
        let wait = due.map_or(RETRY, |due| due.min(LOOK));
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => return,
            () = certificates.changed.notified() => continue,
            () = sleep(wait) => {}
        }
        match certificates
            .on_disk(|certificates| certificates.renew(now()))
            .await
        {
            Ok(true) => tracing::info!("the certificate was made anew under the same key"),
            Ok(false) => {}
            Err(error) => tracing::error!(%error, "the certificate could not be made anew"),
        }
    }
}

/// How long until it is looked again whether a pair begins, and nothing once it has.
fn wait_for(begins: Option<UnixTime>, now: UnixTime) -> Duration {
    let wait = begins.map(|begins| begins.as_secs().saturating_sub(now.as_secs()));
    // Clocks are set, as by a machine that has just started, and another may be noted meanwhile.
    wait.map_or(GLANCE, |seconds| Duration::from_secs(seconds).min(GLANCE))
}

fn in_words(names: &Names) -> Vec<String> {
    let hosts = names
        .hosts()
        .filter(|host| *host != certs::IDENTITY_SERVER_NAME)
        .map(str::to_owned);
    hosts
        .chain(names.addresses().map(|address| address.to_string()))
        .collect()
}

/// Between two looks at the clock.
const LOOK: Duration = Duration::from_secs(60 * 60);
/// The same while a pair of the user's own is not valid yet.
const GLANCE: Duration = Duration::from_secs(30);
/// Until it is tried again where the leaf is due and could not be made.
const RETRY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
