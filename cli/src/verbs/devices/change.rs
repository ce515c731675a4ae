//! `transom devices role`, `rename` and `renew`: another role, which holds at once, another name, and another end.

use jiff::Timestamp;
use pairing::Role;
use protocol::access::{DeviceChanges, DeviceRecord};

use crate::{client::Client, duration, escape::escape, exit, failure::Failure, names, output};

/// Arguments of `devices role`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It holds at once, also for what the device has open: who was typing only looks from then on, and is told.")]
pub(crate) struct RoleArgs {
    /// Id or label of a device, or a beginning that only it has
    device: String,
    /// What it may do from now on
    #[arg(value_name = "viewer|operator", required_unless_present_any = ["can_revoke", "no_revoke"])]
    role: Option<Role>,
    /// Let it revoke guests, and devices that may not
    #[arg(long, conflicts_with = "no_revoke")]
    can_revoke: bool,
    /// Take that back
    #[arg(long)]
    no_revoke: bool,
}

/// Arguments of `devices rename`.
#[derive(Debug, clap::Args)]
pub(crate) struct RenameArgs {
    /// Id or label of a device, or a beginning that only it has
    device: String,
    /// What it is called from now on
    label: String,
}

/// Arguments of `devices renew`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The time counts from now on, whatever was left. A device that is not seen for the time of \
pairing.idle_expiry ends all the same.")]
pub(crate) struct RenewArgs {
    /// Id or label of a device, or a beginning that only it has
    device: String,
    /// How long it stays trusted from now on, such as 12h; without it 90d, where it has an end
    #[arg(long = "for", value_name = "SPAN", value_parser = duration::parse)]
    lives: Option<u64>,
}

/// Changes what it may do.
pub(super) async fn role(args: &RoleArgs, json: bool) -> Result<u8, Failure> {
    let changes = DeviceChanges {
        role: args.role,
        can_revoke: match (args.can_revoke, args.no_revoke) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        },
        ..DeviceChanges::default()
    };
    let device = change(&args.device, &changes).await?;
    if json {
        output::json(&device)?;
    } else {
        let revokes = if device.can_revoke {
            ", and may revoke others"
        } else {
            ""
        };
        output::sentence(&format!(
            "\"{}\" ({}) is {} {} from now on{revokes}",
            escape(&device.label),
            device.id,
            if device.role == Role::Operator { "an" } else { "a" },
            device.role
        ))?;
    }
    Ok(exit::OK)
}

/// Changes what it is called.
pub(super) async fn rename(args: &RenameArgs, json: bool) -> Result<u8, Failure> {
    let changes = DeviceChanges {
        label: Some(args.label.clone()),
        ..DeviceChanges::default()
    };
    let device = change(&args.device, &changes).await?;
    if json {
        output::json(&device)?;
    } else {
        output::sentence(&format!(
            "{} is called \"{}\" from now on",
            device.id,
            escape(&device.label)
        ))?;
    }
    Ok(exit::OK)
}

/// Changes until when it is trusted.
pub(super) async fn renew(args: &RenewArgs, json: bool) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let device = find(&client, &args.device).await?;
    let lives = match (args.lives, device.expires_at) {
        (Some(lives), _) => lives,
        (None, Some(_)) => RENEWAL,
        (None, None) => return Err(endless(&device)),
    };
    let changes = DeviceChanges {
        expires_in: Some(lives),
        ..DeviceChanges::default()
    };
    let device = apply(&client, &device, &changes).await?;
    if json {
        output::json(&device)?;
    } else {
        let end = device.expires_at.map_or_else(
            || "further notice".to_owned(),
            |end| format!("{end} (in {})", duration::until(end, Timestamp::now())),
        );
        output::sentence(&format!(
            "\"{}\" ({}) is trusted until {end}",
            escape(&device.label),
            device.id
        ))?;
    }
    Ok(exit::OK)
}

/// A span that nobody asked for would take something from it.
fn endless(device: &DeviceRecord) -> Failure {
    Failure::failed(
        "no_expiry",
        format!("\"{}\" is trusted without an end", escape(&device.label)),
        "there is nothing to renew; `--for 90d` would give it an end",
    )
}

async fn change(word: &str, changes: &DeviceChanges) -> Result<DeviceRecord, Failure> {
    let client = Client::of_environment()?;
    let device = find(&client, word).await?;
    apply(&client, &device, changes).await
}

/// The device that the word means.
pub(super) async fn find(client: &Client, word: &str) -> Result<DeviceRecord, Failure> {
    let devices: Vec<DeviceRecord> = client.get("/devices").await?;
    names::device(&devices, word).cloned()
}

async fn apply(
    client: &Client,
    device: &DeviceRecord,
    changes: &DeviceChanges,
) -> Result<DeviceRecord, Failure> {
    client.patch(&format!("/devices/{}", device.id), changes).await
}

/// Seconds of a renewal where nothing is said: 90 days.
const RENEWAL: u64 = 90 * 86_400;
