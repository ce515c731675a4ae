//! A real SSH server on the loopback, of this user, with keys and files of its own; and a client that knows it.

use std::{
    ffi::OsString,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Stdio,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, Command},
};

use crate::{Finished, binary, within};

/// A running `sshd`, on a machine where the command finds the files of a folder. Dropping it ends it.
pub struct Sshd {
    folder: TempDir,
    user: String,
    _process: Child,
    /// Read no more, and held open: it logs.
    _log: BufReader<ChildStderr>,
}

/// What a test changes about its server, and about who goes there.
#[derive(Clone, Debug, Default)]
pub struct SshdOptions {
    /// More lines of sshd_config(5).
    pub server: String,
    /// More lines of ssh_config(5), before the usual ones: the first that says something holds.
    pub client: String,
    /// The command is not installed there.
    pub is_without_transom: bool,
    /// The client knows another key of the server, or none.
    pub known: KnownHost,
}

/// What the client knows of the server's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownHost {
    /// The key.
    #[default]
    Right,
    /// Another key.
    Wrong,
    /// Nothing.
    Unknown,
}

impl Sshd {
    /// Starts a server on the machine of the daemon that has this folder.
    pub async fn start(daemon: &Path) -> Self {
        Self::start_with(daemon, SshdOptions::default()).await
    }

    /// The same, with options.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub async fn start_with(daemon: &Path, options: SshdOptions) -> Self {
        let mut builder = tempfile::Builder::new();
        let folder = builder
            .prefix("sshd")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .expect("a folder can be made");
        let user = output("id", &["-un"]).await;
        for key in ["host", "client", "other"] {
            let path = folder.path().join(key);
            let path = path.to_str().expect("the path is text");
            output(
                "ssh-keygen",
                &["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", path],
            )
            .await;
        }
        fs::copy(
            folder.path().join("client.pub"),
            folder.path().join("authorized_keys"),
        )
        .expect("the folder is writable");
        fs::create_dir(folder.path().join("there")).expect("the folder is writable");
        if !options.is_without_transom {
            symlink(binary(), folder.path().join("there/transom")).expect("the folder is writable");
        }
        let (process, log, port) = listen(folder.path(), daemon, &options).await;
        let sshd = Self {
            folder,
            user,
            _process: process,
            _log: log,
        };
        sshd.write_client(port, &options);
        sshd
    }

    /// What the client calls it.
    pub fn destination(&self) -> String {
        format!("{}@desk.test", self.user)
    }

    /// Lets a command find an `ssh` that knows the way: the real one, with a configuration of the test's in place of the user's.
    pub fn on_path(&self, command: &mut Command) {
        let mut path = OsString::from(self.folder.path().join("here"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.env("PATH", path);
    }

    fn write_client(&self, port: u16, options: &SshdOptions) {
        let folder = self.folder.path();
        let known = match options.known {
            KnownHost::Right => known_host(folder, "host", port),
            KnownHost::Wrong => known_host(folder, "other", port),
            KnownHost::Unknown => String::new(),
        };
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).expect("the folder is writable");
            path
        };
        write("known_hosts", &known);
        let shown = folder.display();
        let config = write(
            "ssh_config",
            &format!(
                "{}\nHost *\nHostName 127.0.0.1\nPort {port}\nIdentityFile {shown}/client\nIdentitiesOnly yes\nIdentityAgent none\n\
                 UserKnownHostsFile {shown}/known_hosts\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\nBatchMode yes\n",
                options.client
            ),
        );
        fs::create_dir(folder.join("here")).expect("the folder is writable");
        let real = found("ssh");
        let wrapper = write(
            "here/ssh",
            &format!(
                "#!/bin/sh\nexec {} -F {} \"$@\"\n",
                real.display(),
                config.display()
            ),
        );
        fs::set_permissions(wrapper, Permissions::from_mode(0o755)).expect("the file is its own");
    }
}

/// Starts it at a free port; another may have taken that by then.
async fn listen(folder: &Path, daemon: &Path, options: &SshdOptions) -> (Child, BufReader<ChildStderr>, u16) {
    if rustix::process::geteuid().is_root() {
        // Where root's server puts the part of itself that has no rights.
        fs::create_dir_all("/run/sshd").expect("root may make it");
    }
    for _ in 0..10 {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("there is a free port").port();
        let config = server_config(folder, daemon, port, options);
        let path = folder.join("sshd_config");
        fs::write(&path, config).expect("the folder is writable");
        let mut process = Command::new(found("sshd"))
            .args(["-D", "-e", "-f"])
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("`cargo xtask test` installs openssh-server");
        let mut log = BufReader::new(process.stderr.take().expect("stderr is piped"));
        let mut said = String::new();
        while within("the SSH server's first words", log.read_line(&mut said))
            .await
            .expect("its log can be read")
            > 0
        {
            if said.contains("Server listening on") {
                return (process, log, port);
            }
        }
        assert!(said.contains("in use"), "{said}");
    }
    panic!("ten free ports were taken at once");
}

fn server_config(folder: &Path, daemon: &Path, port: u16, options: &SshdOptions) -> String {
    let (shown, daemon) = (folder.display(), daemon.display());
    format!(
        "{}\nListenAddress 127.0.0.1\nPort {port}\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/authorized_keys\n\
         StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nSetEnv TRANSOM_DIR={daemon} PATH={shown}/there:/usr/bin:/bin\n",
        options.server
    )
}

fn known_host(folder: &Path, key: &str, port: u16) -> String {
    let public = fs::read_to_string(folder.join(key).with_extension("pub")).expect("the key was made");
    format!("[127.0.0.1]:{port} {public}")
}

/// A program that may be where only root looks.
fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    let mut places = folders.map(|folder| folder.join(program));
    places
        .find(|place| place.is_file())
        .unwrap_or_else(|| panic!("there is no {program}: `cargo xtask test` installs it"))
}

async fn output(program: &str, arguments: &[&str]) -> String {
    let done = Finished::of(Command::new(program).args(arguments).stdin(Stdio::null())).await;
    assert_eq!(done.code, 0, "{program}: {done:?}");
    done.stdout.trim().to_owned()
}
