//! `transom rm`: delete sessions, softly or for good.

use futures_util::future::join_all;
use jiff::Timestamp;
use protocol::sessions::{RemoveQuery, Session};

use super::stop::waits_for;
use crate::{
    client::with_query, duration, escape::escape, exit, failure::Failure, names, output, patience,
    target::Target,
};

/// Arguments of `rm`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A running program is stopped first, with everything it started. For 24 hours `transom restore` brings the \
session's output, screen and record back, not its program; `transom ls --deleted` shows which there are.")]
pub(crate) struct Args {
    /// Names or ids of sessions, or beginnings that only they have
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// At once and for good, also what was deleted already
    #[arg(long)]
    purge: bool,
    /// Print the sessions, as they were last, as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Deletes them all at the same time, once each word is known to mean one.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let list = if args.purge {
        "/sessions?deleted=true"
    } else {
        "/sessions"
    };
    let sessions: Vec<Session> = client.get(list).await?;
    let meant = match names::sessions(&sessions, &args.names) {
        Ok(meant) => meant,
        Err(failure) => return Err(names::explained(&client, &args.names, failure).await),
    };
    let query = RemoveQuery { purge: args.purge };
    let removals = meant.iter().map(|session| {
        let path = with_query(&format!("/sessions/{}", session.id), &query);
        let client = &client;
        async move { client.delete::<Session>(&path).await }
    });
    let mut removed = Vec::with_capacity(meant.len());
    for removal in patience::told(|| waits_for(&meant), join_all(removals)).await {
        removed.push(removal?);
    }
    if args.json {
        output::json(&removed)?;
    } else {
        for session in &removed {
            output::sentence(&said(session, args.purge, &client.flag()))?;
        }
    }
    Ok(exit::OK)
}

fn said(session: &Session, purge: bool, flag: &str) -> String {
    let name = escape(&session.name);
    match session.purge_at {
        Some(end) if !purge => {
            let left = duration::hours_until(end, Timestamp::now());
            format!("{name} is deleted; for {left} `transom restore{flag} {name}` brings it back")
        }
        _ => format!("{name} is deleted for good"),
    }
}
