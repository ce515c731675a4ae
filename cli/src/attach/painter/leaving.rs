//! What stays in the local terminal when a session is left.

use std::{
    io::{self, Write},
    sync::PoisonError,
};

use protocol::attach::ClientMessage;

use super::{END_UPDATE, Face, Filter, Modes, Painter, Stage};

impl<W: Write + Send + 'static> Painter<W> {
    /// Puts the cursor below what stays, in a terminal without the session's modes.
    pub(super) fn leave(&mut self, of_program: bool) -> io::Result<()> {
        if self.face == Face::Direct && self.anew && self.place.stage == Stage::Primary {
            // A backlog was given up.
            self.clear(Stage::Primary)?;
            self.out.write_all(&self.screen.draw(self.place.local))?;
            self.out.write_all(END_UPDATE)?;
        }
        if let Some(offset) = self.taken.take() {
            self.acks.send(ClientMessage::Ack { offset }).ok();
        }
        let (is_ours, is_alternate) = {
            let modes = self.modes.lock().unwrap_or_else(PoisonError::into_inner);
            (modes.is_ours(), modes.is_alternate())
        };
        let mut bytes = self.reset();
        let lines = self.last_lines();
        match self.face {
            Face::Untouched => return Ok(()),
            _ if is_alternate => {
                // The primary screen is back, with the cursor where it was left.
                if self.is_cleared {
                    bytes.extend_from_slice(b"\r\n");
                }
                if is_ours && of_program && !self.is_full_screen() {
                    bytes.extend(lines.iter().flat_map(|line| [line, "\r\n"]).flat_map(str::bytes));
                }
            }
            Face::Direct | Face::Pictures => {
                bytes.extend(format!("\x1b[{};1H", lines.len().max(1)).bytes());
                bytes.extend_from_slice(if lines.is_empty() {
                    b"\x1b[J"
                } else {
                    b"\r\n\x1b[J"
                });
            }
        }
        self.out.write_all(&bytes)
    }

    /// The screen as text, without the blank lines at its end.
    fn last_lines(&self) -> Vec<String> {
        let mut lines = self.screen.text_lines();
        let used = lines.iter().rposition(|line| !line.trim().is_empty());
        lines.truncate(used.map_or(0, |last| last + 1));
        lines
    }

    /// Whether the program shows its alternate screen, whatever is shown here.
    fn is_full_screen(&mut self) -> bool {
        let mut modes = Modes::default();
        modes.enter();
        Filter::default().pass(&self.screen.snapshot(), &mut modes, &mut Vec::new());
        modes.is_full_screen()
    }
}
