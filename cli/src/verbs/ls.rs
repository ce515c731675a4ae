//! `transom ls`: the sessions.

use jiff::Timestamp;
use protocol::sessions::{Session, SessionState};

use crate::{client::Client, duration, exit, failure::Failure, output, table::Table};

/// Arguments of `ls`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the sessions as a JSON array
    #[arg(long)]
    pub(super) json: bool,
}

/// Lists them, those that run first.
pub(crate) async fn run(args: &Args) -> Result<u8, Failure> {
    let mut sessions: Vec<Session> = Client::of_environment()?.get("/sessions").await?;
    if args.json {
        output::json(&sessions)?;
    } else if sessions.is_empty() {
        output::note("no sessions; `transom run CMD` starts one");
    } else {
        sessions.sort_by_key(|session| (session.state != SessionState::Running, session.created_at));
        output::line(&table(&sessions, Timestamp::now()).render(output::width()))?;
    }
    Ok(exit::OK)
}

fn table(sessions: &[Session], now: Timestamp) -> Table {
    let mut table = Table::new(&["NAME", "STATE", "SINCE", "SIZE", "VIEW", "WRITE", "LAST LINE"]);
    for session in sessions {
        table.row([
            &session.name,
            &state(session),
            &duration::since(session.ended_at.unwrap_or(session.created_at), now),
            &format!("{}×{}", session.size.columns, session.size.rows),
            &session.viewers.to_string(),
            &session.writers.to_string(),
            session.last_line.trim(),
        ]);
    }
    table
}

/// The state in a word or two: how it ended is what one wants to know of an ended session.
pub(super) fn state(session: &Session) -> String {
    match (session.state, &session.exit) {
        (SessionState::Running, _) => "running".to_owned(),
        (SessionState::Exited, Some(exit)) => match (exit.code, exit.signal) {
            (Some(code), _) => format!("exited {code}"),
            (None, Some(signal)) => exit::of_signal(signal),
            (None, None) => "exited ?".to_owned(),
        },
        (SessionState::Exited, None) => "exited ?".to_owned(),
        (SessionState::Lost, _) => "lost".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use protocol::sessions::Session;
    use serde_json::json;

    use super::table;

    fn session(exit: &serde_json::Value) -> Session {
        serde_json::from_value(json!({
            "id": "ses_1", "name": "build", "command": "make", "args": [], "cwd": "/",
            "state": if exit.is_null() { "running" } else { "exited" }, "exit": exit,
            "created_at": "2026-01-01T00:00:00Z", "ended_at": null, "last_output_at": null,
            "size": {"columns": 80, "rows": 24}, "end": 0, "title": null,
            "last_line": "\u{1b}[31mred", "viewers": 2, "writers": 1, "labels": {},
            "attention": {"state": "unknown", "since": "2026-11-29T09:00:00Z", "message": null}, "note": null,
            "parent": null, "trusted": false, "purge_at": null,
        }))
        .unwrap()
    }

    #[test]
    fn a_row_says_how_a_session_stands_or_ended() {
        let ended = json!({"code": 7, "signal": null, "duration_ms": 1, "peak_memory_bytes": 1});
        let now: Timestamp = "2026-01-01T00:03:00Z".parse().unwrap();
        let table = table(&[session(&json!(null)), session(&ended)], now).render(None);
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "build  running   3m     80×24  2     1      \\u{1b}[31mred",
                "build  exited 7  3m     80×24  2     1      \\u{1b}[31mred",
            ]
        );
    }
}
