//! Everything that a snapshot must bring back, so that two terminals can be compared.

use super::super::cell::Cell;
use super::super::colours::Colours;
use super::super::links::UNNAMED;
use super::super::modes::{CursorStyle, Modes};
use super::super::terminal::{Cursor, Grid, Terminal};
use crate::screen::keyboard::Keyboard;
use crate::screen::titles::Titles;
use crate::snapshot::Pen;

#[derive(Debug, PartialEq)]
pub(super) struct State {
    pub(super) visible: Picture,
    /// The primary screen behind the alternate one.
    pub(super) hidden: Option<Picture>,
    pub(super) modes: Modes,
    pub(super) region: (usize, usize),
    pub(super) tabs: Vec<bool>,
    pub(super) is_shifted: bool,
    pub(super) titles: Titles,
    pub(super) keyboards: (Keyboard, Keyboard),
    pub(super) other_keys: u8,
    pub(super) cursor_style: Option<CursorStyle>,
    pub(super) kept_modes: Vec<u16>,
    pub(super) colours: Colours,
}

#[derive(Debug, PartialEq)]
pub(super) struct Picture {
    pub(super) rows: Vec<String>,
    /// For each row, where which pen begins.
    pub(super) pens: Vec<Vec<(usize, Pen)>>,
    pub(super) cursor: Place,
    pub(super) saved: Place,
}

#[derive(Debug, PartialEq)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) needs_wrap: bool,
    pub(super) pen: Pen,
    pub(super) drawings: [bool; 4],
}

impl State {
    /// What is different, for whoever reads a failure.
    pub(super) fn differences(&self, other: &Self) -> String {
        let (ours, theirs) = (format!("{self:#?}"), format!("{other:#?}"));
        let lines = ours.lines().zip(theirs.lines());
        let different = lines.filter(|(ours, theirs)| ours != theirs).take(12);
        different
            .map(|(ours, theirs)| format!("{ours}  <>  {theirs}\n"))
            .collect()
    }

    pub(super) fn of(terminal: &Terminal) -> Self {
        Self {
            visible: Picture::of(terminal, &terminal.grid),
            hidden: terminal
                .hidden
                .as_ref()
                .map(|primary| Picture::of(terminal, primary)),
            modes: terminal.modes,
            region: terminal.region,
            tabs: terminal.tabs.clone(),
            is_shifted: terminal.is_shifted,
            titles: terminal.titles.clone(),
            keyboards: (terminal.keyboard.clone(), terminal.other_keyboard.clone()),
            other_keys: terminal.other_keys,
            cursor_style: terminal.cursor_style,
            kept_modes: terminal.kept_modes.clone(),
            colours: terminal.colours.clone(),
        }
    }

    /// What was left out of the snapshot for want of a sequence may be in another row by now.
    pub(super) fn without_wraps(mut self) -> Self {
        for picture in self.hidden.iter_mut().chain([&mut self.visible]) {
            picture
                .rows
                .iter_mut()
                .for_each(|row| *row = row.replace('↵', ""));
        }
        self
    }
}

impl Picture {
    fn of(terminal: &Terminal, grid: &Grid) -> Self {
        let columns = terminal.columns;
        let pen = |style| anonymous(terminal.styles.pen(style));
        // Where lines wrap is not seen; it counts only when the size changes. It is left out where no sequence
        // brings it back: in the last row, and in the row where the cursor stands behind the last column.
        let wraps = |row: usize| {
            let is_cursors = grid.cursor.needs_wrap && row == grid.cursor.row;
            row + 1 < grid.rows.len() && !is_cursors && grid.rows[row].is_wrapped
        };
        let row = |at: usize| {
            let row = &grid.rows[at];
            let texts = (0..columns).map(|column| text(terminal, row.cell(column)));
            texts.collect::<String>() + if wraps(at) { "↵" } else { "" }
        };
        let pens = |row: usize| {
            let style = |column| terminal.styles.get(grid.rows[row].cell(column).style());
            runs((0..columns).map(|column| pen(style(column))))
        };
        let place = |cursor: &Cursor| Place {
            row: cursor.row,
            column: cursor.column,
            needs_wrap: cursor.needs_wrap,
            pen: pen(cursor.pen),
            drawings: cursor.drawings,
        };
        Self {
            rows: (0..grid.rows.len()).map(row).collect(),
            pens: (0..grid.rows.len()).map(pens).collect(),
            cursor: place(&grid.cursor),
            saved: place(&grid.saved),
        }
    }
}

/// Where which pen begins.
pub(super) fn runs(pens: impl Iterator<Item = Pen>) -> Vec<(usize, Pen)> {
    let mut runs: Vec<(usize, Pen)> = pens.enumerate().collect();
    runs.dedup_by(|(_, next), (_, pen)| next == pen);
    runs
}

/// A cell's text, with what must not get lost: `<` for the right half of a wide character.
fn text(terminal: &Terminal, cell: Cell) -> String {
    let half = if cell.is_half() { "<" } else { "" };
    let wide = if cell.is_wide() { ">" } else { "" };
    let (character, marks) = terminal.clusters.parts(cell);
    format!("{half}{character}{marks}{wide}")
}

/// Links without an id get one from a counter.
pub(super) fn anonymous(mut pen: Pen) -> Pen {
    if let Some(link) = pen
        .link
        .as_mut()
        .filter(|link| link.id.starts_with(UNNAMED) || link.id.ends_with("_alacritty"))
    {
        link.id.clear();
    }
    pen
}
