//! The screen by alacritty_terminal.

use std::ops::Range;
use std::time::Duration;

use alacritty_terminal::term::TermMode;
use alacritty_terminal::vte::ansi::{Processor, Timeout};

use super::{Line, Screen, Signal};
use crate::scanner::{Scanner, Units};
use crate::size::Size;
use crate::snapshot;
use terminal::Terminal;

mod cells;
mod colours;
mod crop;
mod keyboard;
mod picture;
mod terminal;
mod titles;

/// A terminal of alacritty's, fed complete units only.
pub(crate) struct AlacrittyScreen {
    size: Size,
    scanner: Scanner,
    parser: Processor<NotHere>,
    terminal: Terminal,
}

impl AlacrittyScreen {
    /// A fresh terminal.
    pub(crate) fn new(size: Size) -> Self {
        Self {
            size,
            scanner: Scanner::default(),
            parser: Processor::new(),
            terminal: Terminal::new(size),
        }
    }

    fn scan(&mut self, scan: impl FnOnce(&mut Scanner, &mut dyn FnMut(Units<'_>))) {
        let Self {
            scanner,
            parser,
            terminal,
            ..
        } = self;
        scan(scanner, &mut |units| match units {
            Units::Plain(bytes) => plain(parser, terminal, bytes),
            Units::Repeat(bytes) if terminal.repeatable().is_some() => parser.advance(terminal, bytes),
            Units::Repeat(_) => {}
        });
    }
}

impl Screen for AlacrittyScreen {
    fn feed(&mut self, output: &[u8]) {
        self.scan(|scanner, sink| scanner.feed(output, sink));
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
        cells::text_lines(&self.terminal)
    }

    fn snapshot(&mut self) -> Vec<u8> {
        let mut bytes = picture::snapshot(&mut self.terminal, self.scanner.follows_text());
        bytes.extend_from_slice(self.scanner.opener());
        bytes
    }

    fn draw(&self, size: Size) -> Vec<u8> {
        crop::draw(&self.terminal, size)
    }

    fn checkpoint(&mut self, lines: usize) -> Vec<u8> {
        let history = self.history();
        let first = history.start.max(history.end.saturating_sub(lines as u64));
        let lines = self.terminal.lines(first..history.end);
        let mut bytes = snapshot::history(&lines, self.size);
        bytes.append(&mut self.snapshot());
        bytes
    }

    fn history(&self) -> Range<u64> {
        self.terminal.history()
    }

    fn lines(&self, range: Range<u64>) -> Vec<Line> {
        self.terminal.lines(range)
    }

    fn cursor(&self) -> (u16, u16) {
        let (row, column, _) = self.terminal.cursor();
        let short = |value| u16::try_from(value).unwrap_or(u16::MAX);
        (short(column), short(row))
    }

    fn cursor_visible(&self) -> bool {
        self.terminal.has(TermMode::SHOW_CURSOR)
    }

    fn is_alternate(&self) -> bool {
        self.terminal.has(TermMode::ALT_SCREEN)
    }

    fn wants_bracketed_paste(&self) -> bool {
        self.terminal.has(TermMode::BRACKETED_PASTE)
    }

    fn application_cursor_keys(&self) -> bool {
        self.terminal.has(TermMode::APP_CURSOR)
    }

    fn application_keypad(&self) -> bool {
        self.terminal.has(TermMode::APP_KEYPAD)
    }

    fn take_signals(&mut self) -> Vec<Signal> {
        self.terminal.signals.take()
    }

    fn last_command(&self) -> Option<Vec<Line>> {
        let end = self.top_line() + self.terminal.cursor().0 as u64 + 1;
        let lines = self.terminal.signals.output(end)?;
        Some(self.terminal.lines(lines))
    }
}

/// Draws units, minding the commands that the parser does not hand on.
fn plain(parser: &mut Processor<NotHere>, terminal: &mut Terminal, mut bytes: &[u8]) {
    while let Some(start) = bytes.windows(2).position(|pair| pair == b"\x1b]") {
        parser.advance(terminal, &bytes[..start]);
        let command = &bytes[start + 2..];
        let length = command
            .iter()
            .position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b))
            .unwrap_or(command.len());
        let parameters: Vec<&[u8]> = command[..length].split(|&byte| byte == b';').collect();
        let (row, column, _) = terminal.cursor();
        let line = terminal.history().end + row as u64;
        terminal.signals.command(&parameters, line, column);
        let end = start + 2 + length;
        parser.advance(terminal, &bytes[start..end]);
        bytes = &bytes[end..];
    }
    parser.advance(terminal, bytes);
}

/// Synchronized updates are held back by the scanner, so the parser never waits for the end of one.
#[derive(Default)]
struct NotHere;

impl Timeout for NotHere {
    fn set_timeout(&mut self, _: Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
