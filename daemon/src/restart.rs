//! The daemon started anew in its own place: the same process executes what is at its executable's path by now.

use std::{
    convert::Infallible,
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use axum::response::{IntoResponse, Response};
use protocol::Problem;
use terminal::DescriptorLimit;
use tokio::time::timeout;

/// What this process was started with, and whether it is to be started so again.
#[derive(Debug)]
pub(crate) struct Restart {
    /// Where the executable was when the daemon began.
    path: io::Result<PathBuf>,
    /// With the name by which it was called.
    arguments: Vec<OsString>,
    descriptors: DescriptorLimit,
    is_wanted: AtomicBool,
}

/// Why the daemon cannot be started again; nothing was ended.
#[derive(Debug, thiserror::Error)]
#[error("the daemon's executable {path} cannot be started again: {source}")]
pub(crate) struct NoExecutable {
    path: String,
    source: io::Error,
}

impl Restart {
    /// Notes how this process was started; `descriptors` is the limit that it was started with.
    pub(crate) fn of_this_process(descriptors: DescriptorLimit) -> Self {
        Self {
            path: env::current_exe(),
            // What was said of the store then was said of no later one.
            arguments: env::args_os()
                .filter(|argument| argument != "--accept-older-store")
                .collect(),
            descriptors,
            is_wanted: AtomicBool::new(false),
        }
    }

    /// Wants the daemon to be started again once it has ended.
    ///
    /// # Errors
    /// [`NoExecutable`] where nothing is at its path that could be started.
    pub(crate) async fn want(&self) -> Result<(), NoExecutable> {
        self.check().await?;
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

    /// Becomes the new daemon: every descriptor of this one closes by itself, with its locks and connections.
    ///
    /// # Errors
    /// Why it did not.
    pub(crate) fn execute(&self) -> Result<Infallible, io::Error> {
        let path = self
            .path
            .as_ref()
            .map_err(|error| io::Error::from(error.kind()))?;
        // The new one gives its programs the limit that it finds.
        self.descriptors.apply()?;
        let mut command = Command::new(path);
        if let Some((name, rest)) = self.arguments.split_first() {
            command.arg0(name).args(rest);
        }
        Err(command.exec())
    }

    /// Whether what is there now says of itself what it is: half a download does not.
    async fn check(&self) -> Result<(), NoExecutable> {
        let path = self.path.as_ref().map_err(|error| NoExecutable {
            path: "(unknown)".to_owned(),
            source: error.kind().into(),
        })?;
        let fault = |source| NoExecutable {
            path: path.display().to_string(),
            source,
        };
        let mut command = tokio::process::Command::new(path);
        let answer = command
            .arg("--version")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let answer = timeout(PATIENCE, answer)
            .await
            .map_err(|_| fault(io::ErrorKind::TimedOut.into()))?;
        let answer = answer.map_err(fault)?;
        if answer.status.success() && answer.stdout.starts_with(b"transom ") {
            return Ok(());
        }
        Err(fault(io::Error::other("it does not say its version")))
    }
}

impl IntoResponse for NoExecutable {
    fn into_response(self) -> Response {
        let hint = "put it back, or end the daemon and start another: sessions go on in between";
        server::error::answer(&Problem::new(409, "no_executable", self.to_string(), hint))
    }
}

/// How long an executable may take to say its version.
const PATIENCE: Duration = Duration::from_secs(3);
