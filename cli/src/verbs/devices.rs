//! `transom devices`: who is paired.

mod add;
mod change;
mod rebind;

use jiff::Timestamp;
use protocol::access::{DeviceRecord, DeviceSummary};

use crate::{client::Client, duration, exit, failure::Failure, output, table::Table, target::Target};

/// Arguments of `devices`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<DevicesVerb>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum DevicesVerb {
    /// List the paired devices, as `devices` alone does
    List,
    /// Add a device without a key, for a script: whoever has its token is the device
    Add(add::Args),
    /// Give a device another role, or the grant to revoke; it holds at once
    Role(change::RoleArgs),
    /// Give a device another name
    Rename(change::RenameArgs),
    /// Let a device stay trusted for longer, or for a shorter time
    Renew(change::RenewArgs),
    /// Let a device that has moved come from another node of the tailnet
    Rebind(rebind::Args),
}

/// Lists them, adds one, or changes one.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    match &args.verb {
        None | Some(DevicesVerb::List) => list(args.json, target).await,
        Some(DevicesVerb::Add(wish)) => {
            target.refuse_but_for_owner("devices add")?;
            add::run(wish, args.json).await
        }
        Some(DevicesVerb::Role(wish)) => {
            target.refuse_but_for_owner("devices role")?;
            change::role(wish, args.json).await
        }
        Some(DevicesVerb::Rename(wish)) => {
            target.refuse_but_for_owner("devices rename")?;
            change::rename(wish, args.json).await
        }
        Some(DevicesVerb::Renew(wish)) => {
            target.refuse_but_for_owner("devices renew")?;
            change::renew(wish, args.json).await
        }
        Some(DevicesVerb::Rebind(wish)) => {
            target.refuse_but_for_owner("devices rebind")?;
            rebind::run(wish, args.json).await
        }
    }
}

async fn list(json: bool, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    if client.remote().is_some() {
        return summarise(&client, json).await;
    }
    let devices: Vec<DeviceRecord> = client.get("/devices").await?;
    if json {
        output::json(&devices)?;
    } else if devices.is_empty() {
        output::note("no devices are paired; `transom pair` pairs one");
    } else {
        output::line(&table(&devices, Timestamp::now()).render(output::width()))?;
    }
    Ok(exit::OK)
}

/// Lists what a device that may revoke others is told of them.
async fn summarise(client: &Client, json: bool) -> Result<u8, Failure> {
    let devices: Vec<DeviceSummary> = client.get("/devices").await?;
    if json {
        output::json(&devices)?;
        return Ok(exit::OK);
    }
    let (mut table, now) = (Table::new(&["LABEL", "ID", "SEEN"]), Timestamp::now());
    for device in &devices {
        table.row([
            &device.label,
            &device.id.to_string(),
            &seen(device.last_seen_at, now),
        ]);
    }
    output::line(&table.render(output::width()))?;
    Ok(exit::OK)
}

fn seen(last: Option<Timestamp>, now: Timestamp) -> String {
    last.map_or_else(|| "never".to_owned(), |seen| duration::since(seen, now))
}

fn table(devices: &[DeviceRecord], now: Timestamp) -> Table {
    let headings = ["LABEL", "ID", "ROLE", "LIVE", "SEEN", "EXPIRES", "FROM", "NODE"];
    let mut table = Table::new(&headings).folding(2);
    for device in devices {
        let role = match (device.can_revoke, device.key_bound) {
            (true, _) => format!("{}, revokes", device.role),
            (false, true) => device.role.to_string(),
            (false, false) => format!("{}, no key", device.role),
        };
        table.row([
            &device.label,
            &device.id.to_string(),
            &role,
            &device.connections.to_string(),
            &seen(device.last_seen_at, now),
            &device.expires_at.map_or_else(
                || "never".to_owned(),
                |end| format!("in {}", duration::until(end, now)),
            ),
            device.last_address.as_deref().unwrap_or("-"),
            &node(device),
        ]);
    }
    table
}

fn node(device: &DeviceRecord) -> String {
    let bound = device.tailnet_node.as_deref().unwrap_or("none");
    match device.rebinds_until {
        Some(_) => format!("{bound}, may rebind"),
        None => bound.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use protocol::access::DeviceRecord;
    use serde_json::json;

    use super::table;

    #[test]
    fn a_row_says_what_is_not_known_as_such() {
        let device: DeviceRecord = serde_json::from_value(json!({
            "id": "dev_0000000000000001", "label": "my\u{202e}phone", "role": "viewer", "can_revoke": false,
            "any_path": false, "key_bound": false, "created_at": "2026-01-01T00:00:00Z", "approved_from": "127.0.0.1",
            "tailnet_node": null, "expires_at": "2026-01-03T00:00:00Z", "last_seen_at": null, "last_address": null,
            "connections": 0,
        }))
        .unwrap();
        let table = table(&[device], "2026-01-01T00:00:00Z".parse().unwrap()).render(None);
        let row = table
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            row,
            "my\\u{202e}phone dev_0000000000000001 viewer, no key 0 never in 2d - none"
        );
    }
}
