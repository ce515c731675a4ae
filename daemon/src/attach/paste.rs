//! Bracketed paste (xterm's ctlseqs, DECSET 2004), applied here: only the daemon knows what the program asks for by now.
//!
//! A client sends a paste as one input in brackets. Its text is typed in brackets if the program wants them and as it is
//! if not; a bracket within the text, by which text could pose as typed, is removed. Any other input is typed as it came.

use crate::sessions::paste::{BEGIN, END, without_brackets};

/// Whether an input is a paste.
pub(super) fn is_paste(input: &[u8]) -> bool {
    inner(input).is_some()
}

/// What to type for an input, where the program wants brackets or not.
pub(super) fn applied(input: Vec<u8>, is_wanted: bool) -> Vec<u8> {
    let Some(inner) = inner(&input) else { return input };
    let text = without_brackets(inner);
    if is_wanted {
        [BEGIN, &text, END].concat()
    } else {
        text
    }
}

fn inner(input: &[u8]) -> Option<&[u8]> {
    input.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END))
}

#[cfg(test)]
mod tests {
    use super::applied;

    fn typed(input: &str, is_wanted: bool) -> String {
        String::from_utf8(applied(input.into(), is_wanted)).unwrap()
    }

    #[test]
    fn a_paste_is_in_brackets_only_where_the_program_wants_them() {
        let paste = "\x1b[200~two\nlines\x1b[201~";
        assert_eq!(typed(paste, true), paste);
        assert_eq!(typed(paste, false), "two\nlines");
        assert_eq!(typed("typed", true), "typed");
        assert_eq!(typed("\x1b[200~a part of", true), "\x1b[200~a part of");
    }

    #[test]
    fn pasted_text_cannot_end_the_paste() {
        let hostile = "\x1b[200~a\x1b[201~b\x1b[20\x1b[201~1~c\x1b[200~\x1b[201~";
        assert_eq!(typed(hostile, true), "\x1b[200~abc\x1b[201~");
        assert_eq!(typed(hostile, false), "abc");
        let eight_bits = "\x1b[200~a\u{9b}201~b\u{9b}2\x1b[201~01~c\x1b[201~";
        assert_eq!(typed(eight_bits, true), "\x1b[200~abc\x1b[201~");
    }
}
