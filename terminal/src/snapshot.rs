//! Writing what draws a terminal's state: the least that real terminals, xterm.js and alacritty agree on.

use std::io::Write;

/// Writes the sequences that draw cells, keeping track of the pen so that only its changes are written.
#[derive(Debug, Default)]
pub(crate) struct Painter {
    bytes: Vec<u8>,
    pen: Pen,
    /// Bytes of addresses written.
    links: usize,
}

/// Bytes of addresses written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Links(usize);

/// What a character is written with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pen {
    pub(crate) foreground: Colour,
    pub(crate) background: Colour,
    pub(crate) underline_colour: Colour,
    pub(crate) underline: Underline,
    pub(crate) is_bold: bool,
    pub(crate) is_dim: bool,
    pub(crate) is_italic: bool,
    pub(crate) is_inverse: bool,
    pub(crate) is_hidden: bool,
    pub(crate) is_struck: bool,
    pub(crate) link: Option<Link>,
}

/// A hyperlink (OSC 8).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(crate) id: String,
    pub(crate) uri: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Colour {
    #[default]
    Default,
    /// One of the sixteen that have sequences of their own.
    Basic(u8),
    Indexed(u8),
    Rgb(u8, u8, u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Underline {
    #[default]
    None,
    Single,
    Double,
    Curly,
    Dotted,
    Dashed,
}

impl Painter {
    /// What sets a pen, whatever there was before, but its link.
    pub(crate) fn rendition_of(pen: &Pen) -> Vec<u8> {
        let mut painter = Self::default();
        painter.rendition(pen);
        painter.into_bytes()
    }

    /// Goes on from what painters before it have written of links: one bound for all of them.
    pub(crate) fn after(links: Links) -> Self {
        Self {
            links: links.0,
            ..Self::default()
        }
    }

    /// What was written of links, here and before.
    pub(crate) fn links(&self) -> Links {
        Links(self.links)
    }

    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes a sequence as it is.
    pub(crate) fn sequence(&mut self, sequence: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(sequence.as_ref());
    }

    /// Moves to a cell, counted from 0.
    pub(crate) fn go(&mut self, row: usize, column: usize) {
        self.write(format_args!("\x1b[{};{}H", row + 1, column + 1));
    }

    /// Moves to the right, over cells that stay as they are.
    pub(crate) fn forward(&mut self, columns: usize) {
        match columns {
            1 => self.sequence("\x1b[C"),
            _ => self.write(format_args!("\x1b[{columns}C")),
        }
    }

    /// Writes text with the pen that is set.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Changes what following characters are written with.
    pub(crate) fn set_pen(&mut self, pen: &Pen) {
        let without_link;
        let pen = if self.affords(pen) {
            pen
        } else {
            // What it leads to is lost, the text is not.
            without_link = Pen {
                link: None,
                ..pen.clone()
            };
            &without_link
        };
        if self.pen == *pen {
            return;
        }
        if self.pen.link != pen.link {
            match &pen.link {
                Some(Link { id, uri }) => self.write(format_args!("\x1b]8;id={id};{uri}\x1b\\")),
                None => self.sequence("\x1b]8;;\x1b\\"),
            }
        }
        if (Pen {
            link: None,
            ..self.pen.clone()
        }) != (Pen {
            link: None,
            ..pen.clone()
        }) {
            self.rendition(pen);
        }
        self.pen = pen.clone();
    }

    /// Writes formatted text.
    pub(crate) fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // A vector takes every write.
        let _ = self.bytes.write_fmt(text);
    }

    /// Makes sure that what comes next does not directly follow a character.
    pub(crate) fn separate(&mut self) {
        self.sequence("\x1b\\");
    }

    /// Whether the pen's link, if it is a new one, still fits into what links may take; counts it if so.
    fn affords(&mut self, pen: &Pen) -> bool {
        let Some(Link { id, uri }) = pen.link.as_ref().filter(|_| pen.link != self.pen.link) else {
            return true;
        };
        let length = id.len() + uri.len();
        let fits = self.links + length <= MAX_LINKS;
        self.links += if fits { length } else { 0 };
        fits
    }

    fn rendition(&mut self, pen: &Pen) {
        self.sequence("\x1b[0");
        let flags = [
            (pen.is_bold, ";1"),
            (pen.is_dim, ";2"),
            (pen.is_italic, ";3"),
            (pen.is_inverse, ";7"),
            (pen.is_hidden, ";8"),
            (pen.is_struck, ";9"),
        ];
        flags
            .iter()
            .filter(|(set, _)| *set)
            .for_each(|(_, code)| self.sequence(code));
        self.sequence(match pen.underline {
            Underline::None => "",
            Underline::Single => ";4",
            Underline::Double => ";4:2",
            Underline::Curly => ";4:3",
            Underline::Dotted => ";4:4",
            Underline::Dashed => ";4:5",
        });
        self.colour(pen.foreground, 30);
        self.colour(pen.background, 40);
        self.colour(pen.underline_colour, 50);
        self.sequence("m");
    }

    /// Writes a colour's parameters; `base` is 30, 40 or 50 (the underline's, which has no basic colours).
    fn colour(&mut self, colour: Colour, base: u8) {
        match colour {
            Colour::Default => {}
            Colour::Basic(index @ 0..8) => self.write(format_args!(";{}", base + index)),
            Colour::Basic(index) => self.write(format_args!(";{}", base + 60 + (index - 8))),
            Colour::Indexed(index) => self.write(format_args!(";{};5;{index}", base + 8)),
            Colour::Rgb(red, green, blue) => {
                self.write(format_args!(";{};2;{red};{green};{blue}", base + 8));
            }
        }
    }
}

/// Bytes of link addresses in one snapshot, or in all lines of one answer: a screen of two hundred long ones. Every cell may have its own (2 KiB), so without
/// a bound a program could make each attach cost gigabytes.
const MAX_LINKS: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::{Colour, Link, Painter, Pen, Underline};

    fn written(pens: &[Pen]) -> String {
        let mut painter = Painter::default();
        for pen in pens {
            painter.set_pen(pen);
            painter.text("x");
        }
        String::from_utf8(painter.into_bytes()).unwrap()
    }

    #[test]
    fn a_plain_character_is_itself() {
        assert_eq!(written(&[Pen::default(), Pen::default()]), "xx");
    }

    #[test]
    fn only_a_changed_pen_is_written() {
        let red = Pen {
            foreground: Colour::Basic(1),
            is_bold: true,
            ..Pen::default()
        };
        assert_eq!(
            written(&[red.clone(), red, Pen::default()]),
            "\x1b[0;1;31mxx\x1b[0mx"
        );
    }

    #[test]
    fn each_kind_of_colour_is_written() {
        let pen = Pen {
            foreground: Colour::Basic(15),
            background: Colour::Indexed(200),
            underline_colour: Colour::Rgb(1, 2, 3),
            underline: Underline::Curly,
            ..Pen::default()
        };
        assert_eq!(written(&[pen]), "\x1b[0;4:3;97;48;5;200;58;2;1;2;3mx");
    }

    #[test]
    fn links_without_end_cost_a_bounded_part_of_a_snapshot_and_no_text() {
        let mut painter = Painter::default();
        for cell in 0..10_000 {
            let link = Link {
                id: String::new(),
                uri: format!("{cell:02000}"),
            };
            let pen = Pen {
                link: Some(link),
                ..Pen::default()
            };
            painter.set_pen(&pen);
            painter.text("x");
        }
        let bytes = painter.into_bytes();
        assert!(bytes.len() < 2 * super::MAX_LINKS, "{} bytes", bytes.len());
        assert_eq!(bytes.iter().filter(|byte| **byte == b'x').count(), 10_000);
    }

    #[test]
    fn a_link_begins_and_ends() {
        let link = Link {
            id: "7".into(),
            uri: "https://a.b/;c".into(),
        };
        let pen = Pen {
            link: Some(link),
            ..Pen::default()
        };
        assert_eq!(
            written(&[pen, Pen::default()]),
            "\x1b]8;id=7;https://a.b/;c\x1b\\x\x1b]8;;\x1b\\x"
        );
    }
}
