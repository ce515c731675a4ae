//! `transom ls`: the sessions.

mod events;
mod keys;
mod rows;
mod view;
mod watch;

#[cfg(test)]
pub(super) use self::rows::tests;

use std::io::IsTerminal;

use jiff::Timestamp;
use protocol::sessions::Session;

pub(super) use self::rows::state;
use crate::{client::Client, exit, failure::Failure, output, target::Target};

/// Arguments of `ls`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Those that wait for a person come first, then those that run, then those that ended. What a session wants is \
told by its program, or by its output's timing.

--watch shows them until q or Ctrl-C, and goes on by itself when the daemon comes back. With --json it prints \
lines as in the event stream of the API: {\"kind\": \"session\", \"session\": …} for each session at first and \
whenever it changes, {\"kind\": \"session_removed\", \"id\": …} when it is gone; and it ends where the daemon \
stays away for a minute.")]
pub(crate) struct Args {
    /// Show them until told to stop, as they change
    #[arg(long, short, conflicts_with = "deleted")]
    watch: bool,
    /// List those that were deleted and can still be restored
    #[arg(long)]
    deleted: bool,
    /// Print the sessions as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Lists them, those that want something first.
pub(crate) async fn run(args: &Args, target: &Target) -> Result<u8, Failure> {
    let client = target.client()?;
    if args.watch {
        return match (args.json, std::io::stdout().is_terminal()) {
            (true, _) => events::print(client).await,
            (false, true) => watch::show(client).await,
            (false, false) => Err(Failure::usage(
                "--watch draws on a terminal, and standard output is none",
                "with --json it prints each change as a line",
            )),
        };
    }
    if args.deleted {
        let deleted = deleted(&client).await?;
        return print(args.json, deleted, "no deleted sessions", rows::deleted);
    }
    let sessions: Vec<Session> = client.get("/sessions").await?;
    let none = format!("no sessions; `transom run{} CMD` starts one", client.flag());
    print(args.json, sessions, &none, rows::table)
}

fn print(
    json: bool,
    mut sessions: Vec<Session>,
    none: &str,
    table: impl Fn(&[Session], Timestamp) -> crate::table::Table,
) -> Result<u8, Failure> {
    if json {
        output::json(&sessions)?;
    } else if sessions.is_empty() {
        output::note(none);
    } else {
        rows::sort(&mut sessions);
        output::line(&table(&sessions, Timestamp::now()).render(output::width()))?;
    }
    Ok(exit::OK)
}

/// The sessions that can be restored.
pub(super) async fn deleted(client: &Client) -> Result<Vec<Session>, Failure> {
    let mut sessions: Vec<Session> = client.get("/sessions?deleted=true").await?;
    sessions.retain(|session| session.purge_at.is_some());
    Ok(sessions)
}
