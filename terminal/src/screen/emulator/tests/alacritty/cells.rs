//! Reading alacritty's cells: with their attributes, as text.

use alacritty_terminal::grid::Row;
use alacritty_terminal::index::Column;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::Color;

use crate::snapshot::{Colour, Link, Pen, Underline};

/// A row as text, and whether it wraps.
pub(super) fn line(row: &Row<Cell>, columns: usize) -> (String, bool) {
    let last = &row[Column(columns - 1)];
    let mut text = String::new();
    for column in 0..columns {
        let cell = &row[Column(column)];
        if !cell
            .flags
            .intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
        {
            text.push(shown(cell));
            text.extend(cell.zerowidth().unwrap_or_default());
        }
    }
    text.truncate(text.trim_end().len());
    (text, last.flags.contains(Flags::WRAPLINE))
}

/// What a cell's character is written with.
pub(super) fn pen(cell: &Cell) -> Pen {
    let flags = cell.flags;
    let underline = match flags & Flags::ALL_UNDERLINES {
        Flags::UNDERLINE => Underline::Single,
        Flags::DOUBLE_UNDERLINE => Underline::Double,
        Flags::UNDERCURL => Underline::Curly,
        Flags::DOTTED_UNDERLINE => Underline::Dotted,
        Flags::DASHED_UNDERLINE => Underline::Dashed,
        _ => Underline::None,
    };
    Pen {
        foreground: colour(cell.fg),
        background: colour(cell.bg),
        underline_colour: cell.underline_color().map_or(Colour::Default, colour),
        underline,
        is_bold: flags.contains(Flags::BOLD),
        is_dim: flags.contains(Flags::DIM),
        is_italic: flags.contains(Flags::ITALIC),
        is_inverse: flags.contains(Flags::INVERSE),
        is_hidden: flags.contains(Flags::HIDDEN),
        is_struck: flags.contains(Flags::STRIKEOUT),
        link: cell.hyperlink().map(|link| Link {
            id: link.id().to_owned(),
            uri: link.uri().to_owned(),
        }),
    }
}

fn colour(colour: Color) -> Colour {
    match colour {
        Color::Named(name) if (name as usize) < 16 => Colour::Basic(name as u8),
        // The program chooses no other by name.
        Color::Named(_) => Colour::Default,
        Color::Indexed(index) => Colour::Indexed(index),
        Color::Spec(rgb) => Colour::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

/// A cell's character. The terminal keeps a tab in the cell where it was written; it shows as a blank.
pub(super) fn shown(cell: &Cell) -> char {
    if cell.c == '\t' { ' ' } else { cell.c }
}
