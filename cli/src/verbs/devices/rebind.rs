//! `transom devices rebind`: another node of the tailnet, or none.

use jiff::Timestamp;
use protocol::access::{DeviceRecord, Rebind};

use super::change::find;
use crate::{client::Client, duration, escape::escape, exit, failure::Failure, output};

/// Arguments of `devices rebind`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A device that was paired over a tailnet is bound to its user and node there, and refused from any other. Where \
it has moved, as after a new installation of the tailnet's app, this lets it bind itself once to the node from \
which it comes next; it must prove its key there. If it does not come within ten minutes nothing has changed.

With --unbind it is bound to no node any more, and may come from anywhere that reaches the daemon.")]
pub(crate) struct Args {
    /// Id or label of a device, or a beginning that only it has
    device: String,
    /// Bind it to no node, at once
    #[arg(long)]
    unbind: bool,
}

/// Lets it move, or frees it.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let device = find(&client, &args.device).await?;
    let wish = Rebind { unbind: args.unbind };
    let device: DeviceRecord = client
        .post(&format!("/devices/{}/rebind", device.id), &wish)
        .await?;
    if json {
        output::json(&device)?;
    } else {
        output::sentence(&in_words(&device, Timestamp::now()))?;
    }
    Ok(exit::OK)
}

fn in_words(device: &DeviceRecord, now: Timestamp) -> String {
    let name = format!("\"{}\" ({})", escape(&device.label), device.id);
    match (device.rebinds_until, device.tailnet_node.as_deref()) {
        (Some(until), bound) => format!(
            "open {name} on its new node within {}: it is bound to where it comes from then, and until then to {}",
            duration::until(until, now),
            escape(bound.unwrap_or("none"))
        ),
        (None, None) => format!("{name} is bound to no node from now on"),
        (None, Some(bound)) => format!("{name} is bound to {}", escape(bound)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::access::DeviceRecord;
    use serde_json::json;

    use super::in_words;

    #[test]
    fn it_says_where_the_device_may_come_from_and_for_how_long_it_may_move() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let words = |node: Option<&str>, until: Option<&str>| {
            let device: DeviceRecord = serde_json::from_value(json!({
                "id": "dev_0000000000000001", "label": "phone", "role": "viewer", "can_revoke": false,
                "any_path": false, "key_bound": true, "created_at": now, "approved_from": "100.64.0.2",
                "tailnet_node": node, "rebinds_until": until, "expires_at": null, "last_seen_at": null,
                "last_address": null, "connections": 0,
            }))
            .unwrap();
            in_words(&device, now)
        };
        assert_eq!(
            words(Some("n1"), Some("2026-01-01T00:10:00Z")),
            "open \"phone\" (dev_0000000000000001) on its new node within 10m: it is bound to where it comes from then, \
             and until then to n1"
        );
        assert_eq!(
            words(None, None),
            "\"phone\" (dev_0000000000000001) is bound to no node from now on"
        );
    }
}
