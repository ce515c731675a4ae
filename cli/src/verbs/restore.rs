//! `transom restore`: bring deleted sessions back.

use protocol::sessions::Session;
use serde_json::json;

use super::ls;
use crate::{escape::escape, exit, failure::Failure, names, output, target::Target};

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Output, screen and record come back, the program does not. `transom ls --deleted` shows what can be restored.")]
pub(crate) struct Args {
    /// Names or ids of deleted sessions, or beginnings that only they have
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Print the sessions as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Restores them, once each word is known to mean one.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let deleted = ls::deleted(&client).await?;
    let meant = names::sessions(&deleted, &args.names)?;
    let mut restored = Vec::with_capacity(meant.len());
    for session in meant {
        let path = format!("/sessions/{}/restore", session.id);
        restored.push(client.post::<Session>(&path, &json!({})).await?);
    }
    if args.json {
        output::json(&restored)?;
    } else {
        for session in &restored {
            output::line(&format!("{} is back", escape(&session.name)))?;
        }
    }
    Ok(exit::OK)
}
