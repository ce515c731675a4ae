//! `transom revoke`: end a device's trust, and everything it has open.

use std::io::{BufRead, IsTerminal, Write};

use daemon::offline::Offline;
use pairing::DeviceId;
use protocol::{
    access::{DeviceRecord, DeviceSummary, Revoked},
    sessions::{Session, SessionState, Stopped},
};
use serde_json::json;

use super::{offline, up::failure};
use crate::{client::Client, escape::escape, exit, failure::Failure, names, output, target::Target};

/// Arguments of `revoke`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
When it returns, no connection of the device is left and no byte is sent to it any more. Where no daemon runs, \
the store is changed all the same.")]
pub(crate) struct Args {
    /// Ids or labels of devices, or beginnings that only they have
    #[arg(value_name = "DEVICE", required_unless_present = "all")]
    devices: Vec<String>,
    /// Every device that is paired
    #[arg(long, conflicts_with = "devices")]
    all: bool,
    /// Stop the sessions that a device made or typed into, too
    #[arg(long)]
    stop_sessions: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Print what was closed as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// A device that could be meant.
struct Choice {
    id: DeviceId,
    label: String,
    /// What else the person who decides should know.
    about: String,
}

impl names::Device for Choice {
    fn id(&self) -> DeviceId {
        self.id
    }

    fn label(&self) -> &str {
        &self.label
    }
}

impl From<DeviceRecord> for Choice {
    fn from(device: DeviceRecord) -> Self {
        Self {
            about: format!(", {}, {} live", device.role, device.connections),
            id: device.id,
            label: device.label,
        }
    }
}

impl From<DeviceSummary> for Choice {
    fn from(device: DeviceSummary) -> Self {
        Self {
            about: String::new(),
            id: device.id,
            label: device.label,
        }
    }
}

/// Revokes the devices, once each word is known to mean one and the person has agreed.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    if !args.yes && !std::io::stdin().is_terminal() {
        let hint = "say --yes to revoke without being asked";
        return Err(Failure::usage("nobody is here to confirm the revocation", hint));
    }
    let mut place = Place::find(args, target).await?;
    let devices = place.devices().await?;
    let meant: Vec<&Choice> = match args.all {
        true => devices.iter().collect(),
        false => names::devices(&devices, &args.devices)?,
    };
    if !args.yes && !meant.is_empty() {
        // A person takes their time: a daemon may begin meanwhile, or end.
        drop(place);
        if !confirmed(&meant)? {
            return Err(Failure::failed(
                "not_confirmed",
                "nothing was revoked",
                "answer y, or say --yes",
            ));
        }
        place = Place::find(args, target).await?;
    }
    let mut all = Vec::new();
    for device in meant {
        let revoked = match place.revoke(device.id).await {
            // It ended since it was found.
            Err(failure) if failure.is_unreachable() => {
                drop(place);
                place = Place::find(args, target).await?;
                place.revoke(device.id).await
            }
            done => done,
        }?;
        if !args.json {
            output::sentence(&described(device, &revoked))?;
        }
        if args.stop_sessions {
            place.stop(&revoked, args.json).await?;
        }
        all.push(revoked);
    }
    if args.json {
        output::json(&all)?;
    } else if all.is_empty() {
        output::note("no devices are paired");
    }
    Ok(exit::OK)
}

/// Where the devices are.
enum Place {
    Daemon(Client),
    Store(Box<Offline>),
}

impl Place {
    /// A daemon, or where none runs on this machine the store that it would serve.
    async fn find(args: &Args, target: &Target) -> Result<Self, Failure> {
        let client = target.client()?;
        if client.remote().is_some() {
            return Ok(Self::Daemon(client));
        }
        match offline::instead_of(&client).await? {
            None => Ok(Self::Daemon(client)),
            Some(_) if args.stop_sessions => Err(Failure::failed(
                "no_daemon",
                "no daemon runs, so sessions cannot be stopped",
                "revoke without --stop-sessions now; `transom up` and `transom stop` end sessions afterwards",
            )),
            Some(store) => Ok(Self::Store(Box::new(store))),
        }
    }

    /// The devices: the owner is told all of each, a device that may revoke others their names.
    async fn devices(&self) -> Result<Vec<Choice>, Failure> {
        let devices: Vec<DeviceRecord> = match self {
            Self::Daemon(client) if client.remote().is_some() => {
                let devices: Vec<DeviceSummary> = client.get("/devices").await?;
                return Ok(devices.into_iter().map(Choice::from).collect());
            }
            Self::Daemon(client) => client.get("/devices").await?,
            Self::Store(store) => store.devices(),
        };
        Ok(devices.into_iter().map(Choice::from).collect())
    }

    async fn revoke(&mut self, id: DeviceId) -> Result<Revoked, Failure> {
        match self {
            Self::Daemon(client) => client.delete(&format!("/devices/{id}")).await,
            Self::Store(store) => {
                let revoked = store.revoke(id).await.map_err(|error| failure(&error))?;
                let gone = || {
                    Failure::failed(
                        "not_found",
                        "there is no such device",
                        "`transom devices` shows which are",
                    )
                };
                revoked.ok_or_else(gone)
            }
        }
    }

    /// Stops what the device made or typed into, as far as it runs.
    async fn stop(&self, revoked: &Revoked, is_json: bool) -> Result<(), Failure> {
        let Self::Daemon(client) = self else {
            return Ok(());
        };
        let sessions: Vec<Session> = client.get("/sessions").await?;
        let running = sessions.iter().filter(|session| {
            session.state == SessionState::Running && revoked.sessions.contains(&session.id)
        });
        for session in running {
            client
                .post::<Stopped>(&format!("/sessions/{}/stop", session.id), &json!({}))
                .await?;
            if !is_json {
                output::line(&format!("stopped {}", escape(&session.name)))?;
            }
        }
        Ok(())
    }
}

fn confirmed(devices: &[&Choice]) -> Result<bool, Failure> {
    let mut stderr = anstream::stderr();
    for device in devices {
        writeln!(
            stderr,
            "{} ({}){}",
            escape(&device.label),
            device.id,
            device.about
        )?;
    }
    write!(
        stderr,
        "Revoke {}? [y/N] ",
        if devices.len() == 1 {
            "this device"
        } else {
            "these devices"
        }
    )?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// Whether an answer is a clear yes; anything else is a no.
pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn described(device: &Choice, revoked: &Revoked) -> String {
    let milliseconds = revoked.elapsed_us.div_ceil(1_000);
    let mut said = format!(
        "revoked \"{}\" ({}): closed {} in {milliseconds} ms",
        escape(&device.label),
        device.id,
        output::connections(revoked.closed)
    );
    if !revoked.sessions.is_empty() {
        let sessions: Vec<_> = revoked.sessions.iter().map(|session| escape(session)).collect();
        said.push_str(&format!("; it had made or typed into {}", sessions.join(", ")));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(["y\n", "Y\n", "yes\n", " YES "].into_iter().all(is_yes));
        assert!(!["", "\n", "n\n", "yep\n", "yes please\n"].into_iter().any(is_yes));
    }
}
