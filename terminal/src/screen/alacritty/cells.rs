//! Reading a terminal's cells: with their attributes, as text.

use alacritty_terminal::grid::Row;
use alacritty_terminal::index::Column;
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::vte::ansi::{Color, NamedColor};

use super::terminal::Terminal;
use crate::screen::Line;
use crate::snapshot::{Colour, Link, Painter, Pen, Underline};

/// The rows as text.
pub(super) fn text_lines(terminal: &Terminal) -> Vec<String> {
    let text = |row| {
        let mut text = String::new();
        for column in 0..terminal.columns() {
            let cell = terminal.cell(row, column);
            if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                text.push(shown(cell));
                text.extend(cell.zerowidth().unwrap_or_default());
            }
        }
        text.truncate(text.trim_end().len());
        text
    };
    (0..terminal.rows()).map(text).collect()
}

/// A row as text, with and without sequences.
pub(super) fn line(row: &Row<Cell>, columns: usize, number: u64) -> Line {
    let cells: Vec<&Cell> = (0..columns).map(|column| &row[Column(column)]).collect();
    let wrapped = cells[columns - 1].flags.contains(Flags::WRAPLINE);
    let filled = cells
        .iter()
        .rposition(|cell| !is_blank(cell))
        .map_or(0, |last| last + 1);
    let mut painter = Painter::default();
    let mut text = String::new();
    for cell in &cells[..if wrapped { columns } else { filled }] {
        if !cell
            .flags
            .intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
        {
            painter.character(shown(cell), cell.zerowidth().unwrap_or_default(), &pen(cell));
            text.push(shown(cell));
            text.extend(cell.zerowidth().unwrap_or_default());
        }
    }
    painter.set_pen(&Pen::default());
    if !wrapped {
        text.truncate(text.trim_end().len());
    }
    Line {
        number,
        ansi: String::from_utf8_lossy(&painter.into_bytes()).into_owned(),
        text,
        wrapped,
    }
}

/// Draws a row; `goes_on` says that the row before wraps into it, with the cursor still behind that one's last
/// column. Returns the same for the next row.
pub(super) fn draw_row(terminal: &Terminal, painter: &mut Painter, row: usize, goes_on: bool) -> bool {
    let columns = terminal.columns();
    let wraps = terminal.is_wrapped(row) && row + 1 < terminal.rows();
    let filled = (0..columns)
        .rev()
        .find(|column| !is_blank(terminal.cell(row, *column)));
    let length = match filled {
        _ if wraps => columns,
        Some(column) => column + 1,
        None => usize::from(goes_on),
    };
    let mut at = goes_on.then_some(0);
    for column in 0..length {
        let cell = terminal.cell(row, column);
        let must_print = (column == 0 && goes_on) || (column + 1 == columns && wraps);
        if cell.flags.contains(Flags::WIDE_CHAR_SPACER) || (is_blank(cell) && !must_print) {
            continue;
        }
        match at {
            Some(at) if at < column => painter.forward(column - at),
            Some(_) => {}
            None => painter.go(row, column),
        }
        if wraps && column + 1 == columns && leads_to_wide(terminal, row) {
            // The wide character that begins the next row wraps by itself.
            at = Some(column);
            continue;
        }
        painter.character(shown(cell), cell.zerowidth().unwrap_or_default(), &pen(cell));
        at = Some(
            column
                + if cell.flags.contains(Flags::WIDE_CHAR) {
                    2
                } else {
                    1
                },
        );
    }
    wraps
}

/// Whether the row's last cell is blank because a wide character did not fit, which now begins the next row.
fn leads_to_wide(terminal: &Terminal, row: usize) -> bool {
    let (last, next) = (
        terminal.cell(row, terminal.columns() - 1),
        terminal.cell(row + 1, 0),
    );
    last.flags.contains(Flags::LEADING_WIDE_CHAR_SPACER)
        && next.flags.contains(Flags::WIDE_CHAR)
        && last.zerowidth().is_none_or(<[char]>::is_empty)
        && pen(last) == pen(next)
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

/// Whether a cell is as on a fresh screen.
pub(super) fn is_blank(cell: &Cell) -> bool {
    shown(cell) == ' '
        && (cell.flags - (Flags::WRAPLINE | Flags::LEADING_WIDE_CHAR_SPACER)).is_empty()
        && cell.bg == Color::Named(NamedColor::Background)
        && cell.fg == Color::Named(NamedColor::Foreground)
        && cell.zerowidth().is_none_or(<[char]>::is_empty)
        && cell.underline_color().is_none()
        && cell.hyperlink().is_none()
}
