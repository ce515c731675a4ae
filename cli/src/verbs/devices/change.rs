//! `transom devices role` and `rename`: other rights, which hold at once, and another name.

use pairing::Role;
use protocol::access::{DeviceChanges, DeviceRecord};

use crate::{client::Client, escape::escape, exit, failure::Failure, names, output};

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

async fn change(word: &str, changes: &DeviceChanges) -> Result<DeviceRecord, Failure> {
    let client = Client::of_environment()?;
    let devices: Vec<DeviceRecord> = client.get("/devices").await?;
    let device = names::device(&devices, word)?;
    client.patch(&format!("/devices/{}", device.id), changes).await
}
