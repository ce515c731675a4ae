//! Text on its way to a program that may have asked for bracketed paste.

/// The bytes of a text. Ends of lines become what Enter sends; several lines are put into brackets where the program asked
/// for that, so that it does not take each for a command. What would close the brackets early is taken out.
pub(crate) fn typed(text: &str, has_brackets: bool) -> Vec<u8> {
    let text = text.replace("\r\n", "\r").replace('\n', "\r");
    if !has_brackets || !text.contains('\r') {
        return text.into_bytes();
    }
    let inside = without_brackets(text.as_bytes());
    [BEGIN, &inside, END].concat()
}

/// The text without brackets, also without those that the removal of others would make.
pub(crate) fn without_brackets(text: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(text.len());
    for byte in text {
        clean.push(*byte);
        // Looked for in what was taken so far, as taking one out may join the halves of another.
        if let Some(bracket) = BRACKETS.iter().find(|bracket| clean.ends_with(bracket)) {
            clean.truncate(clean.len() - bracket.len());
        }
    }
    clean
}

pub(crate) const BEGIN: &[u8] = b"\x1b[200~";
pub(crate) const END: &[u8] = b"\x1b[201~";

/// Both with CSI in seven bits, and as the one character U+009B (ECMA-48 section 5.3).
const BRACKETS: [&[u8]; 4] = [BEGIN, END, b"\xc2\x9b200~", b"\xc2\x9b201~"];

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn several_lines_are_pasted_where_the_program_asked_for_it() {
        assert_eq!(typed("a\nb", true), b"\x1b[200~a\rb\x1b[201~");
        assert_eq!(typed("a\nb", false), b"a\rb");
        assert_eq!(typed("a", true), b"a");
    }

    #[test]
    fn nothing_inside_can_end_a_paste() {
        for hostile in [
            "a\n\x1b[201~rm",
            "a\n\x1b[20\x1b[201~1~rm",
            "a\n\u{9b}201~rm",
            "a\n\x1b[2\u{9b}201~01~rm",
            "a\n\x1b[200~\u{9b}200~rm",
        ] {
            assert_eq!(typed(hostile, true), b"\x1b[200~a\rrm\x1b[201~", "{hostile:?}");
        }
    }

    #[test]
    fn every_end_of_a_line_becomes_enter() {
        assert_eq!(typed("a\r\nb\n", false), b"a\rb\r");
    }
}
