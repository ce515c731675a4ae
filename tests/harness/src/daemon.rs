//! A daemon of one test.

use std::{
    fs::Permissions,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
};

use protocol::access::Ready;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::{
    Device, Owner, Pairing, binary, descendants,
    process::{Finished, ends, keeper_of},
    within,
};

/// A running daemon with a folder, a socket and a port of its own. Dropping it kills it.
pub struct TestDaemon {
    folder: Arc<TempDir>,
    child: Child,
    ready: Ready,
}

/// What a test changes about its daemon.
#[derive(Clone, Debug, Default)]
pub struct DaemonOptions {
    /// The text of `config.toml`.
    pub config: String,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// It listens where the configuration says, not at a port that is free.
    pub listens_as_configured: bool,
    /// More arguments of `up`.
    pub arguments: Vec<String>,
    /// Another executable than the binary under test.
    pub program: Option<PathBuf>,
    /// Another user than the test's, who can reach folder and executable.
    pub user: Option<u32>,
    /// Sockets that it is started with, at most two, as systemd does (sd_listen_fds(3)).
    pub passed: Vec<Arc<OwnedFd>>,
}

impl TestDaemon {
    /// Starts a daemon in a new folder and waits until it is ready.
    pub async fn start() -> Self {
        Self::start_with(DaemonOptions::default()).await
    }

    /// Starts a daemon with a configuration or environment of the test's.
    pub async fn start_with(options: DaemonOptions) -> Self {
        let mut builder = tempfile::Builder::new();
        let folder = builder
            .prefix("transom")
            .permissions(Permissions::from_mode(0o700))
            .tempdir();
        let folder = Arc::new(folder.expect("a folder can be made"));
        if !options.config.is_empty() {
            std::fs::write(folder.path().join("config.toml"), &options.config)
                .expect("the folder is writable");
        }
        Self::start_in(folder, &options).await
    }

    /// Starts a daemon in a folder that another has used.
    pub async fn start_in(folder: Arc<TempDir>, options: &DaemonOptions) -> Self {
        let (child, ready) = launch(folder.path(), options).await;
        Self { folder, child, ready }
    }

    /// Kills the daemon with SIGKILL and starts it again in the same folder. Its sessions are left alone.
    pub async fn kill_and_restart(&mut self) {
        self.signal(Signal::KILL);
        self.start_again().await;
    }

    /// Waits for the daemon's end and starts it again in the same folder. Its sessions are left alone.
    pub async fn start_again(&mut self) {
        self.start_again_with(&DaemonOptions::default()).await;
    }

    /// The same, with other options.
    pub async fn start_again_with(&mut self, options: &DaemonOptions) {
        self.ended().await;
        (self.child, self.ready) = launch(self.folder.path(), options).await;
    }

    /// Kills the daemon, and does not start it again.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.ended().await;
    }

    /// Starts a daemon in the folder of one that ended, and kills it when the moment has come, ready or not.
    pub async fn start_until(&mut self, options: &DaemonOptions, moment: impl Future<Output = ()>) {
        self.ended().await;
        self.child = begin(self.folder.path(), options);
        moment.await;
        self.kill().await;
    }

    /// Its keeper, if it has one.
    pub fn keeper(&self) -> Option<u32> {
        keeper_of(&self.ready.instance)
    }

    /// The processes of all its sessions.
    pub fn programs(&self) -> Vec<u32> {
        let reapers = self.keeper().map(crate::process::children).unwrap_or_default();
        reapers.into_iter().flat_map(descendants).collect()
    }

    /// What it said when it was ready.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The folder of all its state.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has logged.
    ///
    /// # Panics
    /// Where that cannot be read.
    pub fn log(&self) -> String {
        let folder = self.folder().join("log");
        let files = std::fs::read_dir(folder).expect("a daemon that runs has logged");
        let paths = files.map(|file| file.expect("the folder is readable").path());
        let texts = paths.map(|path| std::fs::read_to_string(path).expect("a log is text"));
        texts.collect()
    }

    /// A handle that keeps the folder, to start another daemon in it.
    pub fn keep_folder(&self) -> Arc<TempDir> {
        self.folder.clone()
    }

    /// The address of its TLS listener.
    pub fn address(&self) -> std::net::SocketAddr {
        self.ready.tls[0]
            .address
            .parse()
            .expect("the daemon prints addresses")
    }

    /// The pin of its identity key.
    pub fn pin(&self) -> &str {
        &self.ready.tls[0].pin
    }

    /// The path of its Unix socket.
    pub fn socket(&self) -> PathBuf {
        PathBuf::from(&self.ready.socket)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the daemon has not been waited for")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).expect("a child's pid is positive");
        kill_process(pid, signal).expect("the daemon is a child of the test");
    }

    /// The process that listens on the socket, as the kernel tells.
    fn listening(&self) -> Option<Pid> {
        let stream = std::os::unix::net::UnixStream::connect(self.socket()).ok()?;
        rustix::net::sockopt::socket_peercred(&stream)
            .ok()
            .map(|peer| peer.pid)
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> std::process::ExitStatus {
        within("the daemon's end", self.child.wait())
            .await
            .expect("the daemon is a child of the test")
    }

    /// The local user.
    pub fn owner(&self) -> Owner {
        Owner::new(self.socket())
    }

    /// A device that begins to pair.
    pub async fn pairing(&self, role: pairing::Role) -> Pairing {
        Pairing::with_offer(self, role).await
    }

    /// A device that is paired.
    pub async fn device(&self, role: pairing::Role) -> Device {
        Pairing::with_offer(self, role).await.finish(self).await
    }

    /// Runs the command line against this daemon, with nothing on its input.
    pub async fn cli(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).stdin(Stdio::null())).await
    }

    /// The command line against this daemon, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(binary(), self.folder.path());
        command.args(arguments);
        command
    }
}

impl Drop for TestDaemon {
    /// Ends the daemon, its keeper and its sessions, and makes sure of it.
    fn drop(&mut self) {
        let keeper = self.keeper();
        let successor = self
            .listening()
            .filter(|pid| Some(pid.as_raw_pid().unsigned_abs()) != self.child.id());
        if let Some(successor) = successor {
            kill_process(successor, Signal::KILL).ok();
        }
        let below = keeper.map(descendants).unwrap_or_default();
        // Its lock is free once it is gone: another may follow in its folder.
        let own = self.child.id();
        self.child.start_kill().ok();
        let all: Vec<_> = own.into_iter().chain(keeper).chain(below).collect();
        // A reaper kills what it holds when the keeper is gone.
        if let Some(pid) = keeper.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            kill_process(pid, Signal::KILL).ok();
        }
        let left: Vec<_> = all.into_iter().filter(|pid| !ends(*pid)).collect();
        if !std::thread::panicking() {
            assert!(
                left.is_empty(),
                "processes outlive their daemon or keeper: {left:?}"
            );
        }
    }
}

/// Starts the daemon and waits until it is ready.
async fn launch(folder: &Path, options: &DaemonOptions) -> (Child, Ready) {
    let mut child = begin(folder, options);
    let output = child.stdout.take().expect("stdout is piped");
    let line = within(
        "the daemon's ready line",
        BufReader::new(output).lines().next_line(),
    )
    .await;
    let line = line
        .expect("the daemon's output can be read")
        .expect("the daemon says that it is ready");
    let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
    (child, ready)
}

fn begin(folder: &Path, options: &DaemonOptions) -> Child {
    let program = options.program.as_ref().unwrap_or(binary());
    let mut up = match options.passed.is_empty() {
        true => command(program, folder),
        false => passing(&options.passed, program, folder),
    };
    if let Some(user) = options.user {
        up.uid(user).gid(user);
    }
    let listens: &[&str] = match options.listens_as_configured {
        true => &[],
        false => &["--tls", "127.0.0.1:0"],
    };
    up.args(["up", "--json"])
        .args(listens)
        .args(&options.arguments)
        .envs(options.environment.iter().cloned())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the binary can be started")
}

/// The program, with sockets from the third descriptor on. They come to a shell as its input and its errors.
fn passing(sockets: &[Arc<OwnedFd>], program: &Path, folder: &Path) -> Command {
    let copy = |socket: &Arc<OwnedFd>| Stdio::from(socket.try_clone().expect("there are descriptors left"));
    let moved = match sockets.len() {
        1 => "3<&0",
        2 => "3<&0 4<&2 2>/dev/null",
        count => panic!("{count} sockets have no place"),
    };
    let script = format!(
        "exec {moved} </dev/null; export LISTEN_PID=${{LISTEN_PID:-$$}} LISTEN_FDS={}; exec \"$0\" \"$@\"",
        sockets.len()
    );
    let mut command = command(Path::new("/bin/sh"), folder);
    command
        .arg("-c")
        .arg(script)
        .arg(program)
        .stdin(copy(&sockets[0]));
    if let Some(second) = sockets.get(1) {
        command.stderr(copy(second));
    }
    command
}

/// The binary in an environment that has nothing of the caller's but PATH and locale.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .env("HOME", folder)
        .env("SHELL", "/bin/sh")
        .env("TRANSOM_DIR", folder);
    command
}
