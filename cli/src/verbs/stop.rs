//! `transom stop`: end sessions.

use futures_util::future::join_all;
use protocol::sessions::{Session, SessionState, Stopped};
use serde_json::json;

use super::ls::state;
use crate::{escape::escape, exit, failure::Failure, names, output, patience, target::Target};

/// Arguments of `stop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Names or ids of sessions, or beginnings that only they have
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Print the sessions, as they stand after their end, as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Stops them all at the same time, once each word is known to mean one.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    let sessions: Vec<Session> = client.get("/sessions").await?;
    let meant = match names::sessions(&sessions, &args.names) {
        Ok(meant) => meant,
        Err(failure) => return Err(names::explained(&client, &args.names, failure).await),
    };
    let stops = meant.iter().map(|session| async {
        client
            .post::<Stopped>(&format!("/sessions/{}/stop", session.id), &json!({}))
            .await
    });
    let mut stopped = Vec::new();
    for stop in patience::told(|| waits_for(&meant), join_all(stops)).await {
        stopped.push(stop?.session);
    }
    if args.json {
        output::json(&stopped)?;
    } else {
        for session in &stopped {
            let how = session
                .exit
                .as_ref()
                .map_or_else(|| state(session), exit::in_words);
            output::line(&format!("{} {how}", escape(&session.name)))?;
        }
    }
    Ok(exit::OK)
}

/// What keeps whoever ends these sessions.
pub(super) fn waits_for(sessions: &[&Session]) -> String {
    let runs = |session: &&&Session| session.state == SessionState::Running;
    let names: Vec<String> = sessions
        .iter()
        .filter(runs)
        .map(|session| escape(&session.name).into_owned())
        .collect();
    let who = match names.as_slice() {
        [] => return "this takes a while: the daemon is still at it".to_owned(),
        [name] => name.clone(),
        [name, other] => format!("{name} and {other}"),
        _ => format!("{} sessions", names.len()),
    };
    format!("waiting for {who} to end; what is left after 5 s is killed")
}
