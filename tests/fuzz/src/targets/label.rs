//! Labels: the one free text that people are shown before anybody is authenticated.

use pairing::Label;

pub(crate) fn run(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let Ok(label) = text.parse::<Label>() else { return };
    let shown = label.as_str();
    assert!((1..=64).contains(&shown.chars().count()));
    assert!(!shown.contains(char::is_control));
    // Nothing that reorders what stands beside it.
    assert!(!shown.contains(
        |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    ));
    assert_eq!(shown, text.trim());
    assert_eq!(shown.parse(), Ok(label));
}
