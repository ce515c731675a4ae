//! Repainting a part of a terminal's screen.

use alacritty_terminal::term::TermMode;
use alacritty_terminal::term::cell::Flags;

use super::cells::{is_blank, pen, shown};
use super::terminal::Terminal;
use crate::size::Size;
use crate::snapshot::{Painter, Pen};

/// Bytes that repaint as much of the screen as a terminal of `size` shows, with the cursor in it.
pub(super) fn draw(terminal: &Terminal, size: Size) -> Vec<u8> {
    let (rows, columns) = (usize::from(size.rows()), usize::from(size.columns()));
    let (cursor_row, cursor_column, _) = terminal.cursor();
    let top = (cursor_row + 1).saturating_sub(rows);
    let left = (cursor_column + 1).saturating_sub(columns);
    let mut painter = Painter::default();
    painter.sequence("\x1b[?25l\x1b[0m");
    for line in 0..rows {
        painter.go(line, 0);
        let end = if top + line < terminal.rows() {
            (left + columns).min(terminal.columns())
        } else {
            left
        };
        let filled = (left..end)
            .rev()
            .find(|column| !is_blank(terminal.cell(top + line, *column)));
        for column in left..filled.map_or(left, |column| column + 1) {
            part(terminal, &mut painter, top + line, column, left..end);
        }
        painter.set_pen(&Pen::default());
        // Behind the last column there is nothing to erase, and erasing there takes the last character.
        if filled.is_none_or(|column| column + 1 < left + columns) {
            painter.sequence("\x1b[K");
        }
    }
    painter.go(cursor_row - top, cursor_column - left);
    if terminal.has(TermMode::SHOW_CURSOR) {
        painter.sequence("\x1b[?25h");
    }
    painter.into_bytes()
}

/// Draws a cell of a crop; halves of wide characters at its edges are blank.
fn part(terminal: &Terminal, painter: &mut Painter, row: usize, column: usize, crop: std::ops::Range<usize>) {
    let cell = terminal.cell(row, column);
    let is_wide = cell.flags.contains(Flags::WIDE_CHAR);
    let is_half = cell.flags.contains(Flags::WIDE_CHAR_SPACER);
    if (is_wide && column + 1 == crop.end) || (is_half && column == crop.start) {
        painter.character(' ', &[], &pen(cell));
    } else if !is_half {
        painter.character(shown(cell), cell.zerowidth().unwrap_or_default(), &pen(cell));
    }
}
