//! Drawing a screenful so that only what changed is written.

use std::{fmt::Write as _, sync::Arc};

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// A piece of text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The text, escaped.
    pub(crate) text: String,
    /// Its style.
    pub(crate) style: Style,
    /// The address that it opens (OSC 8), of visible ASCII.
    pub(crate) link: Option<Arc<str>>,
}

impl Span {
    /// Text without a style.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    /// Text in a style.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
            link: None,
        }
    }
}

/// What a screen shows: cells, row by row. A frame is made of lines and drawn over the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    columns: usize,
    rows: Vec<Vec<Cell>>,
    flow: Option<(usize, Span)>,
}

/// One cell; the one behind a wide character is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    text: String,
    style: Style,
    link: Option<Arc<str>>,
}

impl Frame {
    /// A frame of this size with the lines from its top on; what does not fit is cut.
    pub(crate) fn new(columns: usize, rows: usize, lines: &[Vec<Span>]) -> Self {
        let mut all: Vec<Vec<Cell>> = lines.iter().take(rows).map(|line| cells(line, columns)).collect();
        all.resize(rows, Vec::new());
        Self {
            columns,
            rows: all,
            flow: None,
        }
    }

    /// The same with a text from the beginning of this row on that the terminal itself breaks, so that it is copied in one
    /// piece. The rows that it takes are blank in the lines, and there are as many.
    pub(crate) fn with_flow(mut self, row: usize, text: Span) -> Self {
        self.flow = Some((row, text));
        self
    }

    /// The bytes that draw this frame where `former` stands, or on any screen if there is none.
    ///
    /// They are one synchronized update, and end in the default style; nothing at all where nothing changed.
    pub(crate) fn draw_over(&self, former: Option<&Self>, has_colour: bool) -> Vec<u8> {
        let is_like = |other: &&Self| {
            other.columns == self.columns && other.rows.len() == self.rows.len() && other.flow == self.flow
        };
        let former = former.filter(is_like);
        let mut drawn = String::new();
        let none = Vec::new();
        for (row, cells) in self.rows.iter().enumerate() {
            let before = former.map_or(&none, |former| &former.rows[row]);
            draw_row(row, cells, before, has_colour, &mut drawn);
        }
        let clear = if former.is_none() { "\x1b[m\x1b[2J" } else { "" };
        if drawn.is_empty() && clear.is_empty() {
            return Vec::new();
        }
        if let (Some((row, text)), None) = (&self.flow, former) {
            let Span { text, style, link } = text;
            let style = if has_colour { *style } else { Style::new() };
            let (open, close) = (opening(link.as_ref()), link.as_ref().map_or("", |_| CLOSE));
            let at = row + 1;
            write!(
                drawn,
                "\x1b[{at};1H\x1b[m{style}{WRAP}{open}{text}{close}{NO_WRAP}"
            )
            .expect(INFALLIBLE);
        }
        format!("{BEGIN}{clear}{drawn}\x1b[m{END}").into_bytes()
    }
}

/// Draws the runs of cells that differ.
fn draw_row(row: usize, cells: &[Cell], before: &[Cell], has_colour: bool, drawn: &mut String) {
    let mut at = None;
    let mut style = None;
    let mut link = None;
    for (column, cell) in cells.iter().enumerate() {
        let is_same = before
            .get(column)
            .map_or_else(|| cell.is_blank(), |former| former == cell);
        // What stands behind a wide character is drawn with it.
        if is_same || cell.text.is_empty() {
            continue;
        }
        if at != Some(column) {
            write!(drawn, "\x1b[{};{}H", row + 1, column + 1).expect(INFALLIBLE);
        }
        if has_colour && style != Some(cell.style) {
            write!(drawn, "\x1b[m{}", cell.style).expect(INFALLIBLE);
            style = Some(cell.style);
        }
        if link != cell.link {
            drawn.push_str(if cell.link.is_none() { CLOSE } else { "" });
            drawn.push_str(&opening(cell.link.as_ref()));
            link.clone_from(&cell.link);
        }
        drawn.push_str(&cell.text);
        // Terminals differ about the width of some characters: behind those the place is said anew.
        at = cell.text.is_ascii().then_some(column + 1);
    }
    if link.is_some() {
        drawn.push_str(CLOSE);
    }
    // Everything behind the line's end is blank now.
    if before
        .get(cells.len()..)
        .is_some_and(|rest| rest.iter().any(|cell| !cell.is_blank()))
    {
        write!(drawn, "\x1b[{};{}H\x1b[m\x1b[K", row + 1, cells.len() + 1).expect(INFALLIBLE);
    }
}

impl Cell {
    fn is_blank(&self) -> bool {
        self.text == " " && self.style == Style::new() && self.link.is_none()
    }
}

/// Begins a hyperlink; its parts on several lines are one by their id.
fn opening(link: Option<&Arc<str>>) -> String {
    link.map_or_else(String::new, |link| format!("\x1b]8;id=link;{link}\x1b\\"))
}

fn cells(line: &[Span], columns: usize) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for span in line {
        for character in span.text.chars() {
            let width = character.width().unwrap_or_default();
            if width == 0 {
                // A mark on the character before it.
                if let Some(base) = cells.iter_mut().rfind(|cell| !cell.text.is_empty()) {
                    base.text.push(character);
                }
                continue;
            }
            if cells.len() + width > columns {
                return cells;
            }
            cells.push(Cell {
                text: character.to_string(),
                style: span.style,
                link: span.link.clone(),
            });
            for _ in 1..width {
                cells.push(Cell {
                    text: String::new(),
                    style: span.style,
                    link: span.link.clone(),
                });
            }
        }
    }
    cells
}

/// Begin and end of a synchronized update; terminals that do not know them ignore them.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// Ends a hyperlink.
const CLOSE: &str = "\x1b]8;;\x1b\\";
/// Whether the terminal goes on in the next line where one is full.
const WRAP: &str = "\x1b[?7h";
const NO_WRAP: &str = "\x1b[?7l";
const INFALLIBLE: &str = "writing to a String cannot fail";

#[cfg(test)]
mod tests {
    use anstyle::{AnsiColor, Style};

    use super::{Frame, Span};

    const RED: Style = AnsiColor::Red.on_default();

    fn frame(columns: usize, rows: usize, lines: &[&str]) -> Frame {
        let lines: Vec<Vec<Span>> = lines.iter().map(|line| vec![Span::plain(*line)]).collect();
        Frame::new(columns, rows, &lines)
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// What a terminal shows that drew the frames one over the other.
    fn shown(columns: u16, rows: u16, frames: &[Frame]) -> (Vec<String>, Vec<u8>) {
        let mut screen = terminal::screen(terminal::Size::new(columns, rows));
        let mut former = None;
        for frame in frames {
            screen.feed(&frame.draw_over(former, true));
            former = Some(frame);
        }
        // The cursor is hidden; where it stands is nobody's business.
        screen.feed(b"\x1b[H");
        (screen.text_lines(), screen.snapshot())
    }

    #[test]
    fn only_changed_cells_are_drawn() {
        let one = frame(20, 3, &["build  running  3s", "test   running  9s"]);
        let two = frame(20, 3, &["build  running  4s", "test   running  9s"]);
        let bytes = text(&two.draw_over(Some(&one), true));
        assert_eq!(bytes, "\x1b[?2026h\x1b[1;17H\x1b[m4\x1b[m\x1b[?2026l");
    }

    #[test]
    fn nothing_is_written_where_nothing_changed() {
        let one = frame(20, 3, &["a"]);
        assert!(one.draw_over(Some(&one.clone()), true).is_empty());
    }

    #[test]
    fn a_first_frame_and_one_of_another_size_clear_the_screen() {
        let one = frame(20, 3, &["a"]);
        assert!(text(&one.draw_over(None, true)).contains("\x1b[2J"));
        assert!(text(&frame(21, 3, &["a"]).draw_over(Some(&one), true)).contains("\x1b[2J"));
    }

    #[test]
    fn a_style_that_changes_is_drawn_anew_and_ends() {
        let plain = Frame::new(9, 1, &[vec![Span::plain("ab")]]);
        let red = Frame::new(9, 1, &[vec![Span::plain("a"), Span::styled("b", RED)]]);
        assert_eq!(
            text(&red.draw_over(Some(&plain), true)),
            "\x1b[?2026h\x1b[1;2H\x1b[m\x1b[31mb\x1b[m\x1b[?2026l"
        );
    }

    #[test]
    fn without_colour_no_style_is_written() {
        let red = Frame::new(9, 1, &[vec![Span::styled("b", RED)]]);
        assert!(!text(&red.draw_over(None, false)).contains("31m"));
    }

    #[test]
    fn a_link_opens_before_its_text_and_closes_behind_it() {
        let mut link = Span::plain("b");
        link.link = Some("https://x".into());
        let line = [Span::plain("a"), link, Span::plain("c")];
        let drawn = text(&Frame::new(9, 1, &[line.to_vec()]).draw_over(None, false));
        assert!(
            drawn.contains("a\x1b]8;id=link;https://x\x1b\\b\x1b]8;;\x1b\\c"),
            "{drawn:?}"
        );
        let drawn = text(&Frame::new(9, 1, &[line[..2].to_vec()]).draw_over(None, false));
        assert!(drawn.contains("b\x1b]8;;\x1b\\\x1b[m"), "{drawn:?}");
    }

    #[test]
    fn a_flow_is_broken_by_the_terminal_and_drawn_anew_only_where_it_changed() {
        let with = |flow: &str| frame(5, 4, &["top", "", "", "end"]).with_flow(1, Span::plain(flow));
        let (one, two) = (with("abcdefg"), with("abcdefgh"));
        let lines = shown(5, 4, &[one.clone(), two.clone()]).0;
        assert_eq!(lines, ["top", "abcde", "fgh", "end"]);
        assert!(one.draw_over(Some(&one.clone()), true).is_empty());
        assert_eq!(shown(5, 4, &[two, frame(5, 4, &["x"])]).0, ["x", "", "", ""]);
    }

    #[test]
    fn drawing_over_shows_the_same_as_drawing_alone() {
        let texts = [
            "",
            "a",
            "日本語 x",
            "x日本語",
            "e\u{301}e\u{301}é",
            "a b c d e f g h i",
            "  x",
            "日",
            "ab",
            "🦀🦀🦀🦀🦀🦀🦀",
            "x🦀x",
            "long enough to be cut off",
        ];
        for one in texts {
            for two in texts {
                let frames = [frame(12, 2, &[one, two]), frame(12, 2, &[two, one])];
                assert_eq!(
                    shown(12, 2, &frames),
                    shown(12, 2, &frames[1..]),
                    "{one:?} {two:?}"
                );
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_wide_characters_are_whole() {
        let frame = frame(5, 2, &["ab日本", "c", "never"]);
        assert_eq!(shown(5, 2, &[frame]).0, ["ab日", "c"]);
    }
}
