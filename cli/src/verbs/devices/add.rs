//! `transom devices add`: a token for a script.

use pairing::Role;
use protocol::access::{DeviceAdded, NewDevice};

use crate::{client::Client, duration, escape::escape, exit, failure::Failure, output};

/// Arguments of `devices add`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The token alone opens what the device may do, to whoever has it: keep it out of files that others read, and \
give it no more time than it needs. It is printed this once.

  TOKEN=$(transom devices add ci --expires 12h)
  transom devices add prometheus --metrics
  transom revoke ci")]
pub(crate) struct Args {
    /// A label for the device
    label: String,
    /// Let whoever has the token type into sessions, which is to be you
    #[arg(long)]
    dangerous_operator: bool,
    /// Let it read /metrics, and nothing else
    #[arg(long, conflicts_with = "dangerous_operator")]
    metrics: bool,
    /// How long it stays trusted, such as 12h; 90d is the longest, and what it is without this
    #[arg(long, value_name = "SPAN", value_parser = duration::parse)]
    expires: Option<u64>,
}

/// Adds it and prints its token.
pub(super) async fn run(args: &Args, json: bool) -> Result<u8, Failure> {
    let wish = NewDevice {
        label: args.label.clone(),
        role: Some(match (args.metrics, args.dangerous_operator) {
            (true, _) => Role::Metrics,
            (false, true) => Role::Operator,
            (false, false) => Role::Viewer,
        }),
        expires_in: args.expires,
    };
    let added: DeviceAdded = Client::of_environment()?.post("/devices", &wish).await?;
    if json {
        output::json(&added)?;
        return Ok(exit::OK);
    }
    output::line(added.token.expose())?;
    output::note(&format!(
        "added \"{}\" ({}), {}, until {}; the token is shown this once",
        escape(&args.label),
        added.device_id,
        added.role,
        added.expires_at
    ));
    Ok(exit::OK)
}
