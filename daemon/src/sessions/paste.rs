//! Text on its way to a program that may have asked for bracketed paste.

/// The bytes of a text. Ends of lines become what Enter sends; several lines are put into brackets where the program asked
/// for that, so that it does not take each for a command. What would close the brackets early is taken out.
pub(crate) fn typed(text: &str, has_brackets: bool) -> Vec<u8> {
    let text = text.replace("\r\n", "\r").replace('\n', "\r");
    if !has_brackets || !text.contains('\r') {
        return text.into_bytes();
    }
    let mut inside = String::with_capacity(text.len());
    for character in text.chars() {
        inside.push(character);
        // Looked for in what was taken so far, as taking one out may join the halves of another.
        if let Some(marker) = END_MARKERS.iter().find(|marker| inside.ends_with(*marker)) {
            inside.truncate(inside.len() - marker.len());
        }
    }
    format!("{BEGIN}{inside}{END}").into_bytes()
}

const BEGIN: &str = "\x1b[200~";
const END: &str = "\x1b[201~";

/// The end with CSI in seven bits, and in eight (ECMA-48 section 5.3).
const END_MARKERS: [&str; 2] = [END, "\u{9b}201~"];

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
        ] {
            assert_eq!(typed(hostile, true), b"\x1b[200~a\rrm\x1b[201~", "{hostile:?}");
        }
    }

    #[test]
    fn every_end_of_a_line_becomes_enter() {
        assert_eq!(typed("a\r\nb\n", false), b"a\rb\r");
    }
}
