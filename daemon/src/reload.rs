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
use protocol::{
    Problem,
    access::{Configured, Reloaded},
};
use server::{HeldDoors, audit::AuditRow};
use tokio::sync::Notify;

pub(crate) use self::watch::follow;
use self::watch::{Look, look};
use crate::{
    app::App,
    certificates,
    config::{Config, ConfigError, Layers, Source},
    paths::Paths,
    service, up,
};

/// The configuration in force, and what is wrong with the one that should be.
pub(crate) struct Reloads {
    flags: Vec<(&'static str, String)>,
    /// Held through a reload.
    in_force: tokio::sync::Mutex<(Config, Layers)>,
    /// The files that were read, each as it looked before that: what changed since is news.
    read: Mutex<Vec<(PathBuf, Look)>>,
    degraded: Mutex<Degraded>,
    /// Woken when one is wanted by a signal.
    wanted: Notify,
}

/// Why the daemon is not as it is configured, in sentences.
#[derive(Default)]
struct Degraded {
    /// Why the last reload changed nothing.
    refused: Option<String>,
    /// What could not be done by the one before.
    faults: Vec<String>,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReloaded {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file that was read is gone, or has nothing in it, and nobody asked: who writes it anew may not be done.
    #[error("the configuration file {} is gone or empty", .0.display())]
    Vanished(PathBuf),
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
            Self::Vanished(_) => "put it back, or run `transom reload` to go on with the defaults".to_owned(),
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
    /// Reads the configuration with which a daemon starts.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn start(
        paths: &Paths,
        flags: Vec<(&'static str, String)>,
    ) -> Result<(Self, Config), ConfigError> {
        let look = look(&paths.config);
        let (config, layers) = Config::load(&paths.config, &flags)?;
        let reloads = Self {
            flags,
            read: Mutex::new(read((paths.config.clone(), look), &config)),
            in_force: tokio::sync::Mutex::new((config.clone(), layers)),
            degraded: Mutex::default(),
            wanted: Notify::new(),
        };
        Ok((reloads, config))
    }

    /// Wants a reload: whoever follows does it.
    pub(crate) fn want(&self) {
        self.wanted.notify_one();
    }

    /// What is in force, by key. Waits for a reload that is under way.
    pub(crate) async fn in_force(&self) -> Vec<Configured> {
        let (_, layers) = &*self.in_force.lock().await;
        let configured = |(key, value, source): (&str, String, &Source)| Configured {
            key: key.to_owned(),
            value,
            source: source.to_string(),
        };
        layers.entries().map(configured).collect()
    }

    /// Why the daemon is not as it is configured, in sentences; nothing where it is.
    pub(crate) fn degraded(&self) -> Vec<String> {
        let degraded = lock(&self.degraded);
        let refused = degraded.refused.iter();
        refused.chain(&degraded.faults).cloned().collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let read = lock(&self.read);
        read.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Takes all files as seen, and says how the configuration looks.
    fn look_again(&self) -> Look {
        let mut read = lock(&self.read);
        for (path, seen) in &mut *read {
            *seen = look(path);
        }
        read[0].1
    }

    /// Whether a file is another than the one that was read.
    fn have_changed(&self) -> bool {
        let read = lock(&self.read).clone();
        read.iter().any(|(path, seen)| look(path) != *seen)
    }
}

/// The files that a daemon with this configuration depends on: the configuration as it looked before it was read, and the pair,
/// which is to be read.
fn read(config_file: (PathBuf, Look), config: &Config) -> Vec<(PathBuf, Look)> {
    let pair = config.pair.iter();
    let pair = pair.flat_map(|files| [files.certificate.clone(), files.key.clone()]);
    let pair = pair.map(|path| {
        let seen = look(&path);
        (path, seen)
    });
    std::iter::once(config_file).chain(pair).collect()
}

/// Whether somebody wants a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The owner said so.
    Yes,
    /// A file has changed.
    No,
}

/// Takes up the configuration and the certificate as they are on the disk by now; `row` is what the audit trail says of it.
///
/// # Errors
/// [`NotReloaded`]: then nothing changed, and the status says so.
pub(crate) async fn reload(app: &App, wanted: Wanted, row: AuditRow) -> Result<Reloaded, NotReloaded> {
    let reloads = &app.run.reloads;
    let mut in_force = reloads.in_force.lock().await;
    let done = service::telling_of_reload(app, take_up(app, wanted, &in_force.1, &row)).await;
    match done {
        Ok((config, layers, mut reloaded)) => {
            *in_force = (config, layers);
            *lock(&reloads.degraded) = Degraded {
                refused: None,
                faults: reloaded.degraded.clone(),
            };
            reloaded.degraded.extend(app.run.doors.tailnet_faults());
            tracing::info!(changed = ?reloaded.changed, degraded = ?reloaded.degraded, "reloaded");
            Ok(reloaded)
        }
        Err(refused) => {
            write(app, row.outcome("bad_configuration").detail(refused.to_string())).await;
            tracing::error!(error = %refused, "nothing was reloaded");
            let said = format!("the last reload changed nothing: {refused}; {}", refused.hint());
            lock(&reloads.degraded).refused = Some(said);
            Err(refused)
        }
    }
}

/// What a reload that time or a file brought says in the audit trail.
fn by_itself() -> AuditRow {
    AuditRow::new(server::clock::now(), "daemon", "", RELOAD, "daemon")
}

/// Writes a row; what is configured acts all the same where that fails, since it may close a way in.
async fn write(app: &App, row: AuditRow) {
    if let Err(error) = app.access.store().append_audit(row).await {
        tracing::warn!(%error, "a reload could not be written to the audit trail");
    }
}

async fn take_up(
    app: &App,
    wanted: Wanted,
    in_force: &Layers,
    row: &AuditRow,
) -> Result<(Config, Layers, Reloaded), NotReloaded> {
    let reloads = &app.run.reloads;
    let path = app.run.paths.config.clone();
    // Whatever is wrong with it, it is what has to change before there is another try.
    let seen = reloads.look_again();
    let (config, layers) = Config::load(&path, &reloads.flags)?;
    if wanted == Wanted::No && in_force.have_file() && !layers.have_file() {
        return Err(NotReloaded::Vanished(path));
    }
    *lock(&reloads.read) = read((path, seen), &config);
    let now = certificates::now();
    let own = certificates::read_own(&config, now)?;
    let certificates = app.run.doors.certificates();
    let names = names(app, &config);
    let changed: Vec<String> = layers.differences(in_force).map(str::to_owned).collect();
    // Before the act: it is checked, but for what only a certificate can tell of the names.
    write(app, row.clone().detail(changed.join(", "))).await;
    let held = app.access.hold_doors().await;
    certificates.cover(names, now)?;
    let is_other_source = certificates.serve_own(own);
    let degraded = apply(app, &held, &config, is_other_source).await;
    Ok((config, layers, Reloaded { changed, degraded }))
}

/// Has the certificate name the addresses that this machine has by now, where a listener is on all of them.
pub(crate) async fn readdress(app: &App) {
    let in_force = app.run.reloads.in_force.lock().await;
    let names = names(app, &in_force.0);
    match app.run.doors.certificates().cover(names, certificates::now()) {
        Ok(true) => tracing::info!("the certificate names other addresses now"),
        Ok(false) => {}
        Err(error) => tracing::error!(%error, "the certificate cannot name the addresses of this machine"),
    }
}

fn names(app: &App, config: &Config) -> certs::Names {
    let addresses = config.tls.iter().map(std::net::SocketAddr::ip);
    let known = app.run.doors.certificates().configured();
    certificates::names(app.access.instance(), config, addresses, &known)
}

async fn apply(app: &App, held: &HeldDoors<'_>, config: &Config, renew: bool) -> Vec<String> {
    app.access.reconfigure(&up::server_config(config, None));
    app.sessions
        .configure(|settings| up::configured(settings, config));
    let doors = &app.run.doors;
    let mut degraded = doors.change(held, config, renew).await;
    degraded.extend(doors.passed_elsewhere(&config.tls));
    degraded.extend(doors.configure_tailnet(&app.access, held, config).await);
    degraded
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the audit trail calls it.
pub(crate) const RELOAD: &str = "reloaded";
