//! The daemon started anew in its own place: the same process executes what is at its executable's path by now. Where it was
//! called by a link, that is what the link leads to by then.

use std::{
    convert::Infallible,
    env,
    ffi::OsString,
    fs, io,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::response::{IntoResponse, Response};
use protocol::Problem;
use server::store::OlderStore;
use terminal::DescriptorLimit;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::timeout,
};

use crate::{
    ConfigError,
    app::Run,
    executable,
    lock::Lock,
    service,
    service::Passed,
    tasks,
    up::{self, UpError},
};

/// What this process was started with, and whether it is to be started so again.
#[derive(Debug)]
pub(crate) struct Restart {
    /// By which path the executable was called, if that can be told, else where it was when the daemon began. Absolute.
    path: io::Result<PathBuf>,
    /// Whose it was.
    owner: Option<u32>,
    /// With the name by which it was called.
    arguments: Vec<OsString>,
    descriptors: DescriptorLimit,
    is_wanted: AtomicBool,
    /// Held by who looks whether another would start, however long the disk takes: each look on one that hangs keeps a thread.
    looking: Arc<Mutex<()>>,
}

/// The turn of who looks.
type Turn = Arc<OwnedMutexGuard<()>>;

/// Why the daemon cannot be started again; nothing was ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRestarted {
    /// There is nothing that could be started.
    #[error("the daemon's executable {path} cannot be started again: {source}")]
    NoExecutable {
        /// Where it should be.
        path: String,
        /// Why that is none.
        source: io::Error,
    },
    /// It would not start.
    #[error("the next daemon would not start: {0}")]
    Refused(#[source] Box<UpError>),
    /// Whether it would could not be found out.
    #[error("{0}, so it cannot be told whether the next daemon would start")]
    Hangs(#[source] Box<UpError>),
}

impl From<UpError> for NotRestarted {
    fn from(error: UpError) -> Self {
        match error {
            UpError::Hangs { .. } => Self::Hangs(error.into()),
            error => Self::Refused(error.into()),
        }
    }
}

impl Restart {
    /// Notes how this process was started; `descriptors` is the limit that it was started with.
    pub(crate) fn of_this_process(descriptors: DescriptorLimit) -> Self {
        Self {
            path: executable::called(),
            owner: fs::metadata(executable::SELF)
                .ok()
                .map(|executable| executable.uid()),
            // What was said of the store then was said of no later one.
            arguments: env::args_os()
                .filter(|argument| argument != "--accept-older-store")
                .collect(),
            descriptors,
            is_wanted: AtomicBool::new(false),
            looking: Arc::default(),
        }
    }

    /// Wants the daemon to be started again once it has ended.
    ///
    /// # Errors
    /// [`NotRestarted`] where nothing is at its path that could be started, it would refuse to, or the disk does not say so in time.
    pub(crate) async fn want(&self, run: &Arc<Run>) -> Result<(), NotRestarted> {
        let look = async {
            let turn = Arc::new(Arc::clone(&self.looking).lock_owned().await);
            self.check(&turn).await?;
            let run = Arc::clone(run);
            let would_start = tasks::blocking(move || {
                let _turn = turn;
                would_start(&run)
            });
            Ok::<_, NotRestarted>(would_start.await?)
        };
        up::in_time(run.paths.state.clone(), look).await?;
        self.is_wanted.store(true, Ordering::Release);
        Ok(())
    }

    /// It is to end for good after all.
    pub(crate) fn forgo(&self) {
        self.is_wanted.store(false, Ordering::Release);
    }

    /// The limit that the daemon was started with: what its programs get.
    pub(crate) fn descriptors(&self) -> DescriptorLimit {
        self.descriptors
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// Becomes the new daemon: every descriptor of this one closes by itself, with its connections; the lock goes on.
    ///
    /// # Errors
    /// Why it did not.
    pub(crate) fn execute(&self, lock: &Lock, passed: &Passed) -> Result<Infallible, io::Error> {
        let path = self
            .path
            .as_ref()
            .map_err(|error| io::Error::from(error.kind()))?;
        // The new one gives its programs the limit that it finds.
        self.descriptors.apply()?;
        passed.pass_on()?;
        let mut command = Command::new(path);
        command.stdin(lock.to_pass_on()?);
        if let Some((name, rest)) = self.arguments.split_first() {
            command.arg0(name).args(rest);
        }
        Err(command.exec())
    }

    /// Whether what is there now says of itself what it is: half a download does not.
    async fn check(&self, turn: &Turn) -> Result<(), NotRestarted> {
        let path = self.path.as_ref().map_err(|error| NotRestarted::NoExecutable {
            path: "(unknown)".to_owned(),
            source: error.kind().into(),
        })?;
        let fault = |source| NotRestarted::NoExecutable {
            path: path.display().to_string(),
            source,
        };
        let answer = timeout(PATIENCE, version(path.clone(), self.owner, Arc::clone(turn))).await;
        let answer = answer
            .map_err(|_| fault(io::ErrorKind::TimedOut.into()))?
            .map_err(fault)?;
        if answer.status.success() && answer.stdout.starts_with(b"transom ") {
            return Ok(());
        }
        Err(fault(io::Error::other("it does not say its version")))
    }
}

/// What the executable answers to who asks for its version.
async fn version(path: PathBuf, owner: Option<u32>, turn: Turn) -> io::Result<Output> {
    let mut command = tokio::process::Command::new(&path);
    service::PRIVATE.iter().for_each(|name| {
        command.env_remove(name);
    });
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    // Both wait for the disk that it is on.
    let begun = tasks::blocking(move || {
        let _turn = turn;
        is_trusted(&path, owner)?;
        command.spawn()
    });
    begun.await?.wait_with_output().await
}

/// Whether what is there now is of somebody who could do as much before: this user, root, or whose the executable was.
fn is_trusted(path: &Path, owner: Option<u32>) -> io::Result<()> {
    let there = fs::metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    let is_of_ours = [Some(own), Some(0), owner].contains(&Some(there.uid()));
    if is_of_ours && there.mode() & EVERYBODY_WRITES == 0 {
        return Ok(());
    }
    Err(io::Error::other("others may write it"))
}

/// Whether what is configured and stored by now lets a daemon start.
fn would_start(run: &Run) -> Result<(), UpError> {
    let config = run.reloads.next(&run.paths)?;
    run.doors.check(&config, &run.paths.socket())?;
    up::store(&run.paths, OlderStore::Refused)
}

impl NotRestarted {
    /// What may be said of one.
    pub(crate) fn problems() -> Vec<Problem> {
        let source = || io::ErrorKind::NotFound.into();
        let path = "/usr/bin/transom".to_owned();
        let config = ConfigError::Unreadable {
            path: "config.toml".to_owned(),
            why: "permission denied".to_owned(),
        };
        let system = UpError::System {
            what: "listen",
            source: source(),
        };
        let all = [
            Self::NoExecutable {
                path,
                source: source(),
            },
            Self::Refused(Box::new(config.into())),
            Self::Refused(Box::new(system)),
        ];
        all.iter().map(Self::problem).collect()
    }

    fn problem(&self) -> Problem {
        let detail = self.to_string();
        let (status, code, hint) = match self {
            Self::NoExecutable { .. } => {
                let hint = "put it back, or end the daemon and start another: sessions go on in between";
                (409, "no_executable", hint.to_owned())
            }
            Self::Hangs(error) => (503, "disk_hangs", error.hint()),
            Self::Refused(error) => {
                let hint = format!("{}; until then the daemon goes on as before", error.hint());
                match error.is_configuration() {
                    true => (422, "bad_configuration", hint),
                    false => (409, "start_refused", hint),
                }
            }
        };
        Problem::new(status, code, detail, hint)
    }
}

impl IntoResponse for NotRestarted {
    fn into_response(self) -> Response {
        server::error::answer(&self.problem())
    }
}

/// How long an executable may take to say its version.
const PATIENCE: Duration = Duration::from_secs(3);
/// The mode's bit by which everybody may write a file.
const EVERYBODY_WRITES: u32 = 0o002;
