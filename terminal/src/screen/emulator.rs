//! The screen: a compact grid fed by the `vte` parser.
//!
//! Cells take eight bytes, rows only what was written of them, the scrollback about a byte per character. Runs of
//! text and plain control sequences are drawn directly; all else goes through the parser in complete units.

use std::ops::Range;

use vte::Parser;

use super::{Line, Numbering, Screen, Signal, keyboard, titles};
use crate::scanner::{Scanner, begins_update, unit_length};
use crate::size::Size;
use modes::Modes;
use terminal::Terminal;

mod cell;
mod clusters;
mod colours;
mod history;
mod links;
mod modes;
mod picture;
mod reflow;
mod row;
mod scroll;
mod strip;
mod style;
mod terminal;

/// A terminal, and what of its output is not complete yet.
pub(crate) struct Emulator {
    size: Size,
    scanner: Scanner,
    parser: Parser,
    terminal: Terminal,
}

impl Emulator {
    /// A fresh terminal.
    pub(crate) fn new(size: Size) -> Self {
        Self {
            size,
            scanner: Scanner::default(),
            parser: Parser::new(),
            terminal: Terminal::new(size),
        }
    }

    /// Has the lines that there are numbered as they were on the screen that was drawn here again.
    pub(crate) fn renumber(&mut self, numbering: Numbering) {
        self.terminal.history.end_at(numbering.top);
        self.terminal.signals.set_output(numbering.output);
    }

    /// Draws complete units, up to a synchronized update if those are held back. Returns how much it drew.
    fn draw_units(parser: &mut Parser, terminal: &mut Terminal, output: &[u8]) -> usize {
        let mut at = 0;
        loop {
            at += terminal.run(&output[at..]);
            let rest = &output[at..];
            let Some(length) = unit_length(rest) else {
                return at;
            };
            let unit = &rest[..length];
            if terminal.holds_updates && begins_update(unit) {
                return at;
            }
            terminal.follows_text = false;
            parser.advance(terminal, unit);
            if length > MAX_KEPT {
                // It keeps the room for the longest string that it has seen.
                *parser = Parser::new();
            }
            at += length;
        }
    }

    fn scan(&mut self, scan: impl FnOnce(&mut Scanner, &mut dyn FnMut(&[u8]))) {
        let Self {
            scanner,
            parser,
            terminal,
            ..
        } = self;
        terminal.holds_updates = false;
        scan(scanner, &mut |units| {
            if Self::draw_units(parser, terminal, units) < units.len() {
                // A character was cut off by what comes next.
                terminal.run(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 4]).as_bytes());
            }
        });
        terminal.holds_updates = true;
    }
}

impl Screen for Emulator {
    fn feed(&mut self, output: &[u8]) {
        let mut rest = output;
        while !rest.is_empty() {
            if self.scanner.is_idle() {
                let drawn = Self::draw_units(&mut self.parser, &mut self.terminal, rest);
                rest = &rest[drawn..];
            }
            let (now, later) = rest.split_at(self.scanner.stride(rest));
            self.scan(|scanner, sink| scanner.feed(now, sink));
            rest = later;
        }
    }

    fn resize(&mut self, size: Size) {
        // What the program wrote before, it wrote for the former size.
        self.release();
        self.terminal.resize(size);
        self.size = size;
    }

    fn is_held(&self) -> bool {
        self.scanner.is_synchronized()
    }

    fn release(&mut self) {
        self.scan(|scanner, sink| scanner.release(sink));
    }

    fn pending(&self) -> usize {
        self.scanner.pending()
    }

    fn take_replies(&mut self) -> Vec<u8> {
        self.terminal.take_replies()
    }

    fn size(&self) -> Size {
        self.size
    }

    fn title(&self) -> &str {
        self.terminal.titles.title()
    }

    fn text_lines(&self) -> Vec<String> {
        let top = self.top_line();
        let text = |line: Line| line.text.trim_end().to_owned();
        self.lines(top..u64::MAX).into_iter().map(text).collect()
    }

    fn snapshot(&mut self) -> Vec<u8> {
        let mut bytes = picture::snapshot(&self.terminal);
        bytes.extend_from_slice(self.scanner.opener());
        bytes
    }

    fn draw(&self, size: Size) -> Vec<u8> {
        picture::crop(&self.terminal, size)
    }

    fn checkpoint(&mut self, lines: usize, most: usize) -> Vec<u8> {
        let mut bytes = scroll::history(&self.terminal, lines, most);
        bytes.append(&mut self.snapshot());
        bytes
    }

    fn history(&self) -> Range<u64> {
        self.terminal.history.range()
    }

    fn numbering(&self) -> Numbering {
        Numbering {
            top: self.history().end,
            output: self.terminal.signals.marked(),
        }
    }

    fn lines(&self, range: Range<u64>) -> Vec<Line> {
        self.terminal.lines(range)
    }

    fn cursor(&self) -> (u16, u16) {
        let cursor = self.terminal.grid.cursor;
        let short = |value| u16::try_from(value).unwrap_or(u16::MAX);
        (short(cursor.column), short(cursor.row))
    }

    fn cursor_visible(&self) -> bool {
        self.terminal.has(Modes::SHOW_CURSOR)
    }

    fn is_alternate(&self) -> bool {
        self.terminal.is_alternate()
    }

    fn key_modes(&self) -> Vec<u8> {
        picture::key_modes(&self.terminal)
    }

    fn wants_bracketed_paste(&self) -> bool {
        self.terminal.has(Modes::BRACKETED_PASTE)
    }

    fn application_cursor_keys(&self) -> bool {
        self.terminal.has(Modes::APP_CURSOR)
    }

    fn application_keypad(&self) -> bool {
        self.terminal.has(Modes::APP_KEYPAD)
    }

    fn take_signals(&mut self) -> Vec<Signal> {
        self.terminal.signals.take()
    }

    fn last_command(&self) -> Option<Vec<Line>> {
        let end = self.top_line() + self.terminal.grid.cursor.row as u64 + 1;
        Some(self.lines(self.terminal.signals.output(end)?))
    }
}

/// Bytes of a sequence after which the parser is begun anew.
const MAX_KEPT: usize = 4 * 1024;

#[cfg(test)]
mod tests;
