//! What a session shows to scripts: its output by offset, its screen and its scrollback.

use pairing::{Permit, View};
use protocol::{
    Bytes64,
    sessions::{Line, Output, OutputQuery, Screen, ScreenQuery},
};
use terminal::{Mode, Offset, Start, Update};

use super::{Handle, SessionError, record, wire_size};

impl Handle {
    /// Output by offset, up to the end that there is now. An offset beyond it gives nothing, from the end on.
    ///
    /// # Errors
    /// [`SessionError`] where the session is not there.
    pub(crate) async fn output(
        &self,
        permit: &Permit<View>,
        query: OutputQuery,
    ) -> Result<Output, SessionError> {
        self.at_hand(permit)?;
        let engine = &self.record.engine;
        // Read before the end: once it says so, the end is the last.
        let exit = engine.state().borrow().exit();
        let end = engine.end();
        let from = query.from.map_or(engine.start(), Offset).min(end);
        let limit = query.limit.unwrap_or(MAX_OUTPUT).min(MAX_OUTPUT);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (offset, mut data) = read(engine, from, end, limit).await;
        data.truncate(limit);
        Ok(Output {
            offset: offset.0,
            next_offset: offset.plus(data.len()).0,
            truncated: offset > from,
            data: Bytes64(data),
            end: end.0,
            running: exit.is_none(),
            exit: exit.map(record::wire_exit),
        })
    }

    /// The screen, or lines of the scrollback, with all the output that there is now.
    ///
    /// # Errors
    /// [`SessionError::TooLarge`], or [`SessionError::NoMarks`] where the last command's output is asked of a session whose
    /// shell does not mark it.
    pub(crate) async fn screen(
        &self,
        permit: &Permit<View>,
        query: ScreenQuery,
    ) -> Result<Screen, SessionError> {
        self.at_hand(permit)?;
        let given = query.lines.unwrap_or(0) as usize;
        if given > MAX_LINES {
            return Err(SessionError::TooLarge {
                what: "lines",
                given,
                most: MAX_LINES,
            });
        }
        self.record.engine.drawn().await;
        let lines = |screen: &dyn terminal::Screen| {
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
        };
        self.record.engine.look(|screen| {
            Ok(Screen {
                lines: lines(screen)?.into_iter().map(wire_line).collect(),
                size: wire_size(screen.size()),
                title: screen.title().to_owned(),
                alternate: screen.is_alternate(),
                cursor: screen.cursor(),
                cursor_visible: screen.cursor_visible(),
                first_line: screen.history().start,
                top_line: screen.top_line(),
            })
        })
    }
}

/// The output from an offset on, and where it begins: later than asked for, where older bytes are gone. What is read is in
/// one piece, ends at `end` or behind `limit` bytes, and may be a little more than those.
async fn read(engine: &terminal::Session, from: Offset, end: Offset, limit: usize) -> (Offset, Vec<u8>) {
    let mut begins = from;
    let mut data = Vec::new();
    if from >= end || limit == 0 {
        return (begins, data);
    }
    let mut attachment = engine.attach(Mode::Lossless, Start::Offset(from));
    while data.len() < limit && begins.plus(data.len()) < end {
        match attachment.next().await {
            Some(Update::Output { offset, bytes }) => {
                if data.is_empty() {
                    begins = offset;
                }
                attachment.acked(offset.plus(bytes.len()));
                data.extend_from_slice(&bytes);
            }
            Some(Update::Truncated { to, .. }) if data.is_empty() => begins = to,
            Some(Update::Size { .. }) => {}
            _ => break,
        }
    }
    (begins, data)
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
