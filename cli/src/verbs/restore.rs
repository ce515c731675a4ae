//! `transom restore`: bring deleted sessions back.

use protocol::sessions::Session;
use serde_json::json;

use super::ls;
use crate::{client::Client, escape::escape, exit, failure::Failure, names, output, target::Target};

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
    let meant = match names::sessions(&deleted, &args.names) {
        Ok(meant) => meant,
        Err(failure) => return Err(explained(&client, &args.names, failure).await),
    };
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

/// Why one of the words means no deleted session: it may mean one that is there.
async fn explained(client: &Client, words: &[String], failure: Failure) -> Failure {
    if !names::is_missing(&failure) {
        return failure;
    }
    let Ok(sessions) = client.get::<Vec<Session>>("/sessions").await else {
        return failure;
    };
    match words.iter().find_map(|word| names::session(&sessions, word).ok()) {
        Some(session) => Failure::failed(
            "not_deleted",
            format!("the session `{}` is not deleted", escape(&session.name)),
            "there is nothing to restore",
        ),
        None => failure,
    }
}
