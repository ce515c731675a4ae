//! What a session shows to scripts: its output by offset, its screen and its scrollback.

use pairing::{Permit, Principal, View};
use protocol::{
    Bytes64,
    sessions::{Line, Output, OutputQuery, Screen, ScreenQuery},
};
use terminal::Offset;

use super::{Handle, SessionError, sight::screen_of, wire_size};

impl Handle {
    /// Output by offset, up to the end that there is now. An offset beyond it gives nothing, from the end on.
    ///
    /// # Errors
    /// [`SessionError`] where the session is not there, and [`SessionError::Stored`] where the disk may have it and does not give
    /// it now.
    pub(crate) async fn output(
        &self,
        permit: &Permit<View>,
        query: OutputQuery,
    ) -> Result<Output, SessionError> {
        self.at_hand(permit)?;
        let engine = self.record.engine()?;
        // Read before the end: once it says so, the end is the last.
        let state = *engine.state().borrow();
        let since = self.since(permit).unwrap_or(Offset::START);
        let from = Offset(query.from.unwrap_or(0)).max(since);
        let limit = usize::try_from(query.limit.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT)).unwrap_or(usize::MAX);
        let output = engine.output(from, limit).await.map_err(SessionError::Stored)?;
        // Who asked for the oldest there is, got it.
        let truncated = output.truncated && query.from.is_some();
        Ok(self.piece(output, truncated, state))
    }

    /// A piece of output that was read when the program stood so: what became of it since is for the next.
    pub(super) fn piece(
        &self,
        output: terminal::Output,
        truncated: bool,
        state: terminal::SessionState,
    ) -> Output {
        let running = state.is_running();
        Output {
            data: Bytes64(output.bytes),
            offset: output.offset.0,
            next_offset: output.next_offset.0,
            end: output.end.0,
            truncated,
            running,
            exit: if running { None } else { self.record.show().exit },
        }
    }

    /// The screen, or lines of the scrollback, with all the output that there is now.
    ///
    /// # Errors
    /// [`SessionError::TooManyLines`], [`SessionError::NoMarks`] where the last command's output is asked of a session whose
    /// shell does not mark it, or [`SessionError::Stored`] where a guest's part of it cannot be read now.
    pub(crate) async fn screen(
        &self,
        permit: &Permit<View>,
        query: ScreenQuery,
    ) -> Result<Screen, SessionError> {
        self.at_hand(permit)?;
        let given = query.lines.unwrap_or(0) as usize;
        if given > MAX_LINES {
            return Err(SessionError::TooManyLines {
                given,
                most: MAX_LINES,
            });
        }
        let engine = self.record.engine()?;
        if let Some(since) = self.since(permit) {
            let _turn = match permit.principal() {
                Principal::Guest(guest) => Some(self.sessions.shared.drawings.begin(*guest).await?),
                _ => None,
            };
            // Up to the end that there is now: who floods it would be followed for ever.
            let screen = screen_of(engine, since, engine.end()).await;
            return shown(&*screen.map_err(SessionError::Stored)?, query);
        }
        engine.rebuilt().await;
        engine.drawn().await;
        engine.look(|screen| shown(screen, query))
    }
}

fn shown(screen: &dyn terminal::Screen, query: ScreenQuery) -> Result<Screen, SessionError> {
    Ok(Screen {
        lines: lines(screen, query)?.into_iter().map(wire_line).collect(),
        size: wire_size(screen.size()),
        title: screen.title().to_owned(),
        alternate: screen.is_alternate(),
        cursor: screen.cursor(),
        cursor_visible: screen.cursor_visible(),
        first_line: screen.history().start,
        top_line: screen.top_line(),
    })
}

fn lines(screen: &dyn terminal::Screen, query: ScreenQuery) -> Result<Vec<terminal::Line>, SessionError> {
    if query.last_command {
        return screen.last_command().ok_or(SessionError::NoMarks);
    }
    let top = screen.top_line();
    let rows = u64::from(screen.size().rows());
    let (above, until) = match query.before {
        Some(before) => (query.lines.map_or(rows, u64::from), before.min(top)),
        None => (query.lines.map_or(0, u64::from), top + rows),
    };
    let from = until.min(top).saturating_sub(above).max(screen.history().start);
    Ok(screen.lines(from..until))
}

fn wire_line(line: terminal::Line) -> Line {
    Line {
        number: line.number,
        ansi: line.ansi,
        text: line.text,
        wrapped: line.wrapped,
    }
}

/// Bytes of output in one answer.
const MAX_OUTPUT: u64 = 1024 * 1024;

/// Lines of scrollback in one answer; as many as a screen keeps.
const MAX_LINES: usize = 10_000;
