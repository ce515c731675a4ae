//! A machine elsewhere: the command line with files of its own, as a device of daemons.

use std::{
    fs::Permissions,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use pairing::Role;
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, process::Command};

use crate::{Finished, TestDaemon, binary, daemon::command};

/// A machine where no daemon runs.
pub struct Elsewhere(TempDir);

impl Elsewhere {
    /// A machine that knows no daemon.
    ///
    /// # Panics
    /// Where no folder can be made.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        let folder = builder
            .prefix("elsewhere")
            .permissions(Permissions::from_mode(0o700))
            .tempdir();
        Self(folder.expect("a folder can be made"))
    }

    /// A machine that is paired with the daemon, which it calls `desk`.
    pub async fn paired_with(daemon: &TestDaemon, role: Role) -> Self {
        Self::paired_by(daemon, role, daemon.address()).await
    }

    /// The same by another way to the daemon.
    ///
    /// # Panics
    /// Where it cannot be paired.
    pub async fn paired_by(daemon: &TestDaemon, role: Role, address: SocketAddr) -> Self {
        let elsewhere = Self::new();
        let link = Self::link(daemon, role, address).await;
        let arguments = ["remote", "add", "--name", "desk", "--label", "a laptop", "-"];
        let (added, _) = tokio::join!(elsewhere.cli_with(&arguments, &link), async {
            let owner = daemon.owner();
            owner.approve(owner.asked().await.id).await
        });
        assert_eq!(added.code, 0, "{added:?}");
        elsewhere
    }

    /// The link of a new offer, by another way to the daemon.
    ///
    /// # Panics
    /// Where the daemon's link has no fragment.
    pub async fn link(daemon: &TestDaemon, role: Role, address: SocketAddr) -> String {
        let made = daemon.owner().offer(role, false).await;
        let (_, fragment) = made.url.expose().split_once('#').expect("a link has a fragment");
        format!("https://{address}/pair#{fragment}")
    }

    /// The command line there, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(binary(), self.0.path());
        command.args(arguments);
        command
    }

    /// Runs the command line there, with nothing on its input.
    pub async fn cli(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).stdin(Stdio::null())).await
    }

    /// Runs the command line there on the remote `desk`.
    pub async fn on_desk(&self, arguments: &[&str]) -> Finished {
        let mut all = vec!["--on", "desk"];
        all.extend(arguments);
        self.cli(&all).await
    }

    /// Runs the command line there, with this on its input.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub async fn cli_with(&self, arguments: &[&str], input: &str) -> Finished {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the binary can be started");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A command that fails early reads nothing.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
        crate::within("a command's end", Finished::of_child(child)).await
    }

    /// The folder of all that it keeps.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// The file of the remote `desk`.
    pub fn desk_file(&self) -> PathBuf {
        self.0.path().join("remotes/desk.json")
    }

    /// Goes by another way to the daemon from now on, as if somebody had changed the file.
    ///
    /// # Panics
    /// Where the file cannot be changed.
    pub fn go_by(&self, address: SocketAddr) {
        let text = std::fs::read_to_string(self.desk_file()).expect("it was paired");
        let mut record: serde_json::Value = serde_json::from_str(&text).expect("the file is JSON");
        record["address"] = address.to_string().into();
        std::fs::write(self.desk_file(), record.to_string()).expect("the file is its own");
    }
}
