//! `transom service`, with a `systemctl` that writes down what it is asked, and units that systemd itself reads.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::Stdio,
};

use harness::{Finished, Running, binary};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use tempfile::TempDir;
use tokio::process::Command;

#[tokio::test]
async fn install_writes_units_that_systemd_accepts_and_starts_the_service() {
    let home = Home::new();
    let installed = home.cli(&["service", "install", "--json"]).await;
    assert_eq!(installed.code, 0, "{installed:?}");
    assert_eq!(installed.json()["started"], true);
    let units: Vec<PathBuf> = serde_json::from_value(installed.json()["units"].clone()).unwrap();
    assert_eq!(units.len(), 4);
    let asked = home.asked();
    for words in [
        "daemon-reload",
        "enable transom.service",
        "start transom-keeper.socket transom.socket transom.service",
    ] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]).args(&units);
    verify.env("XDG_RUNTIME_DIR", home.folder.path());
    let verified = Finished::of(verify.stdin(Stdio::null())).await;
    assert_eq!((verified.code, verified.stderr.as_str()), (0, ""), "{verified:?}");
    let again = home.cli(&["service", "install"]).await;
    assert_eq!(again.code, 0, "{again:?}");
}

#[tokio::test]
async fn systemd_finds_a_fault_in_a_unit_that_has_one() {
    let home = Home::new();
    home.cli(&["service", "install"]).await;
    let path = home.unit("transom.service");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("Type=notify", "Type=notfy")).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--user", "--man=no"]).arg(&path);
    verify.env("XDG_RUNTIME_DIR", home.folder.path());
    let verified = Finished::of(verify.stdin(Stdio::null())).await;
    assert!(verified.stderr.contains("notfy"), "{verified:?}");
}

#[tokio::test]
async fn a_unit_of_somebody_elses_is_never_written_over_or_removed() {
    let home = Home::new();
    let path = home.unit("transom.service");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "[Service]\nExecStart=/bin/true\n").unwrap();
    let refused = home.cli(&["service", "install", "--json"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(refused.json()["code"], "unit_in_the_way");
    assert!(!home.unit("transom.socket").exists());
    assert_eq!(home.cli(&["service", "uninstall"]).await.code, 0);
    assert!(fs::read_to_string(&path).unwrap().contains("/bin/true"));
}

#[tokio::test]
async fn a_daemon_that_runs_already_goes_on_and_its_session_outlives_an_uninstallation() {
    let home = Home::new();
    let mut daemon = Running::start(&mut home.command(&["up", "--tls", "127.0.0.1:0"]));
    daemon.line_with("ready").await;
    let session = home.cli(&["new", "--name", "kept", "cat"]).await;
    assert_eq!(session.code, 0, "{session:?}");
    let installed = home.cli(&["service", "install", "--json"]).await;
    assert_eq!(installed.json()["started"], false, "{installed:?}");
    assert_eq!(installed.json()["running"], daemon.pid());
    assert!(!home.asked().contains("start transom"));
    // As if it were the service's.
    home.set_active(true);
    let done = home.cli(&["service", "uninstall", "--json"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.json()["sessions"][0], "kept");
    assert!(done.json()["keeper"].is_u64());
    assert_eq!(done.json()["stopped"].as_array().unwrap().len(), 0);
    assert!(!home.asked().contains("transom-keeper.service"));
    assert!(!home.unit("transom.service").exists());
    assert_eq!(home.cli(&["ls", "--json"]).await.json()[0]["name"], "kept");
    home.set_active(false);
    let purged = home.cli(&["service", "uninstall", "--purge", "--json"]).await;
    assert_eq!(purged.json()["stopped"][0], "kept", "{purged:?}");
    assert_eq!(daemon.finish().await.code, 0);
    let left = purged.json()["left"].to_string();
    assert!(left.contains("state"), "{left}");
}

#[tokio::test]
async fn a_socket_that_nobody_listens_on_makes_way_and_one_that_is_in_use_does_not() {
    let home = Home::new();
    let path = home.folder.path().join("a.sock");
    let prepare = ["service", "prepare", path.to_str().unwrap()];
    assert_eq!(home.cli(&prepare).await.code, 0);
    let stream = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert_eq!(home.cli(&prepare).await.code, 1);
    drop(stream);
    assert!(path.exists());
    assert_eq!(home.cli(&prepare).await.code, 0);
    assert!(!path.exists());
    // As a keeper's is.
    let flags = SocketFlags::CLOEXEC;
    let packets = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    bind(&packets, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&packets, 1).unwrap();
    assert_eq!(home.cli(&prepare).await.code, 1);
    drop(packets);
    assert_eq!(home.cli(&prepare).await.code, 0);
    fs::write(&path, "mine").unwrap();
    assert_eq!(home.cli(&prepare).await.code, 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[tokio::test]
async fn status_says_how_each_unit_stands_and_starts_nothing() {
    let home = Home::new();
    let before = home.cli(&["service", "status"]).await;
    assert!(before.stdout.contains("not installed"), "{before:?}");
    home.cli(&["service", "install", "--no-start"]).await;
    home.set_active(true);
    let status = home.cli(&["service", "status", "--json"]).await;
    assert_eq!(status.code, 0, "{status:?}");
    assert_eq!(status.json()["installed"], true);
    assert_eq!(status.json()["units"][0]["active"], "active");
    assert!(status.json()["daemon"].is_null());
}

#[tokio::test]
async fn without_systemd_or_without_one_of_this_user_it_says_what_to_do() {
    let home = Home::new();
    home.write_systemctl("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    let unmanaged = home.cli(&["service", "install", "--json"]).await;
    assert_eq!(
        (unmanaged.code, unmanaged.json()["code"].as_str()),
        (3, Some("no_service_manager")),
        "{unmanaged:?}"
    );
    let mut command = home.command(&["service", "status", "--json"]);
    command.env("PATH", home.folder.path().join("nothing"));
    let missing = Finished::of(command.stdin(Stdio::null())).await;
    assert_eq!(
        (missing.code, missing.json()["code"].as_str()),
        (3, Some("no_systemd")),
        "{missing:?}"
    );
    let mut command = home.command(&["service", "install"]);
    command.env("TRANSOM_DIR", home.folder.path());
    let elsewhere = Finished::of(command.stdin(Stdio::null())).await;
    assert_eq!(elsewhere.code, 2, "{elsewhere:?}");
    assert!(!home.unit("transom.service").exists());
}

/// The home of a user, with a `systemctl` of the test's.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("home").permissions(Permissions::from_mode(0o700));
        let home = Self {
            folder: builder.tempdir().unwrap(),
        };
        fs::create_dir(home.folder.path().join("bin")).unwrap();
        home.write_systemctl(
            "case \" $* \" in *' is-active '*) cat \"$HOME/active\";; *' is-enabled '*) echo enabled;; esac",
        );
        home.set_active(false);
        home
    }

    fn write_systemctl(&self, answer: &str) {
        let path = self.folder.path().join("bin/systemctl");
        fs::write(
            &path,
            format!("#!/bin/sh\necho \"$*\" >> \"$HOME/asked\"\n{answer}\n"),
        )
        .unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    fn set_active(&self, is_active: bool) {
        let word = if is_active { "active" } else { "inactive" };
        fs::write(self.folder.path().join("active"), word).unwrap();
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.folder.path().join("asked")).unwrap_or_default()
    }

    fn unit(&self, name: &str) -> PathBuf {
        self.folder.path().join(".config/systemd/user").join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(binary());
        command.args(arguments).env_clear();
        command
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .env("SHELL", "/bin/sh")
            .env(
                "PATH",
                format!("{}:{path}", self.folder.path().join("bin").display()),
            );
        command
    }

    async fn cli(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).stdin(Stdio::null())).await
    }
}
