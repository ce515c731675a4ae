//! `transom shutdown`: end the daemon, and wait until it has.

use std::{path::Path, time::Duration};

use protocol::access::{Shutdown, ShuttingDown, Status};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::OwnedFd,
    process::{Pid, PidfdFlags, pidfd_open},
};
use tokio::{
    net::UnixStream,
    time::{sleep, timeout},
};

use crate::{client, client::Client, escape::escape, exit, failure::Failure, output};

/// Arguments of `shutdown`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop the running sessions too; without it, they go on, and the next daemon takes them over
    #[arg(long)]
    sessions: bool,
    /// Print what was stopped as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks it to end, and returns when its process has.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let socket = client::socket()?;
    let client = Client::at(&socket)?;
    let status: Status = client.get("/status").await?;
    let process = watch(status.pid);
    let ending: ShuttingDown = client
        .post(
            "/shutdown",
            &Shutdown {
                sessions: args.sessions,
            },
        )
        .await?;
    // Whoever else listens there would start it again by being asked.
    let socket = (!status.activated).then_some(socket.as_path());
    timeout(PATIENCE, ended(socket, process)).await.map_err(|_| {
        Failure::timed_out(format!(
            "the daemon, process {}, agreed to end and has not yet",
            ending.pid
        ))
    })?;
    if args.json {
        output::json(&ending)?;
    } else {
        let stopped: Vec<_> = ending.stopped.iter().map(|session| escape(session)).collect();
        let stopped = if stopped.is_empty() {
            String::new()
        } else {
            format!("; stopped {}", stopped.join(", "))
        };
        output::sentence(&format!("the daemon has ended{stopped}"))?;
        if status.activated {
            output::note(
                "its service starts it again when it is asked for; `systemctl --user stop transom.socket` keeps it from that",
            );
        }
    }
    Ok(exit::OK)
}

/// A hold on the process, taken while the daemon answers, so that its number cannot have passed to another.
fn watch(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Waits for the process's end where it can be seen (the socket may be of another process namespace), and until
/// nobody listens any more.
async fn ended(socket: Option<&Path>, process: Option<OwnedFd>) {
    while process.as_ref().is_some_and(runs) || listens(socket).await {
        sleep(LOOK).await;
    }
}

async fn listens(socket: Option<&Path>) -> bool {
    match socket {
        Some(socket) => UnixStream::connect(socket).await.is_ok(),
        None => false,
    }
}

/// A pidfd is readable once its process has ended (pidfd_open(2)).
fn runs(process: &OwnedFd) -> bool {
    poll(
        &mut [PollFd::new(process, PollFlags::IN)],
        Some(&Timespec::default()),
    )
    .is_ok_and(|ready| ready == 0)
}

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Draining takes a while; a second signal would end it at once.
const PATIENCE: Duration = Duration::from_secs(30);
