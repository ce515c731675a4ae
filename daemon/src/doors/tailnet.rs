//! The listeners of the tailnet among the others: they follow what tailscaled says.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use protocol::condition::{Degraded, DegradedKind};
use server::{Access, HeldDoors, Listener, NoTailnet, WhoIs};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::RemoteDoors;
use crate::{
    certificates,
    config::{Config, TailnetMode},
    tailnet::{NotOwn, OwnNode, TailnetListeners, certificate, is_of_a_tailnet},
    up::UpError,
};

impl RemoteDoors {
    /// The listeners of the tailnet, where one is configured.
    pub(crate) fn tailnet(&self) -> Option<&TailnetListeners> {
        self.tailnet.as_ref()
    }

    /// Says who comes over it; without one, nobody can.
    pub(crate) fn who_is(&self) -> Arc<dyn WhoIs> {
        match &self.tailnet {
            Some(listeners) => Arc::clone(listeners.tailnet()) as Arc<dyn WhoIs>,
            None => Arc::new(NoTailnet),
        }
    }

    /// Follows the tailnet for good: this machine's name, its addresses, and whoever it belongs to.
    pub(crate) async fn follow_tailnet(&self, access: &Access) {
        let Some(listeners) = &self.tailnet else { return };
        let mut seen = listeners.tailnet().watch();
        let adjusting = async {
            let mut pause = RETRY;
            loop {
                seen.mark_unchanged();
                self.cover_node(listeners).await;
                self.adjust_tailnet(access, &access.hold_doors().await).await;
                let again = async {
                    match listeners.has_faults() {
                        true => sleep(pause).await,
                        false => std::future::pending().await,
                    }
                };
                tokio::select! {
                    changed = seen.changed() => {
                        if changed.is_err() {
                            return;
                        }
                        pause = RETRY;
                    }
                    () = listeners.wanted_again() => pause = RETRY,
                    () = again => pause = (pause * 2).min(LONGEST_RETRY),
                }
            }
        };
        let is_other_source = Notify::new();
        let renewing = async {
            loop {
                is_other_source.notified().await;
                self.begin_generation(&access.hold_doors().await).await;
            }
        };
        let keeping = certificate::keep(listeners.tailnet(), &self.certificates, &is_other_source);
        let tailnet = listeners.tailnet();
        tokio::join!(
            adjusting,
            tailnet.follow(access),
            tailnet.hear_again(),
            keeping,
            renewing
        );
    }

    /// Takes up what is known of the tailnet now.
    pub(crate) async fn adjust_tailnet(&self, access: &Access, held: &HeldDoors<'_>) {
        let Some(listeners) = &self.tailnet else { return };
        self.name_node(access);
        if !held.are_open() {
            return;
        }
        let change = listeners.plan().await;
        self.note_tailnet(listeners);
        let (opened, closes) = (change.open.len(), change.close.len());
        let authority = self.bound().link_authority();
        let connections = held.change(change, authority).await;
        if opened + closes > 0 {
            tracing::info!(
                opened,
                closed = closes,
                connections,
                "followed the addresses of the tailnet"
            );
        }
    }

    /// Takes up what is configured of the tailnet by now: who may come, which closes exactly the connections of those who may
    /// not any more, and the ports. Says what waits for a restart.
    pub(crate) async fn configure_tailnet(
        &self,
        access: &Access,
        held: &HeldDoors<'_>,
        config: &Config,
    ) -> Vec<Degraded> {
        let waits = |key: &str| {
            let detail = format!("{key} waits for a restart");
            Degraded::new(DegradedKind::AwaitsRestart, detail)
        };
        let Some(listeners) = &self.tailnet else {
            let is_wanted = config.tailnet_mode != TailnetMode::Off;
            return Vec::from_iter(is_wanted.then(|| waits("tailnet.mode")));
        };
        let tailnet = listeners.tailnet();
        let is_same = config.tailnet_mode == tailnet.mode();
        let (allow, ports): (&[_], &[_]) = match is_same {
            true => (&config.tailnet_allow, &config.tailnet_ports),
            // What narrows does not wait.
            false => (&[], &[]),
        };
        tailnet.allow(allow.to_vec(), access);
        let keep = is_same && held.are_open() && self.lacks_what_reaches_the_tailnet();
        listeners.set_ports(ports, keep);
        self.adjust_tailnet(access, held).await;
        listeners.want_again();
        let waiting = match config.tailnet_mode {
            TailnetMode::Off => Vec::new(),
            _ if !is_same => vec!["tailnet.mode"],
            _ => tailnet.differing(config),
        };
        waiting.into_iter().map(waits).collect()
    }

    /// Lets requests use the name that the tailnet gives this machine.
    pub(crate) fn name_node(&self, access: &Access) {
        if let Some(listeners) = &self.tailnet {
            let node = listeners.tailnet().seen().node;
            access.set_tailnet_name(node.and_then(|node| node.name).as_deref());
        }
    }

    /// Asks what this machine is in the tailnet now.
    pub(super) async fn look_at_tailnet(&self) {
        if let Some(listeners) = &self.tailnet {
            // What came of it is noted, and said by the warnings.
            listeners.tailnet().look().await.ok();
        }
    }

    /// Why a listener at this address, which looks like one of a tailnet, is not this machine's in its own; none where it is, or
    /// the address does not look so.
    pub(super) fn disowns(&self, address: SocketAddr) -> Option<NotOwn> {
        let ip = address.ip().to_canonical();
        let listeners = self.tailnet.as_ref().filter(|_| is_of_a_tailnet(ip))?;
        listeners.tailnet().disowns(ip)
    }

    /// Refuses an address that looks like one of a tailnet and is not this machine's in its own.
    pub(super) fn check_own(&self, address: SocketAddr) -> Result<(), UpError> {
        match self.disowns(address) {
            Some(why) => Err(UpError::NotOwn { address, why }),
            None => Ok(()),
        }
    }

    /// Binds all of the tailnet, where none is bound, at what this machine was in it at the last look.
    pub(super) async fn bind_tailnet(&self) -> Vec<Listener> {
        let Some(listeners) = &self.tailnet else {
            return Vec::new();
        };
        self.cover_node(listeners).await;
        let bound = listeners.bind().await;
        self.note_tailnet(listeners);
        bound
    }

    /// What could not be bound of the tailnet.
    pub(crate) fn tailnet_faults(&self) -> impl Iterator<Item = Degraded> {
        let faults = self.tailnet.iter().flat_map(TailnetListeners::faults);
        faults.map(|fault| Degraded::new(DegradedKind::TailnetListener, fault))
    }

    async fn cover_node(&self, listeners: &TailnetListeners) {
        // Only one that runs says what its names are; until then they stay, so that nobody's exception for the leaf is lost.
        let Some(OwnNode { name, addresses, .. }) = listeners.tailnet().seen().running() else {
            return;
        };
        let covering = self
            .certificates
            .on_disk(move |all| all.cover_node(name, addresses, certificates::now()));
        match timeout(DISK, covering).await {
            Ok(Ok(true)) => tracing::info!("the certificate was made anew for the names in the tailnet"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "the certificate could not be made anew for the tailnet");
            }
            Err(_) => tracing::error!("the certificate for the names in the tailnet waits for the disk"),
        }
    }

    fn note_tailnet(&self, listeners: &TailnetListeners) {
        let name = listeners.tailnet().seen().node.and_then(|node| node.name);
        let first = listeners.open().first().copied();
        self.bound().tailnet = first.map(|at| {
            let address = match at {
                SocketAddr::V4(at) => at.ip().to_string(),
                SocketAddr::V6(at) => format!("[{}]", at.ip()),
            };
            (name.unwrap_or(address), at.port())
        });
    }
}

/// How long listeners that come and go wait for a certificate to be kept.
const DISK: Duration = Duration::from_secs(2);

/// Before the second attempt at an address that cannot be bound yet: an interface comes up shortly after tailscaled says so.
const RETRY: Duration = Duration::from_secs(2);

/// The same at an address that this machine never gets, as where tailscaled runs without an interface.
const LONGEST_RETRY: Duration = Duration::from_secs(5 * 60);
