//! One `ssh`, from its start to its end.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use certs::{SpkiPin, files};
use protocol::{
    Problem,
    access::{Status, TlsEndpoint},
};
use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, Take},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::{Far, said::Said, words};
use crate::{client, failure::Failure, random};

/// A connection of `ssh` that carries tunnels. Dropping it ends it.
///
/// Its far end is `cat`, which ends with this process however that ends, as its input does; `ssh` ends with it.
#[derive(Debug)]
pub(crate) struct Connection {
    far: Far,
    process: Child,
    /// Held open: its end is the far side's.
    _input: ChildStdin,
    /// Held open, so that `ssh` does not take it for the end of who reads.
    _output: BufReader<Take<ChildStdout>>,
    said: Said,
    control: Control,
    /// Where the tunnel leads on the far side.
    address: String,
}

/// Whether `ssh` may ask the person at the terminal for a password or about a host key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// It may.
    Allowed,
    /// Something else has the terminal.
    Forbidden,
}

/// What the daemon there says of itself.
#[derive(Clone, Debug)]
pub(crate) struct FarDaemon {
    /// Its lasting id.
    pub(crate) instance: String,
    /// Where it listens, as seen from there.
    pub(crate) address: String,
    /// The key that it shows there.
    pub(crate) pin: SpkiPin,
}

impl Connection {
    /// Connects, and asks the daemon there where it listens.
    ///
    /// # Errors
    /// Why there is no connection, no daemon, or no listener of its.
    pub(crate) async fn open(far: &Far, asking: Asking) -> Result<(Self, FarDaemon), Failure> {
        let control = Control::new()?;
        let mut process = ssh(far, asking, &control)
            .spawn()
            .map_err(|error| words::not_started(&error))?;
        let (Some(input), Some(output), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            unreachable!("all three are pipes");
        };
        let said = Said::by(errors);
        let mut output = BufReader::new(output.take(MOST));
        let told = match first_words(&mut output).await {
            Some(told) => told,
            None => {
                let code = process.wait().await?.code();
                said.ended().await;
                return Err(words::not_begun(far, code, &said.lines()));
            }
        };
        let daemon = match told {
            Told::Status(status) => listener(far, *status)?,
            Told::Problem(problem) => return Err(words::told_there(far, *problem)),
        };
        let connection = Self {
            far: far.clone(),
            process,
            _input: input,
            _output: output,
            said,
            control,
            address: daemon.address.clone(),
        };
        Ok((connection, daemon))
    }

    /// Makes a tunnel from a port of this machine's loopback to the daemon.
    ///
    /// # Errors
    /// The port is in use, or `ssh` makes none.
    pub(crate) async fn forward(&self, port: u16) -> Result<(), Failure> {
        let made = Command::new("ssh")
            // It speaks to the first one only: nothing of the user's configuration is about that.
            .args(["-F", "none", "-S"])
            .arg(self.control.path())
            .args(["-O", "forward", "-L"])
            .arg(format!("127.0.0.1:{port}:{}", self.address))
            .arg("transom")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| words::not_started(&error))?;
        if made.status.success() {
            return Ok(());
        }
        // The system's words come from the one that listens.
        self.said.line_with(&["in use", "cannot listen"]).await;
        let mut said = self.said.lines();
        let own = String::from_utf8_lossy(&made.stderr);
        said.extend(own.lines().map(str::to_owned));
        Err(words::not_forwarded(&self.far, port, &said))
    }

    /// What `ssh` has said, such as that it knows a new host from now on.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lines()
    }

    /// Whether it has not ended.
    pub(crate) fn is_open(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Waits for its end, and says what ended it.
    pub(crate) async fn ended(&mut self) -> Failure {
        self.process.wait().await.ok();
        self.said.ended().await;
        words::ended(&self.far, &self.said.lines())
    }

    /// A failure of what went through the tunnel, in `ssh`'s words where it knows better.
    pub(crate) async fn explained(&self, failure: Failure) -> Failure {
        if !failure.is_about_the_link() {
            return failure;
        }
        self.not_carried().await.unwrap_or(failure)
    }

    /// Why something that went through the tunnel did not arrive, where `ssh` knows.
    pub(crate) async fn not_carried(&self) -> Option<Failure> {
        let line = self.said.line_with(words::NOT_CARRIED).await?;
        Some(words::not_carried(&self.far, &self.address, &line))
    }
}

/// The socket by which a second `ssh` tells the first one of a tunnel (ssh_config(5), ControlPath), in a folder that only its
/// owner can enter.
#[derive(Debug)]
struct Control(PathBuf);

impl Control {
    fn new() -> Result<Self, Failure> {
        let folder = client::paths()?.runtime;
        if let Some(above) = folder.parent() {
            fs::create_dir_all(above)?;
        }
        files::directory(&folder).map_err(|error| {
            Failure::failed(
                "unsafe_folder",
                error.to_string(),
                "it must be yours alone, with the mode 0700",
            )
        })?;
        let path = folder.join(format!("s{:08x}", u32::from_be_bytes(random::bytes()?)));
        match path.as_os_str().len() + SUFFIX <= LONGEST_SOCKET {
            true => Ok(Self(path)),
            false => Err(Failure::configuration(
                format!("{} is too long a path for a socket of `ssh`", path.display()),
                "set TRANSOM_DIR (or XDG_RUNTIME_DIR, if TRANSOM_DIR is not set) to a shorter path",
            )),
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // One that is killed leaves it.
        fs::remove_file(&self.0).ok();
    }
}

/// What comes first from the far side.
#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    Status(Box<Status>),
    Problem(Box<Problem>),
}

fn ssh(far: &Far, asking: Asking, control: &Control) -> Command {
    let mut path = std::ffi::OsString::from("ControlPath=");
    path.push(control.path());
    let mut command = Command::new("ssh");
    command.args(["-T", "-o", "ControlMaster=yes", "-o", "ControlPersist=no", "-o"]);
    command.arg(path);
    // What the configuration has for a person's sessions there, this is none of.
    command.args(["-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes"]);
    command.args(["-o", "ForwardAgent=no", "-o", "ForwardX11=no"]);
    // A dead link is noticed in half a minute.
    command.args(["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"]);
    if asking == Asking::Forbidden {
        command.args(["-o", "BatchMode=yes"]);
    }
    let status = format!("{} status --json && cat", far.program());
    command.arg("--").arg(far.destination.to_string()).arg(status);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// The first line that is understood: a shell's own start may say something before.
async fn first_words(output: &mut BufReader<impl AsyncRead + Unpin>) -> Option<Told> {
    let mut lines = output.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Ok(told) = serde_json::from_str(&line) {
            return Some(told);
        }
    }
    None
}

/// The listener that is reached best from the machine itself.
fn listener(far: &Far, status: Status) -> Result<FarDaemon, Failure> {
    let none = || words::no_listener(far, status.locked_down);
    let reached = |endpoint: &TlsEndpoint| {
        let mut address: std::net::SocketAddr = endpoint.address.parse().ok()?;
        if address.ip().is_unspecified() {
            let is_ipv4 = address.is_ipv4();
            address.set_ip(match is_ipv4 {
                true => std::net::Ipv4Addr::LOCALHOST.into(),
                false => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        Some((address, endpoint.pin.parse().ok()?))
    };
    let all: Vec<(_, SpkiPin)> = status.tls.iter().filter_map(reached).collect();
    let local = all.iter().find(|(address, _)| address.ip().is_loopback());
    let (address, pin) = local.or(all.first()).ok_or_else(none)?;
    Ok(FarDaemon {
        instance: status.instance.clone(),
        address: address.to_string(),
        pin: *pin,
    })
}

/// What `ssh` puts behind a socket's name while it makes it: a dot and 16 characters.
const SUFFIX: usize = 17;
/// `sun_path` is 108 bytes with its closing NUL (unix(7)).
const LONGEST_SOCKET: usize = 107;
/// Bytes from the far side before its daemon's words have come.
const MOST: u64 = 256 * 1024;
