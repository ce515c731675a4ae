//! Sessions as rows of a table.

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use protocol::sessions::{AttentionState, Session, SessionState};

use crate::{duration, exit, table::Table};

/// Those that wait for a person first, then those that run, then those that ended; each the older first.
pub(super) fn sort(sessions: &mut [Session]) {
    sessions.sort_by(|one, other| {
        let key = |session: &Session| {
            let is_live = session.state == SessionState::Running;
            (!is_live, !is_waiting(session), session.created_at)
        };
        key(one).cmp(&key(other)).then_with(|| one.id.cmp(&other.id))
    });
}

/// Whether it runs and wants something of a person.
pub(super) fn is_waiting(session: &Session) -> bool {
    session.state == SessionState::Running && session.attention.state == AttentionState::Waiting
}

/// The sessions' table; notes have a column where there are any.
pub(super) fn table(sessions: &[Session], now: Timestamp) -> Table {
    let has_notes = sessions.iter().any(|session| session.note.is_some());
    let mut headings = vec!["NAME", "STATE", "SINCE", "SIZE", "VIEW", "WRITE"];
    headings.extend(has_notes.then_some("NOTE"));
    headings.push("LAST LINE");
    let mut table = Table::new(&headings);
    for session in sessions {
        let (word, since, style) = standing(session);
        let size = format!("{}×{}", session.size.columns, session.size.rows);
        let (since, viewers, writers) = (
            duration::since(since, now),
            session.viewers.to_string(),
            session.writers.to_string(),
        );
        let plain = Style::new();
        let mut cells = vec![
            (session.name.as_str(), plain),
            (&word, style),
            (&since, plain),
            (&size, plain),
            (&viewers, plain),
            (&writers, plain),
        ];
        if has_notes {
            cells.push((session.note.as_ref().map_or("", |note| &note.text), NOTE));
        }
        cells.push((last_words(session), plain));
        table.styled_row(&cells);
    }
    table
}

/// The table of deleted sessions.
pub(super) fn deleted(sessions: &[Session], now: Timestamp) -> Table {
    let mut table = Table::new(&["NAME", "ID", "STATE", "ENDED", "KEPT FOR", "LAST LINE"]);
    for session in sessions {
        table.row([
            &session.name,
            &session.id,
            &state(session),
            &session
                .ended_at
                .map_or_else(|| "-".to_owned(), |ended| duration::since(ended, now)),
            &session
                .purge_at
                .map_or_else(|| "-".to_owned(), |end| duration::until(end, now)),
            session.last_line.trim(),
        ]);
    }
    table
}

/// The state in a word or two: how it ended is what one wants to know of an ended session.
pub(crate) fn state(session: &Session) -> String {
    match (session.state, &session.exit) {
        (SessionState::Running, _) if session.out_of_reach.is_some() => "out of reach".to_owned(),
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

/// Where it stands: of one that runs, what it wants, if that is known; since when; and how that is shown.
fn standing(session: &Session) -> (String, Timestamp, Style) {
    let since = session.attention.since;
    match (session.state, session.attention.state) {
        (SessionState::Running, AttentionState::Waiting) => ("waiting".to_owned(), since, WAITING),
        (SessionState::Running, AttentionState::Working) => ("working".to_owned(), since, WORKING),
        (SessionState::Running, AttentionState::Idle) => ("idle".to_owned(), since, Style::new()),
        (SessionState::Running, AttentionState::Unknown) => {
            let style = session.out_of_reach.as_ref().map_or(Style::new(), |_| FAILED);
            (state(session), session.created_at, style)
        }
        (SessionState::Exited | SessionState::Lost, _) => {
            let is_good = session.exit.as_ref().is_some_and(|exit| exit.code == Some(0));
            let style = if is_good { ENDED } else { FAILED };
            (
                state(session),
                session.ended_at.unwrap_or(session.created_at),
                style,
            )
        }
    }
}

/// Why it cannot be reached, or the program's own words where it waits, else the last line of its screen.
fn last_words(session: &Session) -> &str {
    if let Some(why) = &session.out_of_reach {
        return why;
    }
    match &session.attention.message {
        Some(message) if is_waiting(session) => message.trim(),
        _ => session.last_line.trim(),
    }
}

const WAITING: Style = AnsiColor::Yellow.on_default().bold();
const WORKING: Style = AnsiColor::Green.on_default();
const ENDED: Style = Style::new().dimmed();
const FAILED: Style = AnsiColor::Red.on_default();
const NOTE: Style = AnsiColor::Cyan.on_default();

#[cfg(test)]
pub(crate) mod tests {
    use jiff::Timestamp;
    use protocol::sessions::Session;
    use serde_json::json;

    use super::{sort, table};

    /// A session of this name that runs, wants this, and was made at this second.
    pub(crate) fn session(name: &str, attention: &str, second: i64) -> Session {
        serde_json::from_value(json!({
            "id": format!("ses_{name}"), "name": name, "command": "make", "args": [], "cwd": "/",
            "state": "running", "exit": null, "created_at": Timestamp::from_second(second).unwrap(),
            "ended_at": null, "last_output_at": null, "size": {"columns": 80, "rows": 24}, "end": 0, "title": null,
            "last_line": "\u{1b}[31mred", "viewers": 2, "writers": 1, "labels": {},
            "attention": {"state": attention, "since": Timestamp::from_second(second + 60).unwrap(), "message": null},
            "note": null, "parent": null, "trusted": false, "purge_at": null,
        }))
        .unwrap()
    }

    pub(crate) fn ended(name: &str, code: i32) -> Session {
        let mut session = session(name, "unknown", 0);
        session.state = protocol::sessions::SessionState::Exited;
        session.exit = serde_json::from_value(
            json!({"code": code, "signal": null, "duration_ms": 1, "peak_memory_bytes": 1}),
        )
        .unwrap();
        session
    }

    fn lines(sessions: &[Session]) -> Vec<String> {
        let now = Timestamp::from_second(180).unwrap();
        let table = anstream::adapter::strip_str(&table(sessions, now).render(None)).to_string();
        table.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn a_row_says_how_a_session_stands_or_ended() {
        assert_eq!(
            lines(&[session("build", "unknown", 0), ended("build", 7)]),
            [
                "build  running   3m     80×24  2     1      \\u{1b}[31mred",
                "build  exited 7  3m     80×24  2     1      \\u{1b}[31mred",
            ]
        );
    }

    #[test]
    fn what_a_session_wants_stands_in_its_row_with_its_own_words() {
        let mut agent = session("agent", "waiting", 0);
        agent.attention.message = Some("May I?".to_owned());
        assert_eq!(
            lines(&[agent]),
            ["agent  waiting  2m     80×24  2     1      May I?"]
        );
    }

    #[test]
    fn one_that_is_out_of_reach_says_why() {
        let mut session = session("build", "unknown", 0);
        session.out_of_reach = Some("no descriptor is left".to_owned());
        assert_eq!(
            lines(&[session]),
            ["build  out of reach  3m     80×24  2     1      no descriptor is left"]
        );
    }

    #[test]
    fn notes_have_a_column_where_there_are_any() {
        let mut noted = session("b", "idle", 0);
        noted.note = serde_json::from_value(json!({"text": "for \u{7}Eve", "expires_at": null})).unwrap();
        assert_eq!(
            lines(&[session("a", "idle", 0), noted]),
            [
                "a     idle   2m     80×24  2     1                    \\u{1b}[31mred",
                "b     idle   2m     80×24  2     1      for \\u{7}Eve  \\u{1b}[31mred",
            ]
        );
    }

    #[test]
    fn those_that_wait_come_first_and_those_that_ended_last() {
        let mut all = [
            ended("e", 0),
            session("b", "idle", 2),
            session("c", "working", 1),
            session("w", "waiting", 9),
        ];
        all[0].attention.state = protocol::sessions::AttentionState::Waiting;
        sort(&mut all);
        assert_eq!(all.map(|session| session.name), ["w", "c", "b", "e"]);
    }
}
