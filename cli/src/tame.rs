//! A session's output on a terminal that only lists it: text and its colours, and nothing that lasts.
//!
//! What a full-screen program does to its terminal (screens, modes, positions, titles, the clipboard) would be done to
//! the person's own; queries would be answered into the shell. Sequences after ECMA-48.

/// A streaming filter that lets text, line controls, colours (SGR) and moves within a line pass; a sequence cut anywhere
/// is held until its rest comes.
#[derive(Debug, Default)]
pub(crate) struct Tame {
    state: State,
    held: Vec<u8>,
    coloured: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// After 0xC2, which leads U+0080 to U+00BF: the C1 controls are among them.
    Lead,
    Escape,
    Csi,
    /// An operating system command, device control or other string, which is dropped.
    String,
    StringEscape,
}

impl Tame {
    /// What of the bytes may pass.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.step(*byte, &mut out);
        }
        out
    }

    /// What makes the terminal as it was before.
    pub(crate) fn restore(&self) -> &'static [u8] {
        if self.coloured { b"\x1b[m" } else { b"" }
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        match (self.state, byte) {
            // CAN and SUB abandon any sequence.
            (_, 0x18 | 0x1a) => self.state = State::Ground,
            (State::String, 0x1b) => self.state = State::StringEscape,
            (State::StringEscape, b'\\') | (State::String, 0x07) => self.state = State::Ground,
            (State::String, _) => {}
            (State::StringEscape, _) => {
                self.state = State::Escape;
                self.step(byte, out);
            }
            (_, 0x1b) => self.state = State::Escape,
            (State::Escape, b'[') => {
                self.held = b"\x1b[".to_vec();
                self.state = State::Csi;
            }
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => self.state = State::String,
            // Intermediates; the byte after them ends the sequence.
            (State::Escape, 0x20..=0x2f) => {}
            (State::Escape, _) => self.state = State::Ground,
            (State::Csi, 0x20..=0x3f) if self.held.len() < LONGEST => self.held.push(byte),
            (State::Csi, 0x40..=0x7e) => self.end(byte, out),
            // Controls within are executed, and what is no part of a sequence abandons it.
            (State::Csi, _) => {
                if byte >= 0x20 {
                    self.state = State::Ground;
                }
                plain(byte, out);
            }
            (State::Lead, _) => {
                self.state = State::Ground;
                if (0xa0..=0xbf).contains(&byte) {
                    out.extend_from_slice(&[0xc2, byte]);
                } else if !(0x80..=0x9f).contains(&byte) {
                    self.step(byte, out);
                }
            }
            (State::Ground, 0xc2) => self.state = State::Lead,
            (State::Ground, _) => plain(byte, out),
        }
    }

    fn end(&mut self, last: u8, out: &mut Vec<u8>) {
        self.state = State::Ground;
        let is_plain = self.held[2..]
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
        // SGR; erasing in the line; moves forward, back and to a column; moves up and down for lines drawn anew.
        if is_plain && matches!(last, b'm' | b'K' | b'C' | b'D' | b'G' | b'A' | b'B') {
            self.coloured |= last == b'm';
            out.append(&mut self.held);
            out.push(last);
        }
    }
}

fn plain(byte: u8, out: &mut Vec<u8>) {
    if matches!(byte, b'\n' | b'\r' | b'\t' | 0x08) || (byte >= 0x20 && byte != 0x7f) {
        out.push(byte);
    }
}

/// Bytes of a control sequence; a longer one is abandoned.
const LONGEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::Tame;

    fn tamed(text: &str) -> String {
        let mut whole = Tame::default();
        let out = whole.pass(text.as_bytes());
        let mut bytewise = Tame::default();
        let single: Vec<u8> = text.bytes().flat_map(|byte| bytewise.pass(&[byte])).collect();
        assert_eq!(out, single, "cut anywhere it is the same");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_colours_and_lines_pass() {
        let text = "größer 日本\t\x1b[1;38:2::1:2:3mred\x1b[m\r\x1b[K50%\r\n";
        assert_eq!(tamed(text), text);
    }

    #[test]
    fn nothing_that_lasts_or_asks_passes() {
        for sequence in [
            "\x1b[?1049h",
            "\x1b[?1003h",
            "\x1b[?25l",
            "\x1b[2J",
            "\x1b[3J",
            "\x1b[5;5H",
            "\x1b[2;5r",
            "\x1bc",
            "\x1b(0",
            "\x1b7",
            "\x1b8",
            "\x1b=",
            "\x1b#8",
            "\x1b[6n",
            "\x1b[c",
            "\x1b[>q",
            "\x1b[18t",
            "\x1b[5S",
            "\x1b]0;title\x07",
            "\x1b]52;c;Zm9v\x1b\\",
            "\x1bP$qm\x1b\\",
            "\x1b_Gq\x1b\\",
            "\x07",
            "\x05",
            "\x0e",
            "\u{9b}2J",
            "\u{90}x\u{9c}",
            "\x1b[>4;1m",
        ] {
            let out = tamed(&format!("a{sequence}b"));
            assert!(
                out == "ab" || sequence.starts_with('\u{9b}') && out == "a2Jb" || out == "axb",
                "{sequence:?} gave {out:?}"
            );
        }
    }

    #[test]
    fn an_unfinished_string_hides_only_itself() {
        assert_eq!(tamed("a\x1b]0;t\x1b[31mb"), "a\x1b[31mb");
        assert_eq!(tamed("a\x1b[3\x18b"), "ab");
        assert_eq!(tamed("a\x1b[3\x1b[1mb"), "a\x1b[1mb");
    }

    #[test]
    fn colours_are_taken_back() {
        let mut tame = Tame::default();
        tame.pass(b"plain");
        assert_eq!(tame.restore(), b"");
        tame.pass(b"\x1b[31mred");
        assert_eq!(tame.restore(), b"\x1b[m");
    }
}
