//! Listings for people.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{escape::escape, output::STRONG};

/// Rows under a heading; every cell is escaped on its way in.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings and no rows.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()],
        }
    }

    /// Adds a row of as many cells as there are headings.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        debug_assert_eq!(
            N,
            self.rows[0].len(),
            "a row has as many cells as there are headings"
        );
        self.rows
            .push(cells.iter().map(|cell| escape(cell).into_owned()).collect());
    }

    /// The table's lines, each cut to the width if there is one. The last column gives way first; where too little of it
    /// would remain, the first one does.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let mut widths: Vec<usize> = (0..self.rows[0].len())
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| row[column].width())
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        if let (Some(width), [first, middle @ .., last]) = (width, &mut widths[..]) {
            let others: usize = middle.iter().map(|width| width + GAP).sum::<usize>() + GAP;
            let room = width.saturating_sub(others + LAST.min(*last));
            *first = (*first).min(room.max(FIRST));
        }
        let lines = self.rows.iter().enumerate().map(|(index, row)| {
            let line = cut(&line(row, &widths), width.unwrap_or(usize::MAX));
            if index == 0 {
                format!("{STRONG}{line}{STRONG:#}")
            } else {
                line
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let cell = cut(cell, *width);
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + GAP));
    }
    line.truncate(line.trim_end().len());
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
    fn a_wide_character_is_not_cut_in_half() {
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("ab", 0), "");
    }
}
