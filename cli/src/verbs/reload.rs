//! `transom reload`: take up what changed of the configuration and the certificate.

use protocol::access::Reloaded;
use serde_json::json;

use crate::{client::Client, escape::escape, exit, failure::Failure, output};

/// Arguments of `reload`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The daemon reloads by itself too when its files change, and on SIGHUP. A configuration that cannot be used changes \
nothing. Exit code 1: it was taken up, but the daemon is not all that it says.")]
pub(crate) struct Args {
    /// Print what changed as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Asks for it, and tells what came of it.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let reloaded: Reloaded = Client::of_environment()?.post("/reload", &json!({})).await?;
    match args.json {
        true => output::json(&reloaded)?,
        false => output::sentence(&in_words(&reloaded.changed))?,
    }
    for fault in &reloaded.degraded {
        output::error(&escape(&fault.detail));
    }
    Ok(match reloaded.degraded.is_empty() {
        true => exit::OK,
        false => exit::FAILED,
    })
}

fn in_words(changed: &[String]) -> String {
    match changed {
        [] => "reloaded: the configuration is as it was".to_owned(),
        [key] => format!("reloaded: {key} is another now"),
        keys => format!("reloaded: {} are others now", keys.join(", ")),
    }
}
