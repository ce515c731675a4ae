//! A real keeper, its reapers and their programs: this test binary, started anew.

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::message::Versions;
use super::{Held, Keeper, KeeperError, KeeperOptions, Listing, keep_as, listener};
use crate::id::SessionId;
use crate::journal::Read;
use crate::offset::Offset;
use crate::process::{Exit, Member};
use crate::session::{Options, Session};
use crate::size::Size;
use crate::spawn::{Command, SpawnError};

mod end;
mod gate;
mod handover;

/// Not a test: what the tests below start as a keeper.
#[test]
#[ignore = "it is the keeper of other tests"]
fn keeper_process() {
    if listener().is_ok() {
        keep_as(Versions::OURS, ["test".into(), "--no-cgroups".into()]);
    }
}

/// Not a test: a keeper that divides its cgroup.
#[test]
#[ignore = "it is the keeper of other tests"]
fn keeper_process_with_cgroups() {
    if listener().is_ok() {
        // The process that other processes know is a child of this one.
        let name = format!("transom-test-{}", std::process::id());
        keep_as(Versions::OURS, [name.into()]);
    }
}

/// Not a test: a keeper of another build.
#[test]
#[ignore = "it is the keeper of other tests"]
fn keeper_process_of_versions_3_to_4() {
    if listener().is_ok() {
        keep_as(
            Versions { min: 3, max: 4 },
            ["test".into(), "--no-cgroups".into()],
        );
    }
}

/// A keeper in a folder of its own, and a connection to it. Dropping it kills the keeper, and with it all that it holds.
pub(crate) struct TestKeeper {
    options: KeeperOptions,
    keeper: Option<Keeper>,
    process: Pid,
    _folder: TempDir,
}

impl TestKeeper {
    pub(crate) async fn start() -> Self {
        Self::start_as("keeper_process").await
    }

    async fn start_as(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path().join("keeper.sock"), name);
        let keeper = soon(Keeper::connect_or_start(&options)).await.unwrap();
        Self {
            process: Pid::from_raw(keeper.process_id().cast_signed()).unwrap(),
            options,
            keeper: Some(keeper),
            _folder: folder,
        }
    }

    fn client(&self) -> &Keeper {
        self.keeper.as_ref().expect("the test has not hung up")
    }

    async fn spawn(&self, number: u8, script: &str) -> Held {
        let spawned = self.client().spawn(shell(script), id(number), 0);
        soon(spawned).await.unwrap()
    }

    /// Ends as a daemon does that is killed.
    fn hang_up(&mut self) {
        self.keeper = None;
    }

    async fn connect(&mut self) {
        let keeper = soon(Keeper::connect(&self.options.socket)).await.unwrap();
        self.keeper = Some(keeper.expect("the keeper is there"));
    }

    fn kill(&self) {
        kill_process(self.process, Signal::KILL).unwrap();
    }
}

impl Drop for TestKeeper {
    fn drop(&mut self) {
        // It is no child of this process; it is killed only as long as its connection says that it is there.
        let is_there = self.keeper.as_ref().is_some_and(|keeper| !keeper.is_lost());
        if is_there || self.keeper.is_none() {
            kill_process(self.process, Signal::KILL).ok();
        }
    }
}

/// Starts a program under a keeper of its own, which ends with the test.
pub(crate) async fn run(command: Command) -> Result<Session, SpawnError> {
    run_with(command, Options::default()).await
}

/// The same, with other options.
pub(crate) async fn run_with(command: Command, options: Options) -> Result<Session, SpawnError> {
    let held = hold(command, options.scrollback_memory).await?;
    Ok(Session::adopt(held, options).unwrap())
}

/// A program that nobody took over yet.
pub(crate) async fn hold(command: Command, capacity: usize) -> Result<Held, SpawnError> {
    let keeper = TestKeeper::start().await;
    let held = keeper
        .client()
        .spawn(command, id(1), capacity.max(1024 * 1024))
        .await?;
    tokio::spawn(async move {
        let _ends_with_the_runtime = keeper;
        std::future::pending::<()>().await;
    });
    Ok(held)
}

fn options(socket: PathBuf, name: &str) -> KeeperOptions {
    let arguments = ["--exact", &format!("keeper::tests::{name}"), "--ignored"];
    KeeperOptions {
        socket,
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(OsString::from).to_vec(),
    }
}

fn id(number: u8) -> SessionId {
    SessionId::from_bytes([number; 8])
}

fn shell(script: &str) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Command {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), path)],
        size: Size::new(40, 10),
        descriptor_limit: None,
    }
}

/// Fails a test instead of letting it hang.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    let within = tokio::time::timeout(Duration::from_secs(60), future);
    within.await.expect("it happens within a minute")
}

/// Waits for what nobody reports.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("{what} within a minute"));
}

async fn exit(held: &Held) -> Option<Exit> {
    let mut end = held.end.clone();
    let ended = soon(end.wait_for(Option::is_some)).await;
    ended.ok().and_then(|exit| *exit)
}

/// Everything in a journal, from its beginning.
fn output(held: &Held) -> String {
    let mut bytes = Vec::new();
    let journal = &held.journal;
    let mut sizes = journal.first_size_from(Offset::START);
    loop {
        match journal.read(Offset(bytes.len() as u64), sizes, usize::MAX, &mut bytes) {
            Read::Output => {}
            Read::Size { number, .. } => sizes = number + 1,
            Read::Nothing => return String::from_utf8(bytes).unwrap(),
            Read::Trimmed { start } => panic!("the journal begins at {start:?}"),
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    Member::find(pid).is_some()
}

fn listed(sessions: &[super::Listed], number: u8) -> Listing {
    let found = sessions.iter().find(|session| session.id == id(number));
    found.expect("the keeper holds it").state
}

/// The number that a program wrote into a file.
async fn pid_in(path: &std::path::Path) -> u32 {
    until("a program writes its number", || {
        fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

fn is_unknown<T>(result: &Result<T, KeeperError>) -> bool {
    matches!(result, Err(KeeperError::Unknown))
}
