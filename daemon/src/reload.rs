//! Reload: another configuration, or another certificate, while the daemon serves.
//!
//! One at a time. What is configured is read and checked whole before anything changes.

mod watch;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::response::{IntoResponse, Response};
use protocol::{
    Problem,
    access::{Configured, Reloaded},
    condition::{Degraded, DegradedKind},
};
use server::{HeldDoors, audit::AuditRow};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

pub(crate) use self::watch::follow;
use self::watch::{Look, look};
use crate::{
    app::App,
    certificates,
    config::{Config, ConfigError, Layers, Source},
    log,
    paths::Paths,
    service, tasks, up,
    up::UpError,
};

/// The configuration in force, and what is wrong with the one that should be.
pub(crate) struct Reloads {
    flags: Vec<(&'static str, String)>,
    /// Held through a reload.
    in_force: tokio::sync::Mutex<(Config, Layers)>,
    /// The files that were read, each as it looked before that: what changed since is news.
    read: Mutex<Vec<(PathBuf, Look)>>,
    shortfalls: Mutex<Shortfalls>,
    /// Woken when one is wanted by a signal.
    wanted: Notify,
}

/// Why the daemon is not as it is configured.
#[derive(Default)]
struct Shortfalls {
    /// Why the last reload changed nothing.
    refused: Option<Degraded>,
    /// What could not be done by the one before.
    faults: Vec<Degraded>,
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
}

impl NotReloaded {
    fn hint(&self) -> String {
        let hint = match self {
            Self::Config(error) => error.hint(),
            Self::Vanished(_) => "put it back, or run `transom reload` to go on with the defaults".to_owned(),
        };
        format!("{hint}; until then the daemon goes on as before")
    }
}

impl NotReloaded {
    /// What the wire says.
    pub(crate) fn problem(&self) -> Problem {
        Problem::new(422, "bad_configuration", self.to_string(), self.hint())
    }
}

impl IntoResponse for NotReloaded {
    fn into_response(self) -> Response {
        server::error::answer(&self.problem())
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
            shortfalls: Mutex::default(),
            wanted: Notify::new(),
        };
        Ok((reloads, config))
    }

    /// Notes what could not be done at the start.
    pub(crate) fn note(&self, fault: Degraded) {
        lock(&self.shortfalls).faults.push(fault);
    }

    /// Wants a reload: whoever follows does it.
    pub(crate) fn want(&self) {
        self.wanted.notify_one();
    }

    /// What a daemon would start with by now in the place of this one.
    ///
    /// # Errors
    /// What would keep it from starting.
    pub(crate) fn next(&self, paths: &Paths) -> Result<Config, UpError> {
        up::configuration(paths, &self.flags)
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

    /// Why the daemon is not as it is configured; nothing where it is.
    pub(crate) fn degraded(&self) -> Vec<Degraded> {
        let shortfalls = lock(&self.shortfalls);
        let refused = shortfalls.refused.iter();
        refused.chain(&shortfalls.faults).cloned().collect()
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
            *lock(&reloads.shortfalls) = Shortfalls {
                refused: None,
                faults: reloaded.degraded.clone(),
            };
            reloaded.degraded.extend(app.run.doors.tailnet_faults());
            tracing::info!(changed = ?reloaded.changed, degraded = ?reloaded.degraded, "reloaded");
            Ok(reloaded)
        }
        Err(refused) => {
            let row = row.outcome("bad_configuration").detail(refused.to_string());
            write(app, row, Instant::now() + DISK).await;
            tracing::error!(error = %refused, "nothing was reloaded");
            let said = format!("the last reload changed nothing: {refused}; {}", refused.hint());
            lock(&reloads.shortfalls).refused = Some(Degraded::new(DegradedKind::Refused, said));
            Err(refused)
        }
    }
}

/// What a reload that time or a file brought says in the audit trail.
fn by_itself() -> AuditRow {
    AuditRow::new(server::clock::now(), "daemon", "", RELOAD, "daemon")
}

/// Writes a row; what is configured acts all the same where that fails or hangs, since it may close a way in.
async fn write(app: &App, row: AuditRow, until: Instant) {
    match timeout_at(until, app.access.store().append_audit(row)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a reload could not be written to the audit trail"),
        Err(_) => tracing::error!("the row of a reload waits for the disk"),
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
    let run = Arc::clone(&app.run);
    let reading = tasks::blocking(move || {
        // Whatever is wrong with it, it is what has to change before there is another try.
        let seen = run.reloads.look_again();
        Config::load(&run.paths.config, &run.reloads.flags).map(|read| (seen, read))
    });
    let (seen, (config, layers)) = reading.await?;
    if wanted == Wanted::No && in_force.have_file() && !layers.have_file() {
        return Err(NotReloaded::Vanished(path));
    }
    *lock(&reloads.read) = read((path, seen), &config);
    let changed: Vec<String> = layers.differences(in_force).map(str::to_owned).collect();
    let until = Instant::now() + DISK;
    // Before the act: it is checked, but for what only a certificate can tell.
    write(app, row.clone().detail(changed.join(", ")), until).await;
    // A store may hang by itself.
    let until = until.max(Instant::now() + A_MOMENT);
    let (is_other_source, mut degraded) = certify(app, &config, until).await;
    let held = app.access.hold_doors().await;
    degraded.extend(apply(app, &held, &config, is_other_source).await);
    Ok((config, layers, Reloaded { changed, degraded }))
}

/// Has the listeners show what is configured; says whether the user's own pair comes from other files than before, and what could
/// not be done. What was shown before is shown on then: it keeps no way in open that shall be closed.
async fn certify(app: &App, config: &Config, until: Instant) -> (bool, Vec<Degraded>) {
    let certificates = app.run.doors.certificates();
    let (names, now, config) = (names(app, config), certificates::now(), config.clone());
    let covering = certificates.on_disk(move |all| all.cover(names, now));
    let reading = tasks::blocking(move || certificates::read_own(&config, now));
    let (covered, own) = tokio::join!(timeout_at(until, covering), timeout_at(until, reading));
    let mut faults = Vec::new();
    let mut fault = |kind, detail: String| faults.push(Degraded::new(kind, detail));
    match covered {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => fault(
            DegradedKind::Names,
            format!(
                "there can be no certificate for the names: {error}; mend listen.names, until then the former one is shown"
            ),
        ),
        Err(_) => fault(
            DegradedKind::Names,
            "the certificate for the names waits for the disk".to_owned(),
        ),
    }
    let is_other_source = match own {
        Ok(Ok(own)) => certificates.serve_own(own),
        Ok(Err(error)) => {
            certificates.await_own(error.begins());
            fault(DegradedKind::OwnCertificate, certificates::unusable(&error));
            false
        }
        Err(_) => {
            fault(
                DegradedKind::OwnCertificate,
                "the disk does not tell the certificate of listen.certificate; `transom reload` tries again"
                    .to_owned(),
            );
            false
        }
    };
    (is_other_source, faults)
}

/// Follows the addresses that this machine has by now: those of the tailnet may be there to listen at, and the certificate names
/// them all where a listener is on all.
pub(crate) async fn readdress(app: &App) {
    let doors = &app.run.doors;
    let in_force = app.run.reloads.in_force.lock().await;
    let (names, now) = (names(app, &in_force.0), certificates::now());
    let covering = doors.certificates().on_disk(move |all| all.cover(names, now));
    match timeout_at(Instant::now() + DISK, covering).await {
        Ok(Ok(true)) => tracing::info!("the certificate names other addresses now"),
        Ok(Ok(false)) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "the certificate cannot name the addresses of this machine");
        }
        Err(_) => tracing::error!("the certificate for the addresses of this machine waits for the disk"),
    }
    doors
        .adjust_tailnet(&app.access, &app.access.hold_doors().await)
        .await;
}

fn names(app: &App, config: &Config) -> certs::Names {
    let addresses = config.tls.iter().map(std::net::SocketAddr::ip);
    let known = app.run.doors.certificates().configured();
    certificates::names(app.access.instance(), config, addresses, &known)
}

async fn apply(app: &App, held: &HeldDoors<'_>, config: &Config, renew: bool) -> Vec<Degraded> {
    log::set_levels(&config.log_levels);
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

/// How long a reload waits for the disk before it goes on without: what it closes must not stay open for that.
const DISK: Duration = Duration::from_secs(2);

/// How long other files have where the store took all of that: as long as a disk that does not hang needs.
const A_MOMENT: Duration = Duration::from_millis(250);

/// What the audit trail calls it.
pub(crate) const RELOAD: &str = "reloaded";
