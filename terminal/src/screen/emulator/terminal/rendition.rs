//! SGR: what characters are written with.

use super::super::style::{Style, Tint};
use super::{Cell, Terminal};
use crate::snapshot::Underline;

impl Terminal {
    /// SGR without subparameters.
    #[inline]
    pub(super) fn plain_rendition(&mut self, codes: &[u16]) {
        let pen = &mut self.grid.cursor.pen;
        let mut codes = codes.iter().copied();
        while let Some(code) = codes.next() {
            let colour = match code {
                38 => &mut pen.foreground,
                48 => &mut pen.background,
                58 => &mut pen.underline_colour,
                _ => {
                    apply(pen, code);
                    continue;
                }
            };
            if let Some(chosen) = parse(&mut codes) {
                *colour = chosen;
            }
        }
        self.pen = self.styles.recent(pen).map(|number| Cell::new(' ', number));
    }

    /// SGR; each parameter with its subparameters.
    pub(super) fn rendition<'a>(&mut self, mut parameters: impl Iterator<Item = &'a [u16]>) {
        self.pen = None;
        while let Some(parameter) = parameters.next() {
            let pen = &mut self.grid.cursor.pen;
            match parameter {
                [38, rest @ ..] => set(&mut pen.foreground, rest, &mut parameters),
                [48, rest @ ..] => set(&mut pen.background, rest, &mut parameters),
                [58, rest @ ..] => set(&mut pen.underline_colour, rest, &mut parameters),
                [4, kind, ..] => pen.set_underline(match kind {
                    0 => Underline::None,
                    2 => Underline::Double,
                    3 => Underline::Curly,
                    4 => Underline::Dotted,
                    5 => Underline::Dashed,
                    _ => Underline::Single,
                }),
                [code] => apply(pen, *code),
                _ => {}
            }
        }
    }
}

#[inline]
fn apply(pen: &mut Style, code: u16) {
    // The basic colours are eight from a multiple of ten.
    let basic = |code: u16| Tint::basic((code % 10) as u8);
    let bright = |code: u16| Tint::basic((code % 10) as u8 + 8);
    match code {
        0 => {
            *pen = Style {
                link: pen.link,
                ..Style::default()
            }
        }
        1 => pen.set(Style::BOLD, true),
        2 => pen.set(Style::DIM, true),
        3 => pen.set(Style::ITALIC, true),
        4 => pen.set_underline(Underline::Single),
        7 => pen.set(Style::INVERSE, true),
        8 => pen.set(Style::HIDDEN, true),
        9 => pen.set(Style::STRUCK, true),
        21 => pen.set(Style::BOLD, false),
        22 => pen.set(Style::BOLD | Style::DIM, false),
        23 => pen.set(Style::ITALIC, false),
        24 => pen.set_underline(Underline::None),
        27 => pen.set(Style::INVERSE, false),
        28 => pen.set(Style::HIDDEN, false),
        29 => pen.set(Style::STRUCK, false),
        30..=37 => pen.foreground = basic(code),
        39 => pen.foreground = Tint::DEFAULT,
        40..=47 => pen.background = basic(code),
        49 => pen.background = Tint::DEFAULT,
        59 => pen.underline_colour = Tint::DEFAULT,
        90..=97 => pen.foreground = bright(code),
        100..=107 => pen.background = bright(code),
        _ => {}
    }
}

/// A colour of 256 or of all, in subparameters or, as xterm began it, in the parameters that follow.
fn set<'a>(colour: &mut Tint, rest: &[u16], parameters: &mut impl Iterator<Item = &'a [u16]>) {
    let chosen = if rest.is_empty() {
        parse(&mut parameters.map(|parameter| parameter[0]))
    } else {
        // With a colour space before the three values, or without.
        let values = if rest.len() > 4 { 2 } else { 1 };
        parse(&mut rest[..1].iter().chain(&rest[values..]).copied())
    };
    if let Some(chosen) = chosen {
        *colour = chosen;
    }
}

fn parse(values: &mut impl Iterator<Item = u16>) -> Option<Tint> {
    match values.next()? {
        2 => {
            let mut value = || u8::try_from(values.next()?).ok();
            Some(Tint::rgb(value()?, value()?, value()?))
        }
        5 => Some(Tint::indexed(u8::try_from(values.next()?).ok()?)),
        _ => None,
    }
}
