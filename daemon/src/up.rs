//! Running the daemon: from configuration to the last connection.

mod check;
mod error;

use std::{env, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use certs::{Identity, Names};
use pairing::PairingLimits;
use protocol::{
    access::Ready,
    condition::{Degraded, DegradedKind},
};
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use server::{
    Access, Crashed, Deps, Listener, LockdownFile, OpenDoors, Server, ServerConfig, Shutdown, Stop, clock,
    limits::Limits,
    random,
    store::{OlderStore, Store},
};
use terminal::{DescriptorLimit, Size};
use tokio::task::JoinSet;

pub(crate) use self::check::{configuration, in_time, store};
pub use self::{
    check::check,
    error::{UpError, file_hint},
};
use crate::{
    app::{App, Run},
    backup,
    certificates::{self, Certificates, keep_fresh},
    config::{Config, TailnetMode},
    doors::RemoteDoors,
    events::{Events, tell_of_newcomers},
    keeper::KeeperLink,
    lock::Lock,
    log, metrics,
    origin::Origins,
    paths::Paths,
    reload::{self, Reloads},
    restart::Restart,
    routes::routes,
    service::{self, Passed},
    sessions::{Sessions, Settings},
    signals::Signals,
    socket, web_app,
};

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct UpOptions {
    /// Keep all state here.
    pub dir: Option<PathBuf>,
    /// Addresses of the TLS listeners, instead of the configured ones.
    pub tls: Vec<String>,
    /// Start a keeper that makes no cgroups.
    pub no_cgroups: bool,
    /// Start a keeper that speaks no newer version of its messages.
    pub keeper_speaks: Option<u16>,
    /// Go on with a store that is older than what was written last.
    pub accept_older_store: bool,
}

impl UpOptions {
    /// What they say of the configuration.
    fn flags(&self) -> Vec<(&'static str, String)> {
        Vec::from_iter((!self.tls.is_empty()).then(|| ("listen.tls", self.tls.join(","))))
    }

    fn older_store(&self) -> OlderStore {
        match self.accept_older_store {
            true => OlderStore::Accepted,
            false => OlderStore::Refused,
        }
    }
}

/// Runs the daemon until it is told to end; `on_ready` is called once, when it serves. Told to restart, it does not return: the
/// process goes on as what is at its executable's path by then.
///
/// # Errors
/// [`UpError`], before anything is served or after everything is closed.
pub fn up(options: &UpOptions, on_ready: impl FnOnce(&Ready)) -> Result<(), UpError> {
    let passed = Arc::new(Passed::take()?);
    // Whatever this process holds of keys and output is nobody's to read, nor a core file's.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(UpError::system("hide its memory"))?;
    let paths = Paths::find(options.dir.as_deref())?;
    let state = paths.state.clone();
    run_at(paths, passed, options, on_ready).map_err(|error| error.on_full_disk(&state))
}

fn run_at(
    paths: Paths,
    passed: Arc<Passed>,
    options: &UpOptions,
    on_ready: impl FnOnce(&Ready),
) -> Result<(), UpError> {
    backup::finish(&paths)?;
    // A configuration that is refused makes nothing.
    let (_, config) = Reloads::start(&paths, options.flags())?;
    make_directories(&paths)?;
    passed.check(&paths.socket(), &config.tls)?;
    let lock = Lock::take_to_serve(&paths.lock(), &paths.socket())?;
    backup::finish_under(&paths, &lock)?;
    let (reloads, config) = Reloads::start(&paths, options.flags())?;
    passed.check(&paths.socket(), &config.tls)?;
    log::start(&paths.logs(), &config.log_levels).map_err(UpError::io("write its log"))?;
    let descriptors = DescriptorLimit::current();
    raise_descriptors();
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .on_thread_start(|| {
            // An older kernel lets a key wait a little longer behind programs that keep the processors busy.
            terminal::take_short_turns().ok();
        })
        .build();
    let runtime = runtime.map_err(UpError::io("start its threads"))?;
    let restart = Restart::of_this_process(descriptors);
    let served = runtime.block_on(run(
        paths,
        &config,
        (restart, reloads, Arc::clone(&passed)),
        options,
        on_ready,
    ));
    // Tasks of programs that do not end have no say in when the daemon does.
    runtime.shutdown_timeout(Duration::from_millis(100));
    passed.hand_back();
    let ended = served?;
    if ended.restart.is_wanted() {
        let Err(error) = ended.restart.execute(&lock, &passed);
        tracing::error!(%error, "the daemon could not be started again");
        return Err(UpError::io("start again")(error));
    }
    drop(lock);
    Ok(())
}

async fn run(
    paths: Paths,
    config: &Config,
    (restart, reloads, passed): (Restart, Reloads, Arc<Passed>),
    options: &UpOptions,
    on_ready: impl FnOnce(&Ready),
) -> Result<Arc<Run>, UpError> {
    let signals = Signals::catch().map_err(UpError::io("catch signals"))?;
    let opened = Store::open_with(&paths.store(), &paths.keys(), clock::now(), options.older_store())?;
    let identity = Identity::load_or_create(&paths.keys())?;
    let pin = identity.pin();
    let certificates = certificates(config, &paths, identity, &opened.instance, &reloads)?;
    let doors = Arc::new(RemoteDoors::new(config, &paths.state, &certificates, &passed));
    let lockdown = LockdownFile::new(&paths.state);
    let open = match lockdown.is_locked() {
        true => OpenDoors::default(),
        false => doors.bind().await?,
    };
    let unix = socket::open(&paths.socket(), &passed).await?;
    let events = Events::new(clock::now().0);
    let keeper = KeeperLink::new(
        &paths,
        &opened.instance,
        !options.no_cgroups,
        options.keeper_speaks,
    );
    let held = keeper.find().await?;
    let sessions = Sessions::new(
        settings(config, &paths, restart.descriptors()),
        events.clone(),
        opened.store.clone(),
        keeper.clone(),
    );
    sessions.take_over(held).await;
    // They end with this.
    let mut tasks = JoinSet::new();
    tasks.spawn(mourn(keeper.clone(), sessions.clone()));
    let deps = deps(
        Deps::new(opened, pin, doors.clone(), lockdown),
        &doors,
        (keeper, &sessions),
    );
    let access = Access::new(server_config(config, open.link_authority), deps);
    doors.name_node(&access);
    sessions.serve(&access);
    if let Some(next) = certificates.next_pin()? {
        access.announce(next);
    }
    tasks.spawn(tell_of_newcomers(access.newcomers(), events.clone()));
    let run = Arc::new(Run {
        paths,
        doors,
        started_at: clock::timestamp(clock::now()),
        restart,
        reloads,
        rotation: tokio::sync::Mutex::default(),
        is_activated: passed.has_unix(),
    });
    let app = App {
        access: access.clone(),
        sessions,
        events,
        stop: Stop::new(),
        run,
    };
    let server = Server::new(access)
        .routes(routes(), &app)
        .fallback(web_app::router());
    let ready = ready(&app);
    tasks.spawn(signals.forward(app.stop.clone(), Arc::clone(&app.run)));
    tracing::info!(instance = ready.instance, version = ready.version, "ready");
    on_ready(&ready);
    let listeners = std::iter::once(Listener::Unix(unix)).chain(open.listeners);
    let served = serve(server, listeners.collect(), &app, &mut tasks).await;
    app.sessions.flush_typed().await;
    if !app.run.is_activated {
        std::fs::remove_file(app.run.paths.socket()).ok();
    }
    tracing::info!("ended");
    served?;
    Ok(app.run)
}

/// Serves until a signal or somebody at a socket wants the end; all that goes on beside that ends with it.
async fn serve(
    server: Server,
    listeners: Vec<Listener>,
    app: &App,
    tasks: &mut JoinSet<()>,
) -> Result<(), Crashed> {
    tasks.spawn(keep_fresh(
        Arc::clone(app.run.doors.certificates()),
        app.stop.clone(),
    ));
    tasks.spawn(follow_tailnet(app.clone()));
    tasks.spawn(reload::follow(app.clone(), app.stop.clone()));
    let serving = async {
        let served = tokio::select! {
            served = server.serve(listeners, app.stop.clone()) => served,
            crashed = crash_of(tasks) => Err(crashed),
        };
        app.stop.request(Shutdown::Soft);
        served
    };
    let (served, ()) = tokio::join!(serving, service::tell(app));
    tasks.abort_all();
    served
}

/// Returns when one of them panics: what it kept up is kept up by nobody. One that just ends is done.
async fn crash_of(tasks: &mut JoinSet<()>) -> Crashed {
    while let Some(ended) = tasks.join_next().await {
        if let Err(crash) = ended
            && crash.is_panic()
        {
            tracing::error!(%crash, "a task of the daemon ended on its own");
            return Crashed;
        }
    }
    std::future::pending().await
}

/// What the access layer asks the sessions and the tailnet.
fn deps(deps: Deps, doors: &RemoteDoors, (keeper, sessions): (KeeperLink, &Sessions)) -> Deps {
    let (touched, standing, counted) = (sessions.clone(), sessions.clone(), sessions.clone());
    Deps {
        local_origin: Arc::new(Origins::new(keeper, sessions.clone())),
        touched: Arc::new(move |device| touched.touched_by(device)),
        stands_at: Arc::new(move |resource| standing.stands_at(resource)),
        figures: Arc::new(move |to| metrics::write(&counted, to)),
        who_is: doors.who_is(),
        ..deps
    }
}

/// What the listeners of this configuration show.
fn certificates(
    config: &Config,
    paths: &Paths,
    identity: Identity,
    instance: &str,
    reloads: &Reloads,
) -> Result<Arc<Certificates>, UpError> {
    let now = certificates::now();
    let (own, begins) = match certificates::read_own(config, now) {
        // Time alone has made it so: a machine that starts by itself is to be reached by whatever else there is.
        Err(error) if error.is_of_time() => {
            let fault = certificates::unusable(&error);
            tracing::error!("{fault}");
            reloads.note(Degraded::new(DegradedKind::OwnCertificate, fault));
            (None, error.begins())
        }
        read => (read?, None),
    };
    let kept = identity.kept_names(&paths.keys())?.unwrap_or_default();
    let names = certificates::names(instance, config, config.tls.iter().map(SocketAddr::ip), &kept);
    let before = match config.tailnet_mode {
        TailnetMode::Host | TailnetMode::Embedded => kept,
        TailnetMode::Off => Names::default(),
    };
    let certificates = Certificates::open(paths.keys(), identity, instance, names, before, now)?;
    certificates.serve_own(own);
    certificates.await_own(begins);
    Ok(certificates)
}

async fn follow_tailnet(app: App) {
    app.run.doors.follow_tailnet(&app.access).await;
}

/// Ends what a dead keeper held, whenever one dies. Until that is done, no local process is taken for the owner.
async fn mourn(keeper: KeeperLink, sessions: Sessions) {
    let mut losses = keeper.losses();
    // One that died before this began is mourned too: nobody else would, and nothing is started until somebody did.
    let mut seen = 0;
    while losses
        .wait_for(|losses| *losses != seen)
        .await
        .is_ok_and(|losses| {
            seen = *losses;
            true
        })
    {
        sessions.end_lost().await;
        keeper.mourned();
    }
}

fn ready(app: &App) -> Ready {
    Ready {
        ready: true,
        instance: app.access.instance().to_owned(),
        version: app.access.config().version.clone(),
        socket: app.run.paths.socket().display().to_string(),
        tls: app.tls(),
        locked_down: app.access.is_locked_down(),
        warnings: app.warnings(),
    }
}

pub(crate) fn server_config(config: &Config, link_authority: Option<String>) -> ServerConfig {
    ServerConfig {
        life: format!("{:016x}", u64::from_be_bytes(random::bytes())),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        app: web::build(),
        names: config.names.clone(),
        link_authority,
        noun: "session",
        limits: limits(config),
        pairing: PairingLimits {
            max_pending: config.max_pending,
            request_ttl: config.request_ttl,
            offer_ttl: config.offer_ttl,
            default_role: config.default_role,
            ..PairingLimits::default()
        },
        idle_expiry: config.idle_expiry,
    }
}

/// What is configured, as far as the system has descriptors for it.
fn limits(config: &Config) -> Limits {
    let configured = Limits {
        unauthenticated: config.unauthenticated,
        per_principal: config.per_principal,
        connections: config.connections,
        ..Limits::default()
    };
    let descriptors = descriptors();
    let limits = configured.clone().within_descriptors(descriptors);
    let (connections, unauthenticated) = (limits.connections, limits.unauthenticated);
    if (connections, unauthenticated) != (configured.connections, configured.unauthenticated) {
        tracing::warn!(
            descriptors,
            connections,
            unauthenticated,
            "the system allows so few descriptors that fewer connections are taken than is configured"
        );
    }
    limits
}

/// The settings with what is configured of them.
pub(crate) fn configured(settings: Settings, config: &Config) -> Settings {
    let (columns, rows) = config.default_size;
    Settings {
        max: config.max_sessions,
        scrollback_memory: config.scrollback_memory,
        scrollback_disk: config.scrollback_disk,
        disk: config.disk,
        default_size: Size::new(columns, rows),
        ..settings
    }
}

fn settings(config: &Config, paths: &Paths, descriptors: DescriptorLimit) -> Settings {
    let unconfigured = Settings {
        max: 0,
        scrollback_memory: 0,
        scrollback_disk: 0,
        disk: 0,
        folder: paths.state.join("sessions"),
        default_size: Size::default(),
        environment: env::vars_os()
            .filter(|(name, _)| !service::is_private(name))
            .collect(),
        home: env::home_dir().unwrap_or_else(|| PathBuf::from("/")),
        socket: paths.socket(),
        descriptors,
    };
    configured(unconfigured, config)
}

fn make_directories(paths: &Paths) -> Result<(), UpError> {
    for directory in [&paths.state, &paths.runtime, &paths.keys(), &paths.logs()] {
        if let Some(parent) = directory.parent() {
            std::fs::create_dir_all(parent).map_err(UpError::io("make its state directory"))?;
        }
        certs::files::directory(directory)?;
    }
    Ok(())
}

/// How many descriptors this process may have.
fn descriptors() -> usize {
    let limit = rustix::process::getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// As many connections as the system allows; programs get the former limit back.
fn raise_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit on open descriptors stays as it was");
    }
}

/// Tasks between two looks at what the system has ready. Most bring a few KiB on and take up to a millisecond: a key must not
/// wait for many of them.
const EVENT_INTERVAL: u32 = 4;

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::crash_of;

    #[tokio::test]
    async fn a_task_that_panics_is_a_crash_and_one_that_ends_or_is_aborted_is_none() {
        let mut tasks = JoinSet::new();
        tasks.spawn(async {});
        tasks.spawn(std::future::pending()).abort();
        {
            let mut crash = std::pin::pin!(crash_of(&mut tasks));
            for _ in 0..10 {
                assert!(futures_util::poll!(crash.as_mut()).is_pending());
                tokio::task::yield_now().await;
            }
        }
        assert!(tasks.is_empty());
        tasks.spawn(async { panic!("on purpose") });
        tasks.spawn(std::future::pending());
        crash_of(&mut tasks).await;
    }
}
