//! `transom service uninstall`.

use std::path::PathBuf;

use protocol::{
    access::{Shutdown, ShuttingDown, Status},
    sessions::{Session, SessionState},
};
use serde::Serialize;

use super::{
    systemd,
    units::{DAEMON, KEEPER, KEEPER_SOCKET, Units},
};
use crate::{client, client::Client, escape::escape, exit, failure::Failure, output};

/// Arguments of `service uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Sessions go on, kept by a process that needs no unit, and the next `transom up` takes them over. Devices, keys and \
configuration stay as they are in either case; this says where they are.")]
pub(super) struct Args {
    /// End the sessions too
    #[arg(long)]
    purge: bool,
}

/// What was done, and what is left.
#[derive(Debug, Serialize)]
struct Uninstalled {
    removed: Vec<PathBuf>,
    /// The sessions that were ended.
    stopped: Vec<String>,
    /// The sessions that go on.
    sessions: Vec<String>,
    /// The process that keeps them.
    keeper: Option<u32>,
    /// Files that stay.
    left: Vec<PathBuf>,
}

/// Uninstalls.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let units = Units::of_environment()?;
    let is_active = systemd::word("is-active", "transom.service").await? == "active";
    let (mut sessions, mut keeper, mut stopped) = (Vec::new(), None, Vec::new());
    if is_active || args.purge {
        (sessions, keeper) = kept().await?;
    }
    if args.purge && !sessions.is_empty() {
        let ending: ShuttingDown = Client::of_environment()?
            .post("/shutdown", &Shutdown { sessions: true })
            .await?;
        stopped = ending.stopped;
        sessions.retain(|session| !stopped.contains(session));
    }
    if units.are_installed() {
        // The keeper's own unit is left out: it holds the sessions.
        systemd::ask(["disable", "transom.service"]).await?;
        systemd::ask(["stop"].into_iter().chain(DAEMON).chain([KEEPER_SOCKET])).await?;
        if args.purge {
            systemd::ask(["stop", KEEPER]).await?;
            keeper = None;
        }
    }
    let removed = units.remove()?;
    systemd::ask(["daemon-reload"]).await?;
    let paths = client::paths()?;
    let left = [paths.state, paths.config];
    let done = Uninstalled {
        removed,
        stopped,
        keeper: keeper.filter(|_| !sessions.is_empty()),
        sessions,
        left: left.into_iter().filter(|path| path.exists()).collect(),
    };
    match json {
        true => output::json(&done)?,
        false => describe(&done)?,
    }
    Ok(exit::OK)
}

/// The sessions that run, and the process that keeps them; none where no daemon can be asked.
async fn kept() -> Result<(Vec<String>, Option<u32>), Failure> {
    let client = Client::of_environment()?;
    let sessions: Vec<Session> = match client.get("/sessions").await {
        Ok(sessions) => sessions,
        Err(failure) if failure.is_unreachable() => return Ok((Vec::new(), None)),
        Err(failure) => return Err(failure),
    };
    let running = sessions
        .into_iter()
        .filter(|session| session.state == SessionState::Running);
    let status: Status = client.get("/status").await?;
    Ok((
        running.map(|session| session.name).collect(),
        status.keeper.map(|keeper| keeper.pid),
    ))
}

fn describe(done: &Uninstalled) -> Result<(), Failure> {
    if done.removed.is_empty() {
        output::sentence("the service was not installed")?;
    }
    for unit in &done.removed {
        output::line(&format!("removed {}", escape(&unit.display().to_string())))?;
    }
    let names = |names: &[String]| {
        names
            .iter()
            .map(|name| escape(name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if !done.stopped.is_empty() {
        output::sentence(&format!("stopped {}", names(&done.stopped)))?;
    }
    if !done.sessions.is_empty() {
        let keeper = match done.keeper {
            Some(pid) => format!(", kept by process {pid}"),
            None => String::new(),
        };
        output::sentence(&format!(
            "sessions that go on{keeper}: {}; `transom up` takes them over, `transom shutdown --sessions` ends them then",
            names(&done.sessions)
        ))?;
    }
    for path in &done.left {
        output::line(&format!("left {}", escape(&path.display().to_string())))?;
    }
    Ok(())
}
