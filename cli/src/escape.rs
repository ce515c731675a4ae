//! The one way by which text from elsewhere reaches the terminal: labels, names, titles, last lines.

use std::{borrow::Cow, fmt::Write as _};

/// The text with every character spelled out, as in `\u{1b}`, that could act on a terminal or deceive who reads it:
/// control characters, direction marks, and characters without a width.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if acts(character) {
            write!(escaped, "\\u{{{:x}}}", u32::from(character)).expect("writing to a String cannot fail");
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Whether the character does more than stand there: C0, C1, and Unicode 17's format and separator characters.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn plain_text_of_any_script_stays_as_it_is() {
        for text in ["build", "größer", "日本語", "שלום", "🦀", "a\u{301}"] {
            assert_eq!(escape(text), text);
        }
    }

    #[test]
    fn no_escape_or_control_character_gets_through() {
        assert_eq!(escape("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(escape("\r\n\x07\x7f"), "\\u{d}\\u{a}\\u{7}\\u{7f}");
        assert_eq!(escape("\u{9b}6n\u{90}"), "\\u{9b}6n\\u{90}");
    }

    #[test]
    fn direction_marks_are_spelled_out() {
        assert_eq!(
            escape("ab\u{202e}ba\u{2066}\u{200f}\u{61c}"),
            "ab\\u{202e}ba\\u{2066}\\u{200f}\\u{61c}"
        );
    }

    #[test]
    fn characters_without_a_width_are_spelled_out() {
        assert_eq!(
            escape("a\u{200b}\u{200d}\u{feff}\u{e0041}"),
            "a\\u{200b}\\u{200d}\\u{feff}\\u{e0041}"
        );
    }
}
