//! What a session's output draws.

use crate::offset::Offset;
use crate::size::Size;

mod alacritty;

pub(crate) use alacritty::AlacrittyScreen;

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
    Box::new(AlacrittyScreen::new(size))
}
