//! A daemon to scan, in a folder of its own, ended with this value.

use std::{
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::steps::{self, command, target};

/// It serves until this is dropped.
pub(super) struct Daemon {
    process: Child,
    /// It may write there for as long as it runs.
    _output: BufReader<ChildStdout>,
    folder: PathBuf,
    /// Where it listens by TLS, such as `127.0.0.1:40000`.
    pub(super) address: String,
}

impl Daemon {
    /// Starts the binary, or one that is built now.
    pub(super) fn start(binary: Option<&Path>) -> Result<Self> {
        let binary = match binary {
            Some(binary) => binary
                .canonicalize()
                .with_context(|| format!("there is no {}", binary.display()))?,
            None => build()?,
        };
        // The paths of sockets are short.
        let folder = std::env::temp_dir().join(format!("transom-scan-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        let mut process = Command::new(&binary)
            .args(["up", "--tls", "127.0.0.1:0", "--json", "--dir"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", binary.display()))?;
        let output = process.stdout.take().context("the daemon's output is piped")?;
        let mut daemon = Self {
            process,
            _output: BufReader::new(output),
            folder,
            address: String::new(),
        };
        daemon.address = daemon.ready()?;
        Ok(daemon)
    }

    /// The address that it says once it serves.
    fn ready(&mut self) -> Result<String> {
        let mut line = String::new();
        self._output.read_line(&mut line)?;
        ensure!(
            !line.is_empty(),
            "the daemon ended before it was ready; it says why above"
        );
        let ready: serde_json::Value =
            serde_json::from_str(&line).context("the daemon's first line is JSON")?;
        let address = ready["tls"][0]["address"].as_str();
        Ok(address.context("the daemon names no listener")?.to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// In the profile of the tests, which have most of it already.
fn build() -> Result<PathBuf> {
    steps::run(&mut command(
        "cargo",
        &[
            "build",
            "--quiet",
            "--locked",
            "--profile",
            "ci",
            "--package",
            "cli",
        ],
    ))?;
    Ok(target().join("ci/transom"))
}
