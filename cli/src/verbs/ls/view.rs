//! What `ls --watch` shows: sessions, and which part of them.

use std::collections::HashMap;

use ::client::events::Update;
use anstyle::Style;
use jiff::Timestamp;
use protocol::{
    events::Event,
    sessions::{Session, SessionState},
};

use super::{keys::Key, rows};
use crate::{
    duration,
    frame::{Frame, Span},
    output::STRONG,
    table::cut,
};

/// All that the screen depends on but its size and the time.
#[derive(Debug, Default)]
pub(super) struct View {
    sessions: HashMap<String, Session>,
    /// Whether they have been told yet.
    is_known: bool,
    /// Since when the daemon is away.
    away_since: Option<Timestamp>,
    /// The first row shown.
    top: usize,
    /// Rows of sessions that the screen had when it was last drawn.
    page: usize,
}

impl View {
    /// Takes what became known.
    pub(super) fn take(&mut self, update: Update, now: Timestamp) {
        match update {
            Update::Connected => self.away_since = None,
            Update::Away => _ = self.away_since.get_or_insert(now),
            Update::State(sessions) => {
                self.is_known = true;
                let by_id = |session: Session| (session.id.clone(), session);
                self.sessions = sessions.into_iter().map(by_id).collect();
            }
            Update::Event(Event::Session { session }) => {
                self.sessions.insert(session.id.clone(), session);
            }
            Update::Event(Event::SessionRemoved { id }) => _ = self.sessions.remove(&id),
            Update::Event(Event::Gap | Event::DevicePaired { .. }) => {}
        }
    }

    /// Moves the part that is shown.
    pub(super) fn scroll(&mut self, key: Key) {
        let lines = match key {
            Key::Scroll(lines) => lines,
            Key::Page(pages) => pages * isize::try_from(self.page).unwrap_or(isize::MAX).max(1),
            Key::Quit | Key::Suspend => 0,
        };
        self.top = self.top.saturating_add_signed(lines).min(self.last_top());
    }

    fn last_top(&self) -> usize {
        self.sessions.len().saturating_sub(self.page)
    }

    /// The screen now.
    pub(super) fn frame(&mut self, (columns, rows): (usize, usize), now: Timestamp) -> Frame {
        let mut sessions: Vec<Session> = self.sessions.values().cloned().collect();
        rows::sort(&mut sessions);
        // A title, the headings and the foot.
        self.page = rows.saturating_sub(3);
        self.top = self.top.min(self.last_top());
        let mut lines = vec![self.title(&sessions)];
        if sessions.is_empty() && self.is_known {
            lines.push(Vec::new());
            lines.push(vec![Span::plain("no sessions; `transom run CMD` starts one")]);
        } else if self.is_known {
            let mut table = rows::table(&sessions, now).lines(Some(columns)).into_iter();
            lines.extend(table.next());
            lines.extend(table.skip(self.top).take(self.page));
        }
        lines.truncate(rows.saturating_sub(1));
        lines.resize(rows.saturating_sub(1), Vec::new());
        lines.push(self.foot(columns, now));
        Frame::new(columns, rows, &lines)
    }

    fn title(&self, sessions: &[Session]) -> Vec<Span> {
        if !self.is_known {
            return vec![Span::styled("Sessions", STRONG)];
        }
        let running = sessions
            .iter()
            .filter(|session| session.state == SessionState::Running)
            .count();
        let waiting = sessions
            .iter()
            .filter(|session| rows::is_waiting(session))
            .count();
        let ended = sessions.len() - running;
        let mut told = format!("  {running} running");
        if waiting > 0 {
            told.push_str(&format!(", {waiting} of them waiting"));
        }
        if ended > 0 {
            told.push_str(&format!(", {ended} ended"));
        }
        vec![Span::styled("Sessions", STRONG), Span::plain(told)]
    }

    fn foot(&self, columns: usize, now: Timestamp) -> Vec<Span> {
        if let Some(since) = self.away_since {
            let away = format!(
                "the daemon is away since {}: this is how it was then; q quits",
                duration::since(since, now)
            );
            return vec![Span::styled(cut(&away, columns), AWAY)];
        }
        let mut foot = "q quits".to_owned();
        if self.sessions.len() > self.page {
            let last = (self.top + self.page).min(self.sessions.len());
            let first = (self.top + 1).min(last);
            foot = format!("{first} to {last} of {}; ↑ ↓ scroll, {foot}", self.sessions.len());
        }
        vec![Span::styled(cut(&foot, columns), Style::new().dimmed())]
    }
}

const AWAY: Style = anstyle::AnsiColor::Red.on_default().bold();

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{
        super::{
            keys::Key,
            rows::tests::{ended, session},
        },
        View,
    };
    use ::client::events::Update;

    fn shown(view: &mut View, columns: u16, rows: u16) -> Vec<String> {
        let now = Timestamp::from_second(180).unwrap();
        let frame = view.frame((columns.into(), rows.into()), now);
        let mut screen = terminal::screen(terminal::Size::new(columns, rows));
        screen.feed(&frame.draw_over(None, true));
        screen.text_lines()
    }

    fn view(count: usize) -> View {
        let mut view = View::default();
        let all = (0..count)
            .map(|at| session(&format!("s{at:02}"), "idle", at.try_into().unwrap()))
            .collect();
        view.take(Update::State(all), Timestamp::UNIX_EPOCH);
        view
    }

    #[test]
    fn it_shows_who_waits_first_and_counts() {
        let mut view = View::default();
        let all = vec![
            ended("old", 0),
            session("calm", "idle", 1),
            session("asks", "waiting", 2),
        ];
        view.take(Update::State(all), Timestamp::UNIX_EPOCH);
        let lines = shown(&mut view, 60, 7);
        assert_eq!(lines[0], "Sessions  2 running, 1 of them waiting, 1 ended");
        let names: Vec<_> = lines[1..5]
            .iter()
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        assert_eq!(names, ["NAME", "asks", "calm", "old"]);
        assert_eq!(lines[6], "q quits");
    }

    #[test]
    fn more_sessions_than_rows_are_scrolled_through() {
        let mut view = view(10);
        let lines = shown(&mut view, 60, 7);
        assert!(
            lines[2].starts_with("s00") && lines[5].starts_with("s03"),
            "{lines:?}"
        );
        assert_eq!(lines[6], "1 to 4 of 10; ↑ ↓ scroll, q quits");
        view.scroll(Key::Page(1));
        view.scroll(Key::Scroll(1));
        assert!(shown(&mut view, 60, 7)[2].starts_with("s05"));
        view.scroll(Key::Scroll(isize::MAX));
        let lines = shown(&mut view, 60, 7);
        assert!(
            lines[2].starts_with("s06") && lines[5].starts_with("s09"),
            "{lines:?}"
        );
        view.scroll(Key::Scroll(isize::MIN));
        assert!(shown(&mut view, 60, 7)[2].starts_with("s00"));
    }

    #[test]
    fn a_daemon_that_is_away_is_said_and_its_return_too() {
        let mut view = view(1);
        view.take(Update::Away, Timestamp::from_second(120).unwrap());
        view.take(Update::Away, Timestamp::from_second(170).unwrap());
        let lines = shown(&mut view, 70, 5);
        assert_eq!(
            lines[4],
            "the daemon is away since 1m: this is how it was then; q quits"
        );
        assert!(lines[2].starts_with("s00"));
        view.take(Update::Connected, Timestamp::UNIX_EPOCH);
        assert_eq!(shown(&mut view, 70, 5)[4], "q quits");
    }

    #[test]
    fn the_smallest_terminal_is_drawn_without_a_fault() {
        for (columns, rows) in [(1, 1), (2, 2), (10, 3), (3, 20)] {
            for count in [0, 1, 50] {
                let lines = shown(&mut view(count), columns, rows);
                assert!(lines.len() <= usize::from(rows));
            }
        }
    }
}
