//! The line below a picture of a session.

use protocol::attach::Mode;
use terminal::Size;
use unicode_width::UnicodeWidthStr;

use super::Place;
use crate::{escape::escape, table::cut};

/// One line as wide as the local terminal: the session, what is shown of it, and how to leave.
pub(super) fn status(place: &Place, session: Size, sized_by: Option<&str>, notice: Option<&str>) -> String {
    let said = match notice {
        Some(words) => words.to_owned(),
        None => described(place, session, sized_by),
    };
    line(place, &said)
}

/// The words behind the session's name, in one line as wide as the local terminal.
pub(super) fn line(place: &Place, said: &str) -> String {
    let width = usize::from(place.local.columns());
    let mut line = cut(&format!(" {}: {said}", escape(&place.name)), width);
    let missing = width.saturating_sub(line.width());
    line.extend(std::iter::repeat_n(' ', missing));
    line
}

fn described(place: &Place, session: Size, sized_by: Option<&str>) -> String {
    let mut said = format!(
        "Ctrl-\\ then d detaches; {} × {}",
        session.columns(),
        session.rows()
    );
    if session.columns() > place.local.columns() || session.rows() >= place.local.rows() {
        said.push_str(", in part");
    }
    match (sized_by, place.mode) {
        (Some(by), Mode::Write) => said.push_str(&format!(", the size of {}", escape(by))),
        (None, Mode::Write) => {}
        (_, Mode::View | Mode::Lossless) => said.push_str(", view"),
    }
    said
}

#[cfg(test)]
mod tests {
    use protocol::attach::Mode;
    use terminal::Size;
    use unicode_width::UnicodeWidthStr;

    use super::{Place, status};

    fn place(mode: Mode) -> Place {
        let [session, local] = [Size::new(200, 50), Size::new(70, 20)];
        Place {
            name: "build\x1b".to_owned(),
            mode,
            session,
            local,
            stage: super::super::Stage::Alternate,
            present: (1, 0),
        }
    }

    #[test]
    fn the_line_says_what_is_shown_and_how_to_leave() {
        let line = status(&place(Mode::View), Size::new(200, 50), Some("x"), None);
        assert_eq!(
            line.trim(),
            "build\\u{1b}: Ctrl-\\ then d detaches; 200 × 50, in part, view"
        );
        assert_eq!(line.width(), 70);
    }

    #[test]
    fn a_writer_is_told_whose_size_it_is() {
        let line = status(&place(Mode::Write), Size::new(60, 10), Some("a\u{202e}b"), None);
        assert!(line.contains("60 × 10, the size of a\\u{202e}b "), "{line}");
    }

    #[test]
    fn a_notice_stands_in_for_it_and_is_cut_to_the_width() {
        let line = status(
            &place(Mode::View),
            Size::new(200, 50),
            None,
            Some(&"long ".repeat(40)),
        );
        assert!(line.ends_with('…') && line.width() == 70, "{line}");
    }
}
