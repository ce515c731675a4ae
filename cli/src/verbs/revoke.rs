//! `transom revoke`: end a device's trust, and everything it has open.

use std::io::{BufRead, IsTerminal, Write};

use pairing::DeviceId;
use protocol::access::{DeviceRecord, DeviceSummary, Revoked};

use crate::{client::Client, escape::escape, exit, failure::Failure, names, output, target::Target};

/// Arguments of `revoke`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "When it returns, no connection of the device is left and no byte is sent to it any more."
)]
pub(crate) struct Args {
    /// Ids or labels of devices, or beginnings that only they have
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,
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
    let client = target.client()?;
    let devices = choices(&client).await?;
    let meant = args
        .devices
        .iter()
        .map(|word| names::device(&devices, word))
        .collect::<Result<Vec<_>, _>>()?;
    if !args.yes && !confirmed(&meant)? {
        return Err(Failure::failed(
            "not_confirmed",
            "nothing was revoked",
            "answer y, or say --yes",
        ));
    }
    let mut all = Vec::new();
    for device in meant {
        let revoked: Revoked = client.delete(&format!("/devices/{}", device.id)).await?;
        if args.json {
            all.push(revoked);
        } else {
            output::sentence(&described(device, &revoked))?;
        }
    }
    if args.json {
        output::json(&all)?;
    }
    Ok(exit::OK)
}

/// The devices: the owner is told all of each, a device that may revoke others their names.
async fn choices(client: &Client) -> Result<Vec<Choice>, Failure> {
    if client.remote().is_some() {
        let devices: Vec<DeviceSummary> = client.get("/devices").await?;
        return Ok(devices.into_iter().map(Choice::from).collect());
    }
    let devices: Vec<DeviceRecord> = client.get("/devices").await?;
    Ok(devices.into_iter().map(Choice::from).collect())
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
    let connections = if revoked.closed == 1 {
        "connection"
    } else {
        "connections"
    };
    let milliseconds = revoked.elapsed_us.div_ceil(1_000);
    let mut said = format!(
        "revoked \"{}\" ({}): closed {} {connections} in {milliseconds} ms",
        escape(&device.label),
        device.id,
        revoked.closed
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
