//! A storm: a daemon, its lanes, and what is checked when they are done.

use std::{net::TcpListener, os::unix::fs::PermissionsExt, path::PathBuf, sync::Arc, time::Duration};

use harness::{Chance, DaemonOptions, SmallDisk, TestDaemon, WallClock};
use pairing::Role;
use protocol::sessions::Session;
use tempfile::TempDir;
use tokio::{task::JoinSet, time::timeout};

use crate::{
    finish,
    lanes::{
        breaker::Breaker, guests, people, people::Ending, sessions, typists::Typist, viewers::Viewer, watcher,
    },
    world::{Expected, Fault, Outcome, World},
};

/// What a lane is when it is done.
enum Done {
    Breaker(Box<Breaker>),
    Viewer(Box<Viewer>),
    Typist(Box<Typist>),
    Other,
}

/// All that is there before the first act.
pub(crate) struct Storm {
    pub(crate) world: Arc<World>,
    pub(crate) folder: Arc<TempDir>,
    pub(crate) disk: Option<Arc<SmallDisk>>,
    /// Why no disk can be filled, where none can.
    pub(crate) no_disk: Option<String>,
    breaker: Breaker,
}

/// The lanes' work, for the end.
pub(crate) struct Left {
    pub(crate) breaker: Breaker,
    pub(crate) viewers: Vec<Viewer>,
    pub(crate) typists: Vec<Typist>,
    pub(crate) counted: Vec<Session>,
    pub(crate) descriptors: usize,
}

impl Storm {
    /// Starts a daemon in a new folder, on a small disk of its own where this user may mount one.
    pub(crate) async fn prepare() -> Self {
        let mut builder = tempfile::Builder::new();
        let folder = builder
            .prefix("transom-soak-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir();
        let folder = Arc::new(folder.expect("a folder can be made"));
        let mounted = SmallDisk::of_megabytes(DISK, folder.path().to_owned());
        let (disk, no_disk) = match mounted {
            Ok(disk) => (Some(Arc::new(disk)), None),
            Err(why) => (None, Some(why)),
        };
        let clock = WallClock::new();
        let config = format!("[listen]\ntls = [\"127.0.0.1:{}\"]\n", free_port());
        std::fs::write(folder.path().join("config.toml"), &config).expect("the folder is writable");
        let options = DaemonOptions {
            listens_as_configured: true,
            environment: clock.environment(),
            ..DaemonOptions::default()
        };
        let daemon = TestDaemon::start_in(folder.clone(), &options).await;
        let world = World::new(daemon.owner(), daemon.address(), folder.path().to_owned());
        let breaker = Breaker {
            daemon,
            options,
            clock,
            disk: disk.clone(),
            config,
            ahead: 0,
            furthest: 0,
        };
        Self {
            world: Arc::new(world),
            folder,
            disk,
            no_disk,
            breaker,
        }
    }

    /// Lets everybody act for so long, and checks everything then.
    pub(crate) async fn rage(self, seed: u64, lasts: Duration) -> Outcome<()> {
        let world = self.world.clone();
        let descriptors = descriptors_at_rest(&world, &self.breaker.daemon).await?;
        let counted = counters(&world).await?;
        let mut lanes = lanes(&world, self.breaker, &counted, seed).await?;
        let mut left = (None, Vec::new(), Vec::new());
        let raged = timeout(lasts, collect(&mut lanes, &mut left)).await;
        world.tell("the storm", "is over");
        world.end();
        let done = match raged {
            Ok(done) => done,
            Err(_) => timeout(LAST_ACTS, collect(&mut lanes, &mut left))
                .await
                .unwrap_or_else(|_| Err(Fault::Broken(format!("acts were not over after {LAST_ACTS:?}")))),
        };
        done?;
        let (Some(breaker), viewers, typists) = left else {
            return Err(Fault::Broken("nobody has the daemon".to_owned()));
        };
        let left = Left {
            breaker,
            viewers,
            typists,
            counted,
            descriptors,
        };
        finish::check(&world, left).await
    }
}

/// Waits for all lanes, or for the first that finds something broken.
async fn collect(
    lanes: &mut JoinSet<Outcome<Done>>,
    left: &mut (Option<Breaker>, Vec<Viewer>, Vec<Typist>),
) -> Outcome<()> {
    while let Some(done) = lanes.join_next().await {
        match done.map_err(|error| Fault::Broken(panicked(error)))?? {
            Done::Breaker(breaker) => left.0 = Some(*breaker),
            Done::Viewer(viewer) => left.1.push(*viewer),
            Done::Typist(typist) => left.2.push(*typist),
            Done::Other => {}
        }
    }
    Ok(())
}

/// Starts every lane, each with a chance of its own.
async fn lanes(
    world: &Arc<World>,
    breaker: Breaker,
    counted: &[Session],
    seed: u64,
) -> Outcome<JoinSet<Outcome<Done>>> {
    let mut chance = Chance::new(seed);
    let mut lanes = JoinSet::new();
    let other = |_| Done::Other;
    for (lane, session) in counted.iter().enumerate() {
        let viewer = Viewer::new(
            device(world, Role::Viewer, &format!("viewer {lane}")).await?,
            session.clone(),
        );
        let (world, chance) = (world.clone(), chance.fork());
        lanes.spawn(async move {
            let viewer = viewer.run(world, lane, chance).await?;
            Ok(Done::Viewer(Box::new(viewer)))
        });
    }
    for lane in 0..TYPISTS {
        let file = world.folder.join(format!("typed-{lane}"));
        let name = format!("soak-typed-{lane}");
        let session = sessions::start(world, &name, &Typist::script(&file), Expected::Running).await?;
        let session = session.ok_or(Fault::Disturbed)?;
        let device = device(world, Role::Operator, &format!("typist {lane}")).await?;
        let typist = Typist::new(device, session, file, lane);
        let (world, chance) = (world.clone(), chance.fork());
        lanes.spawn(async move {
            let typist = typist.run(world, lane, chance).await?;
            Ok(Done::Typist(Box::new(typist)))
        });
    }
    for (lane, session) in counted.iter().take(2).cloned().enumerate() {
        let (own, chance_of_sessions, chance_of_people) = (world.clone(), chance.fork(), chance.fork());
        lanes.spawn(async move { sessions::run(own, lane, chance_of_sessions).await.map(other) });
        let own = world.clone();
        lanes.spawn(async move { people::run(own, lane, session, chance_of_people).await.map(other) });
    }
    let (own, all, chance_of_guests) = (world.clone(), counted.to_vec(), chance.fork());
    lanes.spawn(async move { guests::run(own, all, chance_of_guests).await.map(other) });
    let (own, all) = (world.clone(), counted.to_vec());
    lanes.spawn(async move { watcher::run(own, all).await.map(other) });
    let (own, all) = (world.clone(), counted.to_vec());
    lanes.spawn(async move {
        let breaker = breaker.run(own, all, chance).await?;
        Ok(Done::Breaker(Box::new(breaker)))
    });
    Ok(lanes)
}

async fn device(world: &World, role: Role, label: &str) -> Outcome<harness::Device> {
    let device = people::pair(world, role, Ending::Commit, label).await?;
    device.ok_or(Fault::Disturbed)
}

/// Sessions that count until a file is there, and end with a code of their own.
async fn counters(world: &World) -> Outcome<Vec<Session>> {
    let mut all = Vec::new();
    for index in 0..COUNTERS {
        let script =
            sessions::COUNTER.replace("while :;", &format!("while [ ! -e {} ];", stop(world).display()));
        let script = format!("{script}; exit {}", code(index));
        let session = sessions::start(
            world,
            &format!("soak-counter-{index}"),
            &script,
            Expected::Running,
        )
        .await?;
        all.push(session.ok_or(Fault::Disturbed)?);
    }
    Ok(all)
}

/// What the counters wait for.
pub(crate) fn stop(world: &World) -> PathBuf {
    world.folder.join("stop")
}

/// What a counter ends with.
pub(crate) fn code(index: usize) -> i32 {
    40 + i32::try_from(index).expect("there are few")
}

/// Open descriptors of a daemon that has had a session and a device, and has none.
async fn descriptors_at_rest(world: &World, daemon: &TestDaemon) -> Outcome<usize> {
    if let Some(session) = sessions::start(world, "soak-first", "exit 3", Expected::Kept).await? {
        sessions::ends_with(world, &session, 3).await?;
        let device = device(world, Role::Viewer, "first").await?;
        people::revoke(world, &device, &session, 0).await?;
        sessions::remove(world, &session, true).await?;
    }
    Ok(harness::open_files(daemon.pid()).len())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.expect("there is a free port").port()
}

fn panicked(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => crate::world::words(panic.as_ref()),
        Err(error) => error.to_string(),
    }
}

const COUNTERS: usize = 4;
const TYPISTS: usize = 2;
/// Megabytes of the disk that is filled.
const DISK: u32 = 192;
/// For acts that were under way when the storm was over: a flood has to be read.
const LAST_ACTS: Duration = Duration::from_secs(180);
