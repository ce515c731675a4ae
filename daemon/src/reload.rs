//! Reload (access.md 10): another configuration, or another certificate, while the daemon serves.
//!
//! One at a time. What is configured is read and checked whole before anything changes.

mod watch;

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::response::{IntoResponse, Response};
use certs::{CertsError, PairFilesError};
use protocol::{Problem, access::Reloaded};
use server::{HeldDoors, audit::AuditRow};
use tokio::sync::Notify;

pub(crate) use self::watch::follow;
use crate::{
    app::App,
    certificates,
    config::{Config, ConfigError, Layers},
    up,
};

/// The configuration in force, and what is wrong with the one that should be.
pub(crate) struct Reloads {
    flags: Vec<(&'static str, String)>,
    /// Held through a reload.
    in_force: tokio::sync::Mutex<Layers>,
    /// What files were looked at.
    files: Mutex<Vec<PathBuf>>,
    /// Why the daemon is not as it is configured, in sentences.
    degraded: Mutex<Vec<String>>,
    /// Woken when one is wanted by a signal.
    wanted: Notify,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReloaded {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user's own certificate cannot be served.
    #[error("the certificate of listen.certificate cannot be used: {0}")]
    Pair(#[from] PairFilesError),
    /// There can be no certificate for the names.
    #[error(transparent)]
    Names(#[from] CertsError),
}

impl NotReloaded {
    fn hint(&self) -> String {
        let hint = match self {
            Self::Config(error) => error.hint(),
            Self::Pair(_) => "mend the files of listen.certificate and listen.key".to_owned(),
            Self::Names(_) => "mend listen.names".to_owned(),
        };
        format!("{hint}; until then the daemon goes on as before")
    }
}

impl IntoResponse for NotReloaded {
    fn into_response(self) -> Response {
        server::error::answer(&Problem::new(
            422,
            "bad_configuration",
            self.to_string(),
            self.hint(),
        ))
    }
}

impl Reloads {
    /// Of a daemon that was started with these flags, and this configuration.
    pub(crate) fn new(flags: Vec<(&'static str, String)>, layers: Layers, files: Vec<PathBuf>) -> Self {
        Self {
            flags,
            in_force: tokio::sync::Mutex::new(layers),
            files: Mutex::new(files),
            degraded: Mutex::default(),
            wanted: Notify::new(),
        }
    }

    /// Wants a reload: whoever follows does it.
    pub(crate) fn want(&self) {
        self.wanted.notify_one();
    }

    /// Why the daemon is not as it is configured, in sentences; nothing where it is.
    pub(crate) fn degraded(&self) -> Vec<String> {
        lock(&self.degraded).clone()
    }

    fn files(&self) -> Vec<PathBuf> {
        lock(&self.files).clone()
    }
}

/// The files that a daemon with this configuration depends on.
pub(crate) fn files(config_file: PathBuf, config: &Config) -> Vec<PathBuf> {
    let pair = config.pair.iter();
    let pair = pair.flat_map(|files| [files.certificate.clone(), files.key.clone()]);
    std::iter::once(config_file).chain(pair).collect()
}

/// Takes up the configuration and the certificate as they are on the disk by now; `row` is what the audit trail says of it.
///
/// # Errors
/// [`NotReloaded`]: then nothing changed, and the status says so.
pub(crate) async fn reload(app: &App, row: AuditRow) -> Result<Reloaded, NotReloaded> {
    let reloads = &app.run.reloads;
    let mut in_force = reloads.in_force.lock().await;
    let done = take_up(app, &in_force).await;
    let row = match &done {
        Ok((_, reloaded)) => row.detail(reloaded.changed.join(", ")),
        Err(refused) => row.outcome("bad_configuration").detail(refused.to_string()),
    };
    if let Err(error) = app.access.store().append_audit(row).await {
        tracing::warn!(%error, "a reload could not be written to the audit trail");
    }
    match done {
        Ok((layers, reloaded)) => {
            *in_force = layers;
            reloaded.degraded.clone_into(&mut lock(&reloads.degraded));
            tracing::info!(changed = ?reloaded.changed, degraded = ?reloaded.degraded, "reloaded");
            Ok(reloaded)
        }
        Err(refused) => {
            tracing::error!(error = %refused, "nothing was reloaded");
            let said = format!("the last reload changed nothing: {refused}");
            *lock(&reloads.degraded) = vec![said];
            Err(refused)
        }
    }
}

/// What a reload that time or a file brought says in the audit trail.
fn by_itself() -> AuditRow {
    AuditRow::new(server::clock::now(), "daemon", "", RELOAD, "daemon")
}

async fn take_up(app: &App, in_force: &Layers) -> Result<(Layers, Reloaded), NotReloaded> {
    let reloads = &app.run.reloads;
    let path = app.run.paths.config.clone();
    let (config, layers) = Config::load(&path, &reloads.flags)?;
    // Whatever is wrong with them, they are what has to change.
    *lock(&reloads.files) = files(path, &config);
    let now = certificates::now();
    let own = certificates::read_own(&config, now)?;
    let certificates = app.run.doors.certificates();
    let addresses = config.tls.iter().map(std::net::SocketAddr::ip);
    let names = certificates::names(app.access.instance(), &config, addresses);
    let held = app.access.hold_doors().await;
    certificates.cover(names, now)?;
    let is_other_source = certificates.serve_own(own);
    let degraded = apply(app, &held, &config, is_other_source).await;
    let changed = layers.differences(in_force).map(str::to_owned).collect();
    Ok((layers, Reloaded { changed, degraded }))
}

async fn apply(app: &App, held: &HeldDoors<'_>, config: &Config, renew: bool) -> Vec<String> {
    app.access.reconfigure(&up::server_config(config, None));
    app.sessions
        .configure(|settings| up::configured(settings, config));
    let doors = &app.run.doors;
    let mut degraded = doors.change(held, &config.tls, &config.names, renew).await;
    degraded.extend(doors.configure_tailnet(&app.access, held, config).await);
    degraded
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the audit trail calls it.
pub(crate) const RELOAD: &str = "reload";
