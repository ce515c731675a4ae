//! What a session's output draws.

use std::ops::Range;

use crate::offset::Offset;
use crate::size::Size;

mod emulator;
mod keyboard;
mod signals;
mod titles;

pub(crate) use emulator::Emulator;
pub(crate) use signals::MAX_TEXT;
pub use signals::Signal;

/// The state of a terminal, drawn by a program's output.
///
/// Widths of characters are decided here, once for everybody who watches.
pub trait Screen: Send {
    /// Takes in output, cut anywhere.
    fn feed(&mut self, output: &[u8]);

    /// Gives the terminal another size.
    fn resize(&mut self, size: Size);

    /// Whether a synchronized update has begun and not ended, so that what was fed since does not show yet.
    fn is_held(&self) -> bool;

    /// Shows what a synchronized update holds back.
    fn release(&mut self);

    /// How many of the bytes fed last are not in the state yet: the ground offset is this far behind.
    fn pending(&self) -> usize;

    /// The answers to the program's queries since the last call, to be written to it.
    fn take_replies(&mut self) -> Vec<u8>;

    /// The terminal's size.
    fn size(&self) -> Size;

    /// The title; empty if the program gave none.
    fn title(&self) -> &str;

    /// The visible rows as text, without blanks at their ends.
    fn text_lines(&self) -> Vec<String>;

    /// Bytes that draw the same state into a fresh terminal of the same size, without scrollback. With the
    /// output from the ground offset behind them, that terminal goes on as this one does.
    fn snapshot(&mut self) -> Vec<u8>;

    /// Bytes that repaint the upper left part of the screen, or all of it, on a terminal of the given size:
    /// cells and cursor, no modes. The part moves so that the cursor is in it.
    fn draw(&self, size: Size) -> Vec<u8>;

    /// Like [`Screen::snapshot`], preceded by up to `lines` lines of scrollback, whose cells take at most `most` bytes
    /// where they are kept: fed to a fresh screen of the same size, it brings them back too.
    fn checkpoint(&mut self, lines: usize, most: usize) -> Vec<u8>;

    /// The numbers of the lines in the scrollback, which ends above the primary screen's first row. Lines are
    /// numbered from the session's beginning, and stay so when old ones are forgotten. A change of size that
    /// wraps lines elsewhere keeps the first one's number and renumbers the rest.
    fn history(&self) -> Range<u64>;

    /// The number of the first visible row.
    fn top_line(&self) -> u64 {
        self.history().end
    }

    /// What a checkpoint's drawing does not say about the lines' numbers.
    fn numbering(&self) -> Numbering;

    /// The lines of a range that there are, of the scrollback and of the screen that shows.
    fn lines(&self, range: Range<u64>) -> Vec<Line>;

    /// The column and the row of the cursor, from 0.
    fn cursor(&self) -> (u16, u16);

    /// Whether the cursor is to be seen.
    fn cursor_visible(&self) -> bool;

    /// Whether the alternate screen shows.
    fn is_alternate(&self) -> bool;

    /// Bytes that make a fresh terminal send keys and pastes as the program wants them: cursor keys (DECCKM), the keypad
    /// (DECKPAM), brackets around a paste (DECSET 2004), kitty's and xterm's forms of keys. Nothing of the mouse: what it
    /// would report are places on another picture.
    fn key_modes(&self) -> Vec<u8>;

    /// Whether the program wants pasted text in brackets (DECSET 2004).
    fn wants_bracketed_paste(&self) -> bool;

    /// Whether cursor keys send SS3 sequences (DECCKM).
    fn application_cursor_keys(&self) -> bool;

    /// Whether the keypad sends SS3 sequences (DECKPAM).
    fn application_keypad(&self) -> bool;

    /// What the program said about itself since the last call; the oldest is forgotten when it is much.
    fn take_signals(&mut self) -> Vec<Signal>;

    /// The output of the last command that the shell marked (OSC 133 C), up to its end (D) if it has ended; what
    /// of it is in the scrollback still. `None` if the shell marks nothing.
    fn last_command(&self) -> Option<Vec<Line>>;
}

/// Numbers of lines, which go on where a screen is drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    /// The number of the primary screen's first row.
    pub top: u64,
    /// Where the last command's output begins that the shell marked, and the line behind its last, if it has ended.
    pub output: Option<(u64, Option<u64>)>,
}

/// One row of the screen or of the scrollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number since the session began.
    pub number: u64,
    /// Its text with the sequences (SGR, OSC 8) that draw it, beginning and ending with the default pen.
    pub ansi: String,
    /// Its text, without blanks at the end unless it goes on.
    pub text: String,
    /// Whether it goes on in the next one.
    pub wrapped: bool,
}

/// A screen at one moment, for a terminal that knows nothing of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Output continues from here: the last offset at which the parser stood between sequences.
    pub ground: Offset,
    /// The size of the terminal that is drawn.
    pub size: Size,
    /// What draws it into a fresh terminal of that size.
    pub bytes: Vec<u8>,
}

/// A fresh screen of this size, for whoever draws a session's output himself.
#[must_use]
pub fn screen(size: Size) -> Box<dyn Screen> {
    Box::new(Emulator::new(size))
}
