//! Sentences in lines that a terminal does not break inside of words.

use unicode_width::UnicodeWidthStr;

/// The text in lines of this width, broken between words, and not inside of a `command`; a word that is wider has a line of its own. Lines behind the
/// first begin with `indent` blanks.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut is_empty = true;
    for word in words(text) {
        if !is_empty && line.width() + 1 + word.width() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// What is between blanks; what is between backticks is one word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |character| {
        is_quoted ^= character == '`';
        character == ' ' && !is_quoted
    })
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_end_between_words() {
        assert_eq!(wrap("one two three", 7, 0), ["one two", "three"]);
        assert_eq!(wrap("one two three", 9, 2), ["one two", "  three"]);
    }

    #[test]
    fn a_word_that_is_too_wide_has_a_line_of_its_own() {
        assert_eq!(
            wrap("see /a/long/path for it", 8, 1),
            ["see", " /a/long/path", " for it"]
        );
        assert_eq!(wrap("", 8, 1), [""]);
    }

    #[test]
    fn a_command_stays_in_one_piece() {
        assert_eq!(
            wrap("start it with `transom up --json`, or not", 20, 0),
            ["start it with", "`transom up --json`,", "or not"]
        );
    }

    #[test]
    fn blanks_within_are_kept() {
        assert_eq!(wrap("pin  x", 80, 0), ["pin  x"]);
    }
}
