//! What the product's handlers work on.

use std::sync::Arc;

use protocol::{Timestamp, access::TlsEndpoint};
use server::{Access, Stop};

use crate::{events::Events, paths::Paths, restart::Restart, sessions::Sessions};

/// Clones are the same application.
#[derive(Clone)]
pub struct App {
    pub(crate) access: Arc<Access>,
    pub(crate) sessions: Sessions,
    pub(crate) events: Events,
    pub(crate) stop: Stop,
    pub(crate) run: Arc<Run>,
}

/// What is fixed for this run of the daemon.
pub(crate) struct Run {
    pub(crate) paths: Paths,
    pub(crate) tls: Vec<TlsEndpoint>,
    pub(crate) started_at: Timestamp,
    pub(crate) restart: Restart,
}
