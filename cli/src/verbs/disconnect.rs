//! `transom disconnect`: close what a device has open.

use protocol::access::{DeviceRecord, Disconnected};

use crate::{client::Client, escape::escape, exit, failure::Failure, names, output};

/// Arguments of `disconnect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The device may connect again at once; `transom revoke` ends its trust.")]
pub(crate) struct Args {
    /// Ids or labels of devices, or beginnings that only they have
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,
    /// Print what was closed as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Closes their connections, once each word is known to mean a device.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let client = Client::of_environment()?;
    let devices: Vec<DeviceRecord> = client.get("/devices").await?;
    let mut all = Vec::new();
    for device in names::devices(&devices, &args.devices)? {
        let path = format!("/devices/{}/connections", device.id);
        let done: Disconnected = client.delete(&path).await?;
        if !args.json {
            let label = escape(&device.label);
            output::sentence(&format!(
                "closed {} of \"{label}\" ({}); it is trusted still",
                output::connections(done.closed),
                device.id
            ))?;
        }
        all.push(done);
    }
    if args.json {
        output::json(&all)?;
    }
    Ok(exit::OK)
}
