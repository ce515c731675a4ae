//! Words over the last row of a session's own bytes, as long as nothing else stands there.

use std::io::{self, Write};

use super::{Painter, Stage, status::status};

impl<W: Write + Send + 'static> Painter<W> {
    /// Shows the notice where it may be, and takes it away where it may not be any more.
    pub(super) fn settle_overlay(&mut self) -> io::Result<()> {
        let words = self.notice.as_ref().map(|(words, _)| words.as_str());
        let Some(words) = words.filter(|_| self.has_room()) else {
            return self.lift_overlay();
        };
        if self.has_overlay {
            return Ok(());
        }
        let words = status(&self.place, self.screen.size(), None, Some(words));
        self.has_overlay = true;
        self.over_last_row(&format!("\x1b[0;7m{words}"))
    }

    /// Gives the last row back, before anything is written that may scroll it.
    pub(super) fn lift_overlay(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.has_overlay) {
            return Ok(());
        }
        self.over_last_row("\x1b[0m\x1b[2K")
    }

    /// The last row is blank, and the way there and back disturbs nothing: no character or sequence is half written,
    /// and no saved cursor is lost.
    fn has_room(&self) -> bool {
        let modes = self
            .modes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_blank = || self.screen.text_lines().last().is_some_and(String::is_empty);
        self.place.stage == Stage::Primary
            && self.pending.is_empty()
            && !modes.has_saved_cursor()
            && !modes.is_alternate()
            && is_blank()
    }

    fn over_last_row(&mut self, drawn: &str) -> io::Result<()> {
        let row = self.place.local.rows();
        let bytes = format!("\x1b7\x1b[{row};1H{drawn}\x1b8");
        self.out.write_all(bytes.as_bytes())
    }
}
