//! A daemon that does not answer, held by a descriptor of its process, so that no other is ended in its place.

use std::{
    env,
    ffi::OsString,
    fs,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::Path,
    time::Duration,
};

use ::client::Place;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use tokio::{
    net::UnixStream,
    time::{Instant, sleep, timeout},
};

use crate::failure::Failure;

/// The process that listens on a socket.
#[derive(Debug)]
pub(super) struct Hung {
    process: OwnedFd,
    pid: i32,
}

impl Hung {
    /// Who listens on the socket, by what the kernel says of it (`SO_PEERCRED`, unix(7)).
    ///
    /// # Errors
    /// Where nobody does, or it cannot be seen from here.
    pub(super) async fn behind(socket: &Path) -> Result<Self, Failure> {
        let connected = timeout(PATIENCE, UnixStream::connect(socket)).await;
        let place = Place::from(socket);
        let stream = connected
            .map_err(|_| Failure::no_answer(&place))?
            .map_err(|error| Failure::connecting(&place, &error))?;
        let peer = stream.peer_cred()?;
        let pid = peer.pid().filter(|pid| *pid > 0).ok_or_else(unseen)?;
        let process = pidfd_open(Pid::from_raw(pid).ok_or_else(unseen)?, PidfdFlags::empty());
        let process = process.map_err(|errno| Failure::connecting(&place, &std::io::Error::from(errno)))?;
        // As long as it listens the connection is not reset: so the number was its own when the descriptor was taken.
        let mut connection = [PollFd::new(&stream, PollFlags::empty())];
        poll(&mut connection, Some(&Timespec::default())).map_err(std::io::Error::from)?;
        if !connection[0].revents().is_empty() {
            return Err(Failure::unreachable(&place));
        }
        Ok(Self { process, pid })
    }

    /// What it was started with, behind its own name.
    ///
    /// # Errors
    /// Where it is no daemon.
    pub(super) fn arguments(&self) -> Result<Vec<OsString>, Failure> {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid))?;
        let words = line
            .strip_suffix(&[0])
            .unwrap_or(&line)
            .split(|byte| *byte == 0)
            .skip(1);
        let arguments: Vec<OsString> = words.map(|word| OsString::from_vec(word.to_vec())).collect();
        if arguments.first().is_none_or(|verb| verb != "up") {
            let detail = format!("process {}, which has the socket, is no `transom up`", self.pid);
            return Err(Failure::failed(
                "no_daemon",
                detail,
                "see what it is, and end it yourself",
            ));
        }
        Ok(arguments)
    }

    /// Kills it, and waits for its end.
    ///
    /// # Errors
    /// Where it may not be killed, or does not end.
    pub(super) async fn kill(self) -> Result<(), Failure> {
        pidfd_send_signal(&self.process, Signal::KILL).map_err(std::io::Error::from)?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            // Readable once its process has ended (pidfd_open(2)).
            let mut process = [PollFd::new(&self.process, PollFlags::IN)];
            if poll(&mut process, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
                return Ok(());
            }
            sleep(LOOK).await;
        }
        Err(Failure::timed_out(format!(
            "process {} was killed and has not ended",
            self.pid
        )))
    }
}

/// Refuses where the daemon that would be started is inside of a session of the one that is killed.
///
/// # Errors
/// Inside of a session.
pub(super) fn refuse_inside_a_session() -> Result<(), Failure> {
    if env::var_os("TRANSOM_SESSION").is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        "a daemon cannot be started from inside of a session",
        "run this in a terminal outside of it, or without `--force`",
    ))
}

fn unseen() -> Failure {
    Failure::failed(
        "unseen_process",
        "the daemon's process cannot be seen from here: it is in another container",
        "restart it there",
    )
}

const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);
