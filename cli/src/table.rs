//! Listings for people.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{escape::escape, frame::Span, output::STRONG};

/// Rows under a heading; every cell is escaped on its way in.
pub(crate) struct Table {
    rows: Vec<Vec<Span>>,
}

impl Table {
    /// A table with these headings and no rows.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let heading = |text: &&str| Span::styled(*text, STRONG);
        Self {
            rows: vec![headings.iter().map(heading).collect()],
        }
    }

    /// Adds a row of as many cells as there are headings.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.styled_row(&cells.map(|cell| (cell, Style::new())));
    }

    /// Adds a row of as many cells as there are headings, each in a style.
    pub(crate) fn styled_row(&mut self, cells: &[(&str, Style)]) {
        debug_assert_eq!(
            cells.len(),
            self.rows[0].len(),
            "a row has as many cells as there are headings"
        );
        let cell = |(text, style): &(&str, Style)| Span::styled(escape(text), *style);
        self.rows.push(cells.iter().map(cell).collect());
    }

    /// The table's text, each line cut to the width if there is one.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let lines = self.lines(width);
        let lines = lines.iter().map(|line| {
            let spans = line.iter().map(|span| {
                let Span { text, style, .. } = span;
                if style.is_plain() {
                    text.clone()
                } else {
                    format!("{style}{text}{style:#}")
                }
            });
            spans.collect::<String>()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The table's lines, each cut to the width if there is one. The last column gives way first; where too little of it
    /// would remain, the first one does.
    pub(crate) fn lines(&self, width: Option<usize>) -> Vec<Vec<Span>> {
        let mut widths: Vec<usize> = (0..self.rows[0].len())
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| row[column].text.width())
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        if let (Some(width), [first, middle @ .., last]) = (width, &mut widths[..]) {
            let others: usize = middle.iter().map(|width| width + GAP).sum::<usize>() + GAP;
            let room = width.saturating_sub(others + LAST.min(*last));
            *first = (*first).min(room.max(FIRST));
        }
        self.rows
            .iter()
            .map(|row| line(row, &widths, width.unwrap_or(usize::MAX)))
            .collect()
    }
}

/// The row's cells, padded to their columns' widths; blanks at the end are left out.
fn line(row: &[Span], widths: &[usize], mut room: usize) -> Vec<Span> {
    let mut line: Vec<Span> = Vec::new();
    let mut gap = 0;
    for (cell, width) in row.iter().zip(widths) {
        let text = cut(&cell.text, (*width).min(room.saturating_sub(gap)));
        let (filled, before) = (text.width(), gap);
        gap += width.saturating_sub(filled) + GAP;
        if text.is_empty() {
            continue;
        }
        if before > 0 {
            line.push(Span::plain(" ".repeat(before)));
        }
        line.push(Span::styled(text, cell.style));
        room = room.saturating_sub(before + filled);
        gap -= before;
    }
    line
}

/// The text, or as much of it as the width holds with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |character: &char| match room.checked_sub(character.width().unwrap_or_default()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.extend((width > 0).then_some('…'));
    kept
}

/// Spaces between columns.
const GAP: usize = 2;
/// Columns that the first and the last column keep where there is too little room for all.
const FIRST: usize = 20;
const LAST: usize = 12;

#[cfg(test)]
mod tests {
    use super::{Table, cut};

    fn table() -> Table {
        let mut table = Table::new(&["NAME", "LAST LINE"]);
        table.row(["build", "all went well"]);
        table.row(["日本", "\x1b[2J"]);
        table
    }

    fn plain(table: &Table, width: Option<usize>) -> String {
        anstream::adapter::strip_str(&table.render(width)).to_string()
    }

    #[test]
    fn columns_line_up_by_width_not_by_bytes() {
        assert_eq!(
            plain(&table(), None),
            "NAME   LAST LINE\nbuild  all went well\n日本   \\u{1b}[2J"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        assert_eq!(
            plain(&table(), Some(12)),
            "NAME   LAST…\nbuild  all …\n日本   \\u{1…"
        );
    }

    #[test]
    fn a_long_name_gives_way_to_what_stands_behind_it() {
        let mut table = Table::new(&["NAME", "STATE", "LAST LINE"]);
        table.row([&"n".repeat(48), "running", "this is what one wants to see"]);
        assert_eq!(
            plain(&table, Some(50)).lines().last().unwrap(),
            format!("{}…  running  this is wha…", "n".repeat(26))
        );
        assert!(
            plain(&table, Some(20))
                .lines()
                .all(|line| line.chars().count() <= 20)
        );
    }

    #[test]
    fn an_empty_cell_leaves_its_room() {
        let mut table = Table::new(&["A", "B", "C"]);
        table.row(["1", "", "3"]);
        table.row(["", "2", ""]);
        assert_eq!(plain(&table, None), "A  B  C\n1     3\n   2");
    }

    #[test]
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("ab", 0), "");
    }
}
