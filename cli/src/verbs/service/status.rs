//! `transom service status`.

use std::path::Path;

use protocol::access::Status;
use serde::Serialize;

use super::{
    systemd,
    units::{DAEMON, KEEPER, KEEPER_SOCKET, Units},
};
use crate::{client::Client, exit, failure::Failure, output, table::Table};

/// How the service stands.
#[derive(Debug, Serialize)]
struct View {
    /// Whether the units are there.
    installed: bool,
    units: Vec<Unit>,
    /// Whether it goes on when the user logs out, and starts with the machine.
    lingers: bool,
    /// The process of the daemon, if one runs.
    daemon: Option<u32>,
    /// Whether that is the service's.
    is_service: bool,
}

#[derive(Debug, Serialize)]
struct Unit {
    unit: &'static str,
    /// As `systemctl is-enabled` says.
    enabled: String,
    /// As `systemctl is-active` says.
    active: String,
}

/// Looks, and starts nothing.
pub(super) async fn run(json: bool) -> Result<u8, Failure> {
    let mut units = Vec::new();
    for unit in DAEMON.into_iter().chain([KEEPER_SOCKET, KEEPER]) {
        units.push(Unit {
            unit,
            enabled: systemd::word("is-enabled", unit).await?,
            active: systemd::word("is-active", unit).await?,
        });
    }
    let is = |unit: &str, state: &str| units.iter().any(|one| one.unit == unit && one.active == state);
    // A socket of the service without a daemon behind it would start one.
    let daemon = match is("transom.socket", "active") && !is("transom.service", "active") {
        true => None,
        false => match Client::of_environment()?.get::<Status>("/status").await {
            Ok(status) => Some(status),
            Err(failure) if failure.is_unreachable() => None,
            Err(failure) => return Err(failure),
        },
    };
    let view = View {
        installed: Units::of_environment()?.are_installed(),
        lingers: lingers(),
        is_service: daemon.as_ref().is_some_and(|status| status.activated),
        daemon: daemon.map(|status| status.pid),
        units,
    };
    match json {
        true => output::json(&view)?,
        false => describe(&view)?,
    }
    Ok(exit::OK)
}

/// Whether this user's services run without a login (loginctl(1), enable-linger).
pub(super) fn lingers() -> bool {
    let own = rustix::process::geteuid().as_raw();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(own)).then(|| name.to_owned())
    });
    // One that is not in that file is known by its own environment.
    let name = name.or_else(|| std::env::var("USER").ok());
    name.is_some_and(|name| Path::new("/var/lib/systemd/linger").join(name).exists())
}

fn describe(view: &View) -> Result<(), Failure> {
    if !view.installed {
        output::sentence("the service is not installed; `transom service install` installs it")?;
    } else {
        let mut table = Table::new(&["UNIT", "ENABLED", "ACTIVE"]);
        for unit in &view.units {
            table.row([unit.unit, &unit.enabled, &unit.active]);
        }
        output::line(&table.render(output::width()))?;
    }
    match (view.daemon, view.is_service) {
        (Some(pid), true) => output::sentence(&format!("the daemon runs as the service, process {pid}"))?,
        (Some(pid), false) => output::sentence(&format!(
            "a daemon runs, process {pid}, and not as the service: `transom shutdown` ends it, and its sessions go on"
        ))?,
        (None, _) => output::sentence("no daemon runs")?,
    }
    if view.installed && !view.lingers {
        output::note("it ends when you log out for good: `loginctl enable-linger` keeps it");
    }
    Ok(())
}
