//! The floors: the least code that passes a terminal on. They run as processes of their own, so that what they cost can be
//! read as it is of the daemon.

mod layer;
mod log;
pub(crate) mod pty;
mod serve;

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::client::{Client, Wire};

/// What a floor does with what its terminals write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FloorKind {
    /// Reads it and throws it away.
    RawPty,
    /// Passes it on over a Unix socket, as it is.
    Unix,
    /// Passes it on over TLS 1.3 and WebSocket, after a look at a token.
    Wss,
    /// Has no terminal: shakes hands over TLS 1.3 and says one byte.
    Tls,
    /// Has no terminal: one small route, bare and behind the access layer.
    Layer,
}

/// Runs a floor in this process until it is killed; `programs` is a JSON array of arrays of words.
pub(crate) fn serve(kind: FloorKind, programs: &str) -> Result<()> {
    let programs: Vec<Vec<String>> = serde_json::from_str(programs)?;
    match kind {
        FloorKind::RawPty => pty::discard(programs.first().context("there is a program")?),
        _ => serve::serve(kind, &programs),
    }
}

/// What a floor says when it is ready.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ready {
    /// The path of its Unix socket.
    socket: String,
    /// Where it listens with TLS, and its pin.
    tls: Option<(SocketAddr, String)>,
    /// Where the same is served without the access layer.
    bare: Option<SocketAddr>,
}

/// A floor in another process. Dropping it kills it, and its terminals with it.
pub(crate) struct Floor {
    child: Child,
    lines: BufReader<ChildStdout>,
    ready: Ready,
    /// Its files: it is killed, and puts nothing away.
    _folder: TempDir,
}

impl Floor {
    /// Starts it with these programs, and waits until it is ready.
    pub(crate) fn start(kind: FloorKind, programs: &[Vec<String>]) -> Result<Self> {
        let kind = kind.to_possible_value().context("each kind has a name")?;
        let folder = tempfile::Builder::new().prefix("floor").tempdir()?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["floor", kind.get_name(), &serde_json::to_string(programs)?])
            .env("TMPDIR", folder.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("stdout is piped")?);
        let ready = serde_json::from_str(&line(&mut lines)?)?;
        Ok(Self {
            child,
            lines,
            ready,
            _folder: folder,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Follows the terminal of this number.
    pub(crate) fn attach(&self, wire: Wire, number: usize) -> Result<Client> {
        match wire {
            Wire::Unix => Client::plain(&format!("{}.{number}", self.ready.socket)),
            Wire::Tls => {
                let (address, pin) = self.tls()?;
                Client::tls(address, pin, &format!("/{number}"), TOKEN)
            }
        }
    }

    /// Where it listens with TLS, and its pin.
    pub(crate) fn tls(&self) -> Result<(SocketAddr, &str)> {
        let (address, pin) = self.ready.tls.as_ref().context("this floor has a TLS listener")?;
        Ok((*address, pin))
    }

    /// The path of its Unix socket.
    pub(crate) fn socket(&self) -> &str {
        &self.ready.socket
    }

    /// Where it serves without the access layer.
    pub(crate) fn bare(&self) -> Result<SocketAddr> {
        self.ready.bare.context("this floor serves without a layer")
    }

    /// The bytes that [`FloorKind::RawPty`] threw away, once its program has ended.
    pub(crate) fn discarded(&mut self) -> Result<u64> {
        Ok(line(&mut self.lines)?.trim().parse()?)
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn line(lines: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    lines.read_line(&mut line)?;
    anyhow::ensure!(!line.is_empty(), "the floor ended before it said a word");
    Ok(line)
}

/// What the floor's token check compares with: as long as a device's.
const TOKEN: &str = "floor_0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijk";
