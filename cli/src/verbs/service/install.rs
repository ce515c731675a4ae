//! `transom service install`.

use std::path::{Path, PathBuf};

use protocol::access::Status;
use serde::Serialize;

use super::{
    status, systemd,
    units::{DAEMON, KEEPER_SOCKET, Units},
};
use crate::{client::Client, escape::escape, exit, failure::Failure, output};

/// Arguments of `service install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A daemon that runs already is left running, as its sessions are: this says how the service takes its place.")]
pub(super) struct Args {
    /// Write and enable the units, and start nothing
    #[arg(long)]
    no_start: bool,
}

/// What was done.
#[derive(Debug, Serialize)]
struct Installed {
    units: Vec<PathBuf>,
    program: PathBuf,
    started: bool,
    /// The process of a daemon that ran already, and still does.
    running: Option<u32>,
    lingers: bool,
}

/// Installs.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let program = daemon::executable::called()?;
    // Before anything is written: without a manager of this user it would be of no use.
    systemd::ask(["show", "--property=Version"]).await?;
    let running = foreign().await?;
    let units = Units::of_environment()?.write(&program)?;
    systemd::ask(["daemon-reload"]).await?;
    systemd::ask(["enable", "transom.service"]).await?;
    let started = !args.no_start && running.is_none();
    if started {
        systemd::ask(["start", KEEPER_SOCKET].into_iter().chain(DAEMON)).await?;
    }
    let installed = Installed {
        units,
        program,
        started,
        running,
        lingers: status::lingers(),
    };
    match json {
        true => output::json(&installed)?,
        false => describe(&installed, args)?,
    }
    Ok(exit::OK)
}

/// The process of a daemon that runs, and not as the service.
async fn foreign() -> Result<Option<u32>, Failure> {
    // The service's own socket would start it: it is asked for only where that is not there.
    if systemd::word("is-active", "transom.socket").await? == "active" {
        return Ok(None);
    }
    match Client::of_environment()?.get::<Status>("/status").await {
        Ok(status) => Ok(Some(status.pid)),
        Err(failure) if failure.is_unreachable() => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn describe(installed: &Installed, args: &Args) -> Result<(), Failure> {
    for unit in &installed.units {
        output::line(&format!("wrote {}", escape(&unit.display().to_string())))?;
    }
    match (installed.running, args.no_start) {
        (Some(pid), _) => {
            output::sentence(&format!(
                "a daemon runs already, process {pid}, and goes on. To let the service take its place now, with every session \
                 going on: `transom shutdown`, then `systemctl --user start transom.service`"
            ))?;
        }
        (None, true) => output::sentence(
            "enabled: it starts with your next login, or by `systemctl --user start transom.service`",
        )?,
        (None, false) => output::sentence("the service runs; `transom status` says where")?,
    }
    if is_volatile(&installed.program) {
        output::note(&format!(
            "the service runs {}, where it does not last: put it where it stays, such as ~/.local/bin, and install again",
            escape(&installed.program.display().to_string())
        ));
    }
    if !installed.lingers {
        output::note(
            "it ends, with its sessions, when you log out of this machine for good: `loginctl enable-linger` keeps it, and starts it \
             with the machine",
        );
    }
    Ok(())
}

/// Whether the command is gone after the next start of the machine.
fn is_volatile(program: &Path) -> bool {
    ["/tmp", "/run", "/dev/shm"]
        .iter()
        .any(|folder| program.starts_with(folder))
}
