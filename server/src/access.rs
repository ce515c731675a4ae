//! What the access layer knows while it runs: devices, pairing, connections and the store behind them.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use certs::SpkiPin;
use pairing::{
    Audience, Authenticated, Authority, Challenge, Device, DeviceId, Devices, Generation, GuestId, Guests,
    PairingLimits, Proofs, ResourceId, Role, Standing, TokenKey, UnixMillis,
};
use tokio::{
    sync::{Notify, broadcast},
    time::timeout,
};

use crate::{
    audit::Damper,
    clock,
    connections::Connections,
    endings::Endings,
    error::Failure,
    failures::Failures,
    gate::OwnNames,
    held_polls::HeldPolls,
    limits::Limits,
    lockdown::{Doors, Lockdown, LockdownFile},
    metrics::{Counts, Exposition},
    peer::{EveryoneOutside, LocalOrigin, NoTailnet, Peer, WhoIs},
    pins::Pins,
    random,
    refusals::Refusals,
    store::{Opened, Store},
    unstored::Unstored,
};

/// What a server is told about itself.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The id of this run.
    pub life: String,
    /// The daemon's version.
    pub version: String,
    /// The build of the pages that it serves, for those that were loaded before; none where it serves none.
    pub app: Option<String>,
    /// Further host names that a browser may use for this daemon, on a listener's own port. This and the limits below hold until
    /// [`Access::reconfigure`] brings others.
    pub names: Vec<String>,
    /// Host and port that an offer's link begins with: what a device of the owner reaches best; none without a
    /// TLS listener. For the beginning: a lock-down that is lifted may bring another.
    pub link_authority: Option<String>,
    /// What the product calls its resources, for the names of scopes: with `session` they are `session:view` and so on.
    pub noun: &'static str,
    /// Bounds of connections and times.
    pub limits: Limits,
    /// Bounds of pairing.
    pub pairing: PairingLimits,
    /// How long a device may stay away before its trust ends by itself.
    pub idle_expiry: Duration,
}

impl ServerConfig {
    /// A run of a daemon of this version, that calls its resources so; all else as it is without a configuration.
    pub fn new(noun: &'static str, version: &str) -> Self {
        Self {
            life: format!("{:016x}", u64::from_be_bytes(random::bytes())),
            version: version.to_owned(),
            app: None,
            names: Vec::new(),
            link_authority: None,
            noun,
            limits: Limits::default(),
            pairing: PairingLimits::default(),
            idle_expiry: IDLE_EXPIRY,
        }
    }
}

/// Says where a resource stands now; nothing of one that is not there.
pub type StandsAt = dyn Fn(&ResourceId) -> Option<u64> + Send + Sync;

/// Adds what the product knows to the figures of a scrape.
pub type Figures = dyn Fn(&mut Exposition) + Send + Sync;

/// A device that was just paired or added, for the notice to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newcomer {
    /// Which.
    pub id: DeviceId,
    /// What it is called.
    pub label: String,
    /// What it may do.
    pub role: Role,
}

/// What a server works with, and does not make itself.
pub struct Deps {
    /// The open store, with what it held.
    pub opened: Opened,
    /// The pin of the identity key.
    pub pin: SpkiPin,
    /// Says whether a local process runs inside a session.
    pub local_origin: Arc<dyn LocalOrigin>,
    /// Names the resources that a device created or typed into, for the answer to a revocation.
    pub touched: Arc<dyn Fn(DeviceId) -> Vec<String> + Send + Sync>,
    /// Where a resource stands now, for guests who may look at it from here on; none where there is no such resource.
    pub stands_at: Arc<StandsAt>,
    /// Adds the product's figures to those of the access layer.
    pub figures: Arc<Figures>,
    /// Says what a tailnet knows about a peer.
    pub who_is: Arc<dyn WhoIs>,
    /// Opens the remote listeners again when a lock-down is lifted.
    pub doors: Arc<dyn Doors>,
    /// Says whether the daemon is locked down.
    pub lockdown: LockdownFile,
}

impl Deps {
    /// Those of a daemon without a tailnet, inside whose resources no programs run.
    pub fn new(opened: Opened, pin: SpkiPin, doors: Arc<dyn Doors>, lockdown: LockdownFile) -> Self {
        Self {
            opened,
            pin,
            local_origin: Arc::new(EveryoneOutside),
            touched: Arc::new(|_| Vec::new()),
            stands_at: Arc::new(|_| None),
            figures: Arc::new(|_| ()),
            who_is: Arc::new(NoTailnet),
            doors,
            lockdown,
        }
    }
}

/// The shared state of the access layer; handlers get it as `App<Arc<Access>>`.
///
/// Lock order, where two are held: devices, then guests, then authority, then proofs, then
/// connections; names and pins come last, and with neither of them is another taken. None is held across an await.
pub struct Access {
    pub(crate) config: ServerConfig,
    /// The daemon's lasting id.
    pub(crate) instance: String,
    pub(crate) store: Store,
    pub(crate) token_key: TokenKey,
    pub(crate) connections: Connections,
    /// Woken at each change of a pairing request, for those who wait for one.
    pub(crate) pairing_changed: Notify,
    /// The device's polls that wait for such a change.
    pub(crate) held_polls: HeldPolls,
    /// Held through a commit, a change of a device or a yes, so that there is one at a time and its row says what it did.
    pub(crate) commits: tokio::sync::Mutex<()>,
    /// Woken when a device or a guest joins, or a request is approved, since it may be the next to expire.
    pub(crate) devices_changed: Notify,
    /// Ends never: the owner is who the kernel says it is.
    pub(crate) owner: Arc<Standing>,
    pub(crate) local_origin: Arc<dyn LocalOrigin>,
    pub(crate) touched: Arc<dyn Fn(DeviceId) -> Vec<String> + Send + Sync>,
    pub(crate) stands_at: Arc<StandsAt>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) who_is: Arc<dyn WhoIs>,
    /// Which refusals of devices were written down lately.
    pub(crate) refusals: Refusals,
    /// How often which peers showed what is wrong.
    pub(crate) failures: Failures,
    /// What is counted for the metrics.
    pub(crate) counts: Counts,
    /// When this run began.
    pub(crate) started: UnixMillis,
    pub(crate) lockdown: Lockdown,
    /// Ends that are still to be stored.
    pub(crate) unstored: Unstored,
    /// Revocations that are under way.
    pub(crate) revocations: Endings<DeviceId, protocol::access::Revoked>,
    /// Ends of guests that are under way.
    pub(crate) guest_ends: Endings<GuestId, protocol::guests::GuestEnded>,
    names: Mutex<Arc<OwnNames>>,
    pins: Mutex<Pins>,
    link_authority: Mutex<Option<String>>,
    damper: Mutex<Damper>,
    /// Who follows may be late by a few; then it misses the oldest.
    pub(crate) newcomers: broadcast::Sender<Newcomer>,
    devices: Mutex<Devices>,
    guests: Mutex<Guests>,
    authority: Mutex<Authority>,
    proofs: Mutex<Proofs>,
    /// How many runs of listeners there were.
    generations: AtomicU64,
}

impl Newcomer {
    pub(crate) fn of(device: &Device) -> Self {
        Self {
            id: device.id,
            label: device.label.to_string(),
            role: device.role,
        }
    }
}

impl Access {
    /// Takes up what the store held.
    pub fn new(config: ServerConfig, deps: Deps) -> Arc<Self> {
        let Opened {
            store,
            devices,
            tombstones,
            guests,
            instance,
            token_key,
        } = deps.opened;
        let connections = Connections::new(config.limits.clone());
        let lockdown = Lockdown::new(deps.lockdown, deps.doors);
        let mut guests = Guests::load(guests);
        if lockdown.is_locked() {
            connections.lock_down(|| ());
            // Whom the lock-down could not end in the store it ends there at the latest when it is lifted.
            guests.end_all(clock::latest());
        }
        Arc::new(Self {
            names: Mutex::new(Arc::new(OwnNames::new(&instance, &config.names))),
            connections,
            lockdown,
            link_authority: Mutex::new(config.link_authority.clone()),
            damper: Mutex::default(),
            devices: Mutex::new(Devices::load(devices, tombstones, config.idle_expiry)),
            guests: Mutex::new(guests),
            authority: Mutex::new(Authority::new(config.pairing.clone(), &mut random::rng())),
            proofs: Mutex::new(Proofs::new(&mut random::rng())),
            generations: AtomicU64::new(0),
            refusals: Refusals::default(),
            failures: Failures::default(),
            counts: Counts::default(),
            started: clock::now(),
            commits: tokio::sync::Mutex::default(),
            unstored: Unstored::default(),
            revocations: Endings::default(),
            guest_ends: Endings::default(),
            pairing_changed: Notify::new(),
            held_polls: HeldPolls::default(),
            devices_changed: Notify::new(),
            newcomers: broadcast::Sender::new(NEWCOMERS),
            owner: Standing::new(),
            pins: Mutex::new(Pins::new(deps.pin)),
            local_origin: deps.local_origin,
            touched: deps.touched,
            stands_at: deps.stands_at,
            figures: deps.figures,
            who_is: deps.who_is,
            instance,
            token_key,
            store,
            config,
        })
    }

    /// The daemon's lasting id, safe as a DNS label.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// How many devices are paired.
    pub fn device_count(&self) -> usize {
        self.devices().iter().count()
    }

    /// What a paired device is called; none of one that is not paired, or not any more.
    pub fn label_of(&self, device: DeviceId) -> Option<String> {
        self.devices().get(device).map(|device| device.label.to_string())
    }

    /// A device as it is authenticated now, after a change of what it may do; none of one that has ended, and of others, whose
    /// rights never change.
    pub fn present(&self, before: &Authenticated) -> Option<Authenticated> {
        let id = before.principal().device_id()?;
        self.devices().renew(id, clock::latest()).ok()
    }

    /// Tells the others of a device that has just joined, and that there is one more to mind.
    pub(crate) fn welcome(&self, newcomer: Newcomer) {
        // Nobody may follow.
        let _ = self.newcomers.send(newcomer);
        self.devices_changed.notify_one();
    }

    /// Counts a problem that is answered, or told by a close frame, for the metrics; and under which code it is told, where that
    /// is another.
    pub(crate) fn count_refusal(
        &self,
        peer: &Peer,
        (code, status): (&'static str, u16),
        told: Option<&'static str>,
    ) {
        self.counts.refused.count(told.unwrap_or(code));
        if status == 401 && Failures::is_one(peer, code) {
            self.counts.failed.count(code);
        }
    }

    /// The devices that are paired from now on, as they come.
    pub fn newcomers(&self) -> broadcast::Receiver<Newcomer> {
        self.newcomers.subscribe()
    }

    /// The registry of live connections.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// What the server was told about itself.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The store, for the rows that the product adds to the audit trail.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether every remote way in is closed, as far as is known without a look at the disk.
    pub fn is_locked_down(&self) -> bool {
        self.lockdown.is_locked()
    }

    /// The same after a look, for what does not come by a remote stream: those look by themselves. Where the file system does not
    /// answer in a second, as far as is known without.
    pub async fn looks_locked_down(&self) -> bool {
        let _ = timeout(LOOK, self.lockdown.watch.look()).await;
        self.is_locked_down()
    }

    /// Host and port that an offer's link begins with; none where no device can come in.
    pub(crate) fn link_authority(&self) -> Option<String> {
        self.link_authority
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set_link_authority(&self, authority: Option<String>) {
        *self.link_authority.lock().unwrap_or_else(PoisonError::into_inner) = authority;
    }

    /// The names that a request may use for this daemon now.
    pub(crate) fn names(&self) -> Arc<OwnNames> {
        Arc::clone(&self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_names(&self, names: OwnNames) {
        let mut own = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Arc::new(names.in_tailnet_of(&own));
    }

    /// Changes the name that the tailnet gives this machine, which requests may use, whatever else is configured.
    pub fn set_tailnet_name(&self, name: Option<&str>) {
        let mut own = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        *own = Arc::new(OwnNames::clone(&own).in_tailnet(name));
    }

    /// Who wrote how many audit rows. Hold it for one row, never across an await.
    pub(crate) fn damper(&self) -> MutexGuard<'_, Damper> {
        self.damper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pins. Hold it for a lookup or one change, and take no other lock meanwhile.
    pub(crate) fn pins(&self) -> MutexGuard<'_, Pins> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an audience is this daemon, as a device on this peer's connection may see it: the identity pin, or an origin by
    /// which the gate lets a page in.
    pub(crate) fn is_own_audience(&self, audience: &Audience, peer: &Peer) -> bool {
        match audience {
            Audience::Pin(pin) => *pin == self.pin().to_string(),
            Audience::Origin(origin) => self.names().has_origin(origin, peer),
        }
    }

    /// The number of the next run of a listener.
    pub(crate) fn next_generation(&self) -> Generation {
        Generation(self.generations.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// What somebody who was refused on a listener can prove next.
    pub(crate) fn challenge(&self, generation: Generation) -> Challenge {
        self.proofs()
            .challenge(generation, clock::latest(), &mut random::rng())
    }

    /// The paired devices. Hold it for a lookup or one change, never across an await.
    pub(crate) fn devices(&self) -> MutexGuard<'_, Devices> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Guests and invitations. Hold it for a lookup or one change, never across an await.
    pub(crate) fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers and pairing requests. Hold it for one step, never across an await.
    pub(crate) fn authority(&self) -> MutexGuard<'_, Authority> {
        self.authority.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for a step towards another device: there is none while every remote way in is closed. Compared under the lock
    /// under which a lock-down ends what was offered and requested, so that it finds what is made before, and this what
    /// comes after.
    ///
    /// # Errors
    /// [`Failure::LockedDown`].
    pub(crate) fn unlocked_authority(&self) -> Result<MutexGuard<'_, Authority>, Failure> {
        let authority = self.authority();
        match self.is_locked_down() {
            true => Err(Failure::LockedDown),
            false => Ok(authority),
        }
    }

    /// Challenges and access tokens. Hold it for one step, never across an await.
    pub(crate) fn proofs(&self) -> MutexGuard<'_, Proofs> {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a device may stay away without a configuration: 90 days.
const IDLE_EXPIRY: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long a look at the disk is waited for where nothing depends on it that is to be safe.
const LOOK: Duration = Duration::from_secs(1);
/// New devices that a slow follower may have missed: people pair one at a time.
const NEWCOMERS: usize = 16;
