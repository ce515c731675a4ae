//! Operating system commands (OSC).

use super::super::colours::{BACKGROUND, CURSOR, FOREGROUND, parse};
use super::super::modes::Shape;
use super::Terminal;

impl Terminal {
    /// A command taken apart at its semicolons. The clipboard (OSC 52) is neither read nor written here.
    pub(super) fn command(&mut self, parameters: &[&[u8]], terminator: &str) {
        match parameters {
            [b"0" | b"2", title @ ..] if !title.is_empty() => {
                let title: Vec<&str> = title
                    .iter()
                    .filter_map(|part| std::str::from_utf8(part).ok())
                    .collect();
                self.titles.set(title.join(";").trim());
            }
            [b"4", pairs @ ..] => self.palette(pairs, terminator),
            [b"8", attributes, uri @ ..] if !uri.is_empty() => self.link(attributes, uri),
            [b"10" | b"11" | b"12", colours @ ..] => {
                let first = usize::from(parameters[0][1] - b'0');
                for (number, colour) in (first..3).zip(colours) {
                    let prefix = format!("1{number}");
                    self.dynamic_colour(&prefix, FOREGROUND + number, colour, terminator);
                }
            }
            [b"50", shape, ..] => {
                let shape = match shape.strip_prefix(b"CursorShape=") {
                    Some([b'0', ..]) => Shape::Block,
                    Some([b'1', ..]) => Shape::Beam,
                    Some([b'2', ..]) => Shape::Underline,
                    _ => return,
                };
                self.cursor_style.get_or_insert_default().shape = shape;
            }
            [b"104"] | [b"104", b"", ..] => self.colours.reset_palette(),
            [b"104", indices @ ..] => indices
                .iter()
                .filter_map(|index| number(index))
                .for_each(|index| self.colours.set(usize::from(index), None)),
            [b"110", ..] => self.colours.set(FOREGROUND, None),
            [b"111", ..] => self.colours.set(BACKGROUND, None),
            [b"112", ..] => self.colours.set(CURSOR, None),
            _ => {
                let cursor = self.grid.cursor;
                let line = self.top_line() + cursor.row as u64;
                self.signals.command(parameters, line, cursor.column);
            }
        }
    }

    fn palette(&mut self, pairs: &[&[u8]], terminator: &str) {
        let (chunks, rest) = pairs.as_chunks::<2>();
        if !rest.is_empty() {
            return;
        }
        for [index, colour] in chunks {
            if let Some(index) = number(index) {
                self.dynamic_colour(&format!("4;{index}"), usize::from(index), colour, terminator);
            }
        }
    }

    fn dynamic_colour(&mut self, prefix: &str, index: usize, colour: &[u8], terminator: &str) {
        if let Some(colour) = parse(colour) {
            self.colours.set(index, Some(colour));
        } else if colour == b"?" {
            self.answer_colour(prefix, index, terminator);
        }
    }

    /// OSC 8. An address may hold semicolons.
    fn link(&mut self, attributes: &[u8], uri: &[&[u8]]) {
        let text = |part: &&[u8]| std::str::from_utf8(part).unwrap_or_default().to_owned();
        let uri = uri.iter().map(text).collect::<Vec<_>>().join(";");
        let id = attributes
            .split(|&byte| byte == b':')
            .find_map(|pair| std::str::from_utf8(pair.strip_prefix(b"id=")?).ok());
        if self.styles.links.is_full() {
            self.sweep_styles();
        }
        self.grid.cursor.pen.link = if uri.is_empty() {
            0
        } else {
            self.styles.links.number(id, &uri)
        };
        self.pen = None;
    }
}

/// A number of the palette.
fn number(text: &[u8]) -> Option<u8> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}
