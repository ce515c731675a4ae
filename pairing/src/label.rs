//! Labels: the one free text that a remote side may give.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// A device's name for people: 1 to 64 characters, none of which can move, hide or reorder other text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Label(String);

/// Why a text is no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedLabel {
    /// Nothing is left once surrounding blanks are gone.
    #[error("a label must not be empty")]
    Empty,
    /// Longer than 64 characters.
    #[error("a label has at most 64 characters, this has {0}")]
    TooLong(usize),
    /// It has a control, format or bidirectional character.
    #[error("a label must not contain the invisible character U+{:04X}", *.0 as u32)]
    Invisible(char),
}

impl Label {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = MalformedLabel;

    /// Surrounding blanks are cut off.
    fn from_str(text: &str) -> Result<Self, MalformedLabel> {
        if let Some(bad) = text.chars().find(|c| is_invisible(*c)) {
            return Err(MalformedLabel::Invisible(bad));
        }
        let text = text.trim();
        match text.chars().count() {
            0 => Err(MalformedLabel::Empty),
            1..=MAX_CHARS => Ok(Self(text.into())),
            count => Err(MalformedLabel::TooLong(count)),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Whether a character draws nothing, or moves, hides or reorders what others draw: control characters (Cc), format characters (Cf, which holds the bidirectional ones), line and paragraph separators
/// (Zl, Zp), and the fillers, selectors and tags that draw nothing, but for the two
/// selectors that choose between text and emoji. Unicode 17.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{0600}'..='\u{0605}' | '\u{061C}' | '\u{06DD}' | '\u{070F}'
            | '\u{0890}'..='\u{0891}' | '\u{08E2}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0D}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Most characters of a label, and of every other remote text.
const MAX_CHARS: usize = 64;

#[cfg(test)]
mod tests {
    use super::{Label, MalformedLabel};
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::ProptestConfig;

    #[test]
    fn ordinary_names_in_any_script_are_labels() {
        for text in [
            "Ada's phone",
            "Büro-Rechner 2",
            "電話",
            "телефон",
            "📱 pocket",
            "❤\u{fe0f} phone",
        ] {
            assert_eq!(text.parse::<Label>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn surrounding_blanks_are_cut_off() {
        assert_eq!("  phone ".parse::<Label>().unwrap().to_string(), "phone");
    }

    #[test]
    fn an_empty_or_blank_label_is_refused() {
        assert_eq!("".parse::<Label>(), Err(MalformedLabel::Empty));
        assert_eq!("   ".parse::<Label>(), Err(MalformedLabel::Empty));
    }

    #[test]
    fn sixty_four_characters_fit_and_one_more_does_not() {
        assert!("é".repeat(64).parse::<Label>().is_ok());
        assert_eq!("é".repeat(65).parse::<Label>(), Err(MalformedLabel::TooLong(65)));
    }

    #[test]
    fn escape_bidi_and_invisible_characters_are_refused() {
        for bad in [
            '\u{1b}',
            '\n',
            '\u{7f}',
            '\u{9b}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{200b}',
            '\u{200f}',
            '\u{2028}',
            '\u{61c}',
            '\u{ad}',
            '\u{feff}',
            '\u{fe00}',
            '\u{e0041}',
            '\u{3164}',
            '\u{fff9}',
        ] {
            assert_eq!(
                format!("pho{bad}ne").parse::<Label>(),
                Err(MalformedLabel::Invisible(bad))
            );
        }
    }

    #[test]
    fn a_newline_at_the_end_is_refused_and_not_cut_off() {
        assert_eq!("phone\n".parse::<Label>(), Err(MalformedLabel::Invisible('\n')));
    }

    #[test]
    fn the_error_names_the_character_without_printing_it() {
        let error = "a\u{202e}b".parse::<Label>().unwrap_err().to_string();
        assert_eq!(error, "a label must not contain the invisible character U+202E");
    }

    #[test]
    fn json_that_is_no_label_does_not_parse() {
        assert!(serde_json::from_str::<Label>(r#""ok""#).is_ok());
        assert!(serde_json::from_str::<Label>(r#""a\u001b[2Jb""#).is_err());
    }

    proptest::proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_a_label_is_short_trimmed_and_without_controls(text in ".{0,70}") {
            if let Ok(label) = text.parse::<Label>() {
                let label = label.as_str();
                assert!((1..=64).contains(&label.chars().count()));
                assert_eq!(label, label.trim());
                assert!(!label.contains(char::is_control));
            }
        }

        #[test]
        fn one_bidirectional_character_anywhere_spoils_a_label(
            head in "[a-z]{0,20}",
            bad in proptest::char::range('\u{202a}', '\u{202e}'),
            tail in "[a-z]{0,20}",
        ) {
            assert_eq!(format!("{head}{bad}{tail}").parse::<Label>(), Err(MalformedLabel::Invisible(bad)));
        }
    }
}
