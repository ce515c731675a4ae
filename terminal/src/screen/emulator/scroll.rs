//! Drawing the scrollback again: several times in each second of a flood, so that it costs little beside the flood.

use super::strip::Strip;
use super::style::Styles;
use super::terminal::Terminal;
use crate::snapshot::{Links, Painter};

/// Bytes that leave a fresh screen of the same size blank, with the last lines of the scrollback above it: at most `lines` of
/// them, whose cells take at most `most` bytes.
pub(super) fn history(terminal: &Terminal, lines: usize, most: usize) -> Vec<u8> {
    let first = first(terminal, lines, most);
    if first == terminal.history.len() {
        return Vec::new();
    }
    let mut scroll = Scroll {
        styles: &terminal.styles,
        bytes: Vec::with_capacity(SOME),
        sequences: Vec::new(),
        links: Links::default(),
    };
    // The line before, if it goes on.
    let mut open: Option<Strip<'_>> = None;
    for index in first..terminal.history.len() {
        let strip = Strip::decode(terminal.history.line(index));
        if let Some(former) = open.filter(|former| !strip.follows(*former)) {
            scroll.leave(former);
        }
        scroll.line(strip);
        open = Some(strip).filter(|strip| strip.is_wrapped());
        if open.is_none() {
            scroll.bytes.extend_from_slice(b"\r\n");
        }
    }
    if let Some(last) = open {
        scroll.leave(last);
    }
    let mut bytes = scroll.bytes;
    // The last of them are still to be seen.
    bytes.extend(std::iter::repeat_n(b'\n', terminal.rows() - 1));
    bytes.extend_from_slice(b"\x1b[H");
    bytes
}

/// The first line that is drawn, counted from the first that there is.
fn first(terminal: &Terminal, lines: usize, most: usize) -> usize {
    let count = terminal.history.len();
    let mut bytes = 0;
    let last = (0..count).rev().take(lines).take_while(|index| {
        bytes += terminal.history.line(*index).len();
        bytes <= most
    });
    last.last().unwrap_or(count)
}

struct Scroll<'a> {
    styles: &'a Styles,
    bytes: Vec<u8>,
    /// What sets each style, by its number, once it was needed.
    sequences: Vec<Option<Box<[u8]>>>,
    links: Links,
}

impl Scroll<'_> {
    /// Draws a line, from and to the default style.
    fn line(&mut self, strip: Strip<'_>) {
        if strip.runs().any(|(_, style)| self.styles.get(style).link != 0) {
            let line = strip.line(0, self.styles, &mut self.links);
            self.bytes.extend_from_slice(line.ansi.as_bytes());
            return;
        }
        let mut now = 0;
        for (text, style) in strip.parts() {
            if style != now {
                self.set(style);
                now = style;
            }
            self.bytes.extend_from_slice(text.as_bytes());
        }
        if now != 0 {
            self.set(0);
        }
    }

    /// Brings the cursor over from a row that goes on, which only writing does: a wide character where another one did
    /// not fit into that row.
    fn leave(&mut self, row: Strip<'_>) {
        let blank = if row.is_led() { "\u{3000}" } else { " " };
        self.bytes.extend_from_slice(blank.as_bytes());
        self.bytes.extend_from_slice(b"\r\x1b[K");
    }

    fn set(&mut self, style: u32) {
        let number = style as usize;
        if self.sequences.len() <= number {
            self.sequences.resize_with(number + 1, || None);
        }
        let styles = self.styles;
        let sequence = self.sequences[number]
            .get_or_insert_with(|| Painter::rendition_of(&styles.pen(styles.get(style))).into());
        self.bytes.extend_from_slice(sequence);
    }
}

/// Bytes of the usual scrollback.
const SOME: usize = 256 * 1024;
