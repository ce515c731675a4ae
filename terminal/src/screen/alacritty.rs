//! The screen by alacritty_terminal.

use std::time::Duration;

use alacritty_terminal::vte::ansi::{Processor, Timeout};

use super::Screen;
use crate::scanner::{Scanner, Units};
use crate::size::Size;
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
            Units::Plain(bytes) => parser.advance(terminal, bytes),
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
