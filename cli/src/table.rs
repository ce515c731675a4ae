//! Listings for people.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{escape::escape, frame::Span, output::STRONG, wrap::wrap};

/// Rows under a heading; every cell is escaped on its way in.
pub(crate) struct Table {
    rows: Vec<Vec<Span>>,
    /// How many of the last columns stand below their row where there is no room for all.
    folded: usize,
    /// Whether the last column goes on below instead of being cut.
    wraps: bool,
}

impl Table {
    /// A table with these headings and no rows.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let heading = |text: &&str| Span::styled(*text, STRONG);
        Self {
            rows: vec![headings.iter().map(heading).collect()],
            folded: 0,
            wraps: false,
        }
    }

    /// The same whose last columns, so many, stand below their row where there is no room for all.
    pub(crate) fn folding(self, folded: usize) -> Self {
        Self { folded, ..self }
    }

    /// The same whose last column goes on below instead of being cut.
    pub(crate) fn wrapping(self) -> Self {
        Self { wraps: true, ..self }
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
        let mut widths = self.widths();
        let whole = widths.iter().map(|width| width + GAP).sum::<usize>() - GAP;
        let is_folded = width.is_some_and(|width| whole > width);
        if is_folded {
            widths.truncate(widths.len() - self.folded);
        }
        if let (Some(width), [first, middle @ .., last]) = (width, &mut widths[..]) {
            let others: usize = middle.iter().map(|width| width + GAP).sum::<usize>() + GAP;
            let room = width.saturating_sub(others + LAST.min(*last));
            *first = (*first).min(room.max(FIRST));
        }
        let room = width.unwrap_or(usize::MAX);
        let above = |row: &[Span]| match self.wraps {
            true => wrapped(row, &widths, room),
            false => vec![line(row, &widths, room)],
        };
        let mut lines = above(&self.rows[0]);
        for row in &self.rows[1..] {
            lines.extend(above(row));
            if is_folded && self.folded > 0 {
                lines.push(self.below(row, room));
            }
        }
        lines
    }

    /// The widths of all columns.
    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| self.rows.iter().map(|row| row[column].text.width()).max();
        let columns = 0..self.rows[0].len();
        columns.map(|column| width(column).unwrap_or_default()).collect()
    }

    /// What stands below a row: its last columns, each behind its heading.
    fn below(&self, row: &[Span], room: usize) -> Vec<Span> {
        let first = row.len() - self.folded;
        let named = self.rows[0][first..].iter().zip(&row[first..]);
        let named = named.map(|(heading, cell)| format!("{} {}", heading.text.to_lowercase(), cell.text));
        let text = named.collect::<Vec<_>>().join(&" ".repeat(GAP));
        vec![Span::plain(cut(&format!("{}{text}", " ".repeat(GAP)), room))]
    }
}

/// The same in as many lines as the last cell needs.
fn wrapped(row: &[Span], widths: &[usize], room: usize) -> Vec<Vec<Span>> {
    let (Some(cell), [before @ .., _]) = (row.last(), widths) else {
        return Vec::new();
    };
    let indent = before.iter().map(|width| width + GAP).sum::<usize>();
    let left = room.saturating_sub(indent);
    if left < LAST || row.len() != widths.len() {
        return vec![line(row, widths, room)];
    }
    let fits = |word: &str| word.width() <= left;
    let (indent, beside) = match cell.text.split(' ').all(fits) {
        true => (indent, true),
        false => (2 * GAP, false),
    };
    let left = room - indent;
    let mut pieces = wrap(&cell.text, left, 0).into_iter();
    let mut first = row.to_vec();
    let begins = if beside { pieces.next() } else { None };
    first[row.len() - 1] = Span::styled(begins.unwrap_or_default(), cell.style);
    let goes_on = |piece: String| {
        let text = Span::styled(cut(&piece, left), cell.style);
        vec![Span::plain(" ".repeat(indent)), text]
    };
    std::iter::once(line(&first, widths, room))
        .chain(pieces.map(goes_on))
        .collect()
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
    fn columns_that_have_no_room_stand_below_their_row() {
        let mut table = Table::new(&["NAME", "STATE", "FROM", "NODE"]).folding(2);
        table.row(["phone", "live", "192.0.2.1", "none"]);
        let wide = "NAME   STATE  FROM       NODE\nphone  live   192.0.2.1  none";
        assert_eq!(plain(&table, Some(80)), wide);
        assert_eq!(
            plain(&table, Some(24)),
            "NAME   STATE\nphone  live\n  from 192.0.2.1  node …"
        );
    }

    #[test]
    fn a_last_column_that_wraps_is_read_whole() {
        let mut table = Table::new(&["KEY", "VALUE"]).wrapping();
        table.row(["a.b", "[\"one\", \"two\", \"three\"]"]);
        table.row(["a.c", "4"]);
        assert_eq!(
            plain(&table, Some(20)),
            "KEY  VALUE\na.b  [\"one\", \"two\",\n     \"three\"]\na.c  4"
        );
        table.row(["a.d", "/a/long/path/of"]);
        table.row(["a.e", "/a/longer/path/o"]);
        assert!(plain(&table, Some(20)).ends_with("\na.d  /a/long/path/of\na.e\n    /a/longer/path/o"));
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
