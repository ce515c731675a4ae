//! What the product's handlers work on.

use std::sync::Arc;

use protocol::{
    Timestamp,
    access::TlsEndpoint,
    condition::{Degraded, TailnetProblem, Warning},
};
use server::{Access, Stop};

use crate::{
    certificates, doors::RemoteDoors, events::Events, paths::Paths, reload::Reloads, restart::Restart,
    sessions::Sessions, tailnet::TailnetListeners,
};

/// Clones are the same application.
#[derive(Clone)]
pub struct App {
    pub(crate) access: Arc<Access>,
    pub(crate) sessions: Sessions,
    pub(crate) events: Events,
    pub(crate) stop: Stop,
    pub(crate) run: Arc<Run>,
}

impl App {
    /// The TLS listeners that are open.
    pub(crate) fn tls(&self) -> Vec<TlsEndpoint> {
        match self.access.is_locked_down() {
            true => Vec::new(),
            false => self.run.doors.endpoints(),
        }
    }

    /// Why the daemon is not as it is configured; nothing where it is.
    pub(crate) fn degraded(&self) -> Vec<Degraded> {
        let mut degraded = self.run.reloads.degraded();
        degraded.extend(self.run.doors.tailnet_faults());
        degraded
    }

    /// What is configured and is not as it should be, or will not be soon, in sentences.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let doors = &self.run.doors;
        let degraded = self.run.reloads.degraded();
        let mut warnings: Vec<String> = degraded.into_iter().map(|degraded| degraded.detail).collect();
        let soon = doors.certificates().warnings(certificates::now());
        warnings.extend(soon.iter().map(Warning::in_words));
        let problems = doors.tailnet().map(TailnetListeners::problems);
        warnings.extend(problems.iter().flatten().map(TailnetProblem::in_words));
        warnings
    }
}

/// What is fixed for this run of the daemon.
pub(crate) struct Run {
    pub(crate) paths: Paths,
    pub(crate) doors: Arc<RemoteDoors>,
    pub(crate) started_at: Timestamp,
    pub(crate) restart: Restart,
    pub(crate) reloads: Reloads,
    /// Held through a change of the identity key, so that there is one at a time.
    pub(crate) rotation: tokio::sync::Mutex<()>,
    /// Whether somebody else listens at the Unix socket, and starts the daemon when it is asked for.
    pub(crate) is_activated: bool,
}
