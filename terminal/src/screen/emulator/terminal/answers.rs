//! Answers to what the program asks.

use super::super::modes::Modes;
use super::Terminal;

impl Terminal {
    /// Answers the program, unless it asks much and reads nothing.
    pub(super) fn answer(&mut self, answer: &str) {
        if self.replies.len() < MAX_REPLIES {
            self.replies.extend_from_slice(answer.as_bytes());
        }
    }

    /// DSR.
    pub(super) fn answer_status(&mut self, question: u16) {
        match question {
            5 => self.answer("\x1b[0n"),
            6 => {
                let cursor = self.grid.cursor;
                self.answer(&format!("\x1b[{};{}R", cursor.row + 1, cursor.column + 1));
            }
            _ => {}
        }
    }

    /// XTWINOPS 18.
    pub(super) fn answer_size(&mut self) {
        self.answer(&format!("\x1b[8;{};{}t", self.rows(), self.columns));
    }

    /// DECRQM.
    pub(super) fn answer_mode(&mut self, number: u16) {
        let state = state(Modes::ansi(number).map(|mode| self.has(mode)));
        self.answer(&format!("\x1b[{number};{state}$y"));
    }

    /// DECRQM of a private mode.
    pub(super) fn answer_private_mode(&mut self, number: u16) {
        let is_set = match number {
            12 => Some(self.cursor_style.is_some_and(|style| style.is_blinking)),
            1049 => Some(self.is_alternate()),
            // Known, and whoever can ask is not inside one.
            2026 => Some(false),
            _ => Modes::private(number).map(|(mode, _)| self.has(mode)),
        };
        self.answer(&format!("\x1b[?{number};{}$y", state(is_set)));
    }

    /// OSC 4, 10, 11 and 12 with `?`.
    pub(super) fn answer_colour(&mut self, prefix: &str, index: usize, terminator: &str) {
        let [r, g, b] = self.colours.get(index);
        self.answer(&format!(
            "\x1b]{prefix};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{terminator}"
        ));
    }
}

/// A mode's state as DECRQM tells it.
fn state(is_set: Option<bool>) -> u8 {
    match is_set {
        None => 0,
        Some(true) => 1,
        Some(false) => 2,
    }
}

/// Bytes of answers between two looks at them.
const MAX_REPLIES: usize = 64 * 1024;
