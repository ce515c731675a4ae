//! An offer in words, with its link and its QR code, laid out for the room there is.

use pairing::Role;
use unicode_width::UnicodeWidthStr;

use crate::{qr, wrap::wrap};

/// What there is to say about an offer.
#[derive(Debug)]
pub(super) struct OfferText<'a> {
    /// The link, escaped.
    pub(super) link: &'a str,
    pub(super) role: Option<Role>,
    /// Minutes until it ends.
    pub(super) minutes: u64,
    /// What became of the offer before.
    pub(super) why: Option<&'a str>,
}

/// A terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) columns: usize,
    pub(super) rows: usize,
    /// Whether it may know hyperlinks (OSC 8).
    pub(super) has_links: bool,
}

impl OfferText<'_> {
    /// The lines for what is no terminal.
    pub(super) fn plain(&self) -> Vec<String> {
        let mut lines = vec![self.link.to_owned()];
        lines.extend(self.words("Open the link."));
        lines
    }

    /// The lines for a terminal, coloured: the link in one piece above the QR code and the words beside that; where
    /// this is higher than the terminal, the link in pieces among the words; where that is too large, no QR code.
    pub(super) fn drawn(&self, room: &Room) -> Vec<String> {
        let link = self.linked(self.link, room);
        let fits = |picture: &qr::Picture| {
            picture.lines.len() <= room.rows && picture.width + GAP + WORDS <= room.columns
        };
        let Some(picture) = qr::picture(self.link).filter(fits) else {
            let mut words = self.words("Open the link.");
            words.push("(The QR code does not fit here: 80 × 24 is enough for a short name.)".to_owned());
            let mut lines = vec![link];
            lines.extend(words.iter().flat_map(|words| wrap(words, room.columns, 0)));
            return lines;
        };
        let width = (room.columns - picture.width - GAP).min(WORDS_AT_MOST);
        let above = rows_of(self.link, room) + 1;
        if above + picture.lines.len() <= room.rows {
            let words = self.words("Scan the code, or open the link above it.");
            let mut lines = vec![link, String::new()];
            lines.extend(beside(&picture, &wrapped(&words, width)));
            return lines;
        }
        let mut words = self.words("Scan the code, or open this link:");
        let after = words.split_off(words.len() - WORDS_BEHIND_LINK);
        let mut text = wrapped(&words, width);
        // Directly below the words that announce it.
        text.pop();
        text.extend(
            pieces(self.link, width)
                .iter()
                .map(|piece| self.linked(piece, room)),
        );
        text.push(String::new());
        text.extend(wrapped(&after, width));
        let hint = "A taller terminal, or --json, prints the link in one piece.".to_owned();
        text.extend(wrapped(&[hint], width));
        beside(&picture, &text)
    }

    /// The rows that these lines, as drawn, take in the terminal.
    pub(super) fn rows(&self, lines: &[String], room: &Room) -> usize {
        let plain = |line: &String| rows_of(&anstream::adapter::strip_str(line).to_string(), room);
        lines.iter().map(plain).sum()
    }

    fn words(&self, how: &str) -> Vec<String> {
        let device = self
            .role
            .map_or_else(|| "a device".to_owned(), |role| format!("a device as {role}"));
        let mut words: Vec<String> = self
            .why
            .map(|why| format!("{why}; here is a fresh one."))
            .into_iter()
            .collect();
        words.extend([
            format!("Pair {device}."),
            how.to_owned(),
            format!("It works once, for {} min.", self.minutes),
            "Waiting for the device …".to_owned(),
        ]);
        words
    }

    /// A piece of the link that opens the whole of it.
    fn linked(&self, piece: &str, room: &Room) -> String {
        let is_plain = self.link.bytes().all(|byte| byte.is_ascii_graphic());
        if room.has_links && is_plain {
            format!("\x1b]8;id=offer;{}\x1b\\{piece}\x1b]8;;\x1b\\", self.link)
        } else {
            piece.to_owned()
        }
    }
}

fn rows_of(line: &str, room: &Room) -> usize {
    line.width().div_ceil(room.columns.max(1)).max(1)
}

/// The picture with the text to its right.
fn beside(picture: &qr::Picture, text: &[String]) -> Vec<String> {
    let nothing = String::new();
    let text = text.iter().chain(std::iter::repeat(&nothing));
    let line = |(code, text): (&String, &String)| format!("{DARK_ON_LIGHT}{code}{PLAIN}  {text}");
    picture.lines.iter().zip(text).map(line).collect()
}

/// The sentences in lines of this width, with an empty one behind each.
fn wrapped(sentences: &[String], width: usize) -> Vec<String> {
    let lines = |sentence: &String| {
        let mut lines = wrap(sentence, width, 0);
        lines.push(String::new());
        lines
    };
    sentences.iter().flat_map(lines).collect()
}

/// The link in pieces of this width.
fn pieces(link: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = link.chars().collect();
    characters
        .chunks(width)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Columns between picture and words.
const GAP: usize = 2;
/// Columns of the words beside the picture, at least and at most.
const WORDS: usize = 29;
const WORDS_AT_MOST: usize = 60;
/// How many of the words come after the link.
const WORDS_BEHIND_LINK: usize = 2;
/// Black on white of the 256 colours, which themes leave alone.
const DARK_ON_LIGHT: &str = "\x1b[38;5;16;48;5;231m";
const PLAIN: &str = "\x1b[0m";

#[cfg(test)]
mod tests {
    use pairing::Role;

    use super::{OfferText, Room};

    fn link() -> String {
        let (id, secret, pin) = ("0".repeat(16), "s".repeat(43), "p".repeat(43));
        format!("https://127.0.0.1:7443/pair#ofr_{id}.{secret}.sha256/{pin}")
    }

    fn drawn(columns: usize, rows: usize, why: Option<&str>) -> (Vec<String>, usize) {
        let link = link();
        let text = OfferText {
            link: &link,
            role: Some(Role::Viewer),
            minutes: 5,
            why,
        };
        let room = Room {
            columns,
            rows,
            has_links: true,
        };
        let lines = text.drawn(&room);
        let taken = text.rows(&lines, &room);
        let plain = lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string());
        (plain.collect(), taken)
    }

    #[test]
    fn code_words_and_the_whole_link_fit_80_columns_and_24_rows() {
        let (lines, rows) = drawn(
            80,
            24,
            Some("Somebody guessed at the offer, and it was withdrawn"),
        );
        assert!(rows <= 24 && lines.len() == rows, "{rows} rows");
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        let column = lines.iter().map(|line| line.chars().skip(49).collect::<String>());
        assert!(column.collect::<String>().contains(&link()), "{lines:#?}");
        for words in [
            "Pair a device as viewer.",
            "Waiting for the device …",
            "one piece.",
        ] {
            assert!(lines.iter().any(|line| line.ends_with(words)), "{lines:#?}");
        }
    }

    #[test]
    fn the_link_is_in_one_piece_above_the_code_where_there_is_room() {
        let (lines, rows) = drawn(120, 40, None);
        assert_eq!((lines[0].as_str(), lines[1].as_str()), (link().as_str(), ""));
        assert_eq!(rows, lines.len() + 1, "the link takes two rows");
        assert!(lines[2..].iter().all(|line| !line.contains("https")));
    }

    #[test]
    fn a_small_terminal_gets_the_link_and_the_words_alone() {
        let (lines, _) = drawn(40, 20, None);
        assert_eq!(lines[0], link());
        assert!(lines[1..].iter().all(|line| line.chars().count() <= 40));
        assert!(lines[1..].join(" ").contains("does not fit"));
    }
}
