//! The keys that leave a session without ending it.

/// Finds Ctrl-\ followed by d in what the local terminal sends.
///
/// Ctrl-\ never reaches the program by itself: twice sends it once, with d it detaches, before anything else it is
/// dropped. Programs may switch the terminal's keyboard to other encodings (kitty's protocol, xterm's modifyOtherKeys),
/// so the keys are known in all of them. What is pasted passes untouched, as far as the terminal says that it is (DECSET
/// 2004).
#[derive(Debug, Default)]
pub(super) struct DetachKeys {
    prefixed: bool,
    is_paste: bool,
    /// Bytes of the bracket that the paste begins or ends with, as far as they have come.
    bracket: usize,
}

/// What a chunk of typed bytes comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Typed {
    /// The bytes for the program.
    pub(super) bytes: Vec<u8>,
    /// Whether the chunk ends with the wish to leave; what came after it is dropped.
    pub(super) detach: bool,
}

impl DetachKeys {
    /// Takes the next chunk.
    pub(super) fn feed(&mut self, mut chunk: &[u8]) -> Typed {
        let mut typed = Typed::default();
        while !chunk.is_empty() {
            if self.is_paste {
                let length = self.until_bracket(chunk, END_OF_PASTE);
                typed.bytes.extend_from_slice(&chunk[..length]);
                chunk = &chunk[length..];
                continue;
            }
            let (key, length) = key(chunk);
            // A bracket is no part of another key: it ends where this one does.
            self.until_bracket(&chunk[..length], BEGIN_OF_PASTE);
            let raw = &chunk[..length];
            chunk = &chunk[length..];
            match key {
                Key::Released => typed
                    .bytes
                    .extend_from_slice(if self.prefixed { &[] } else { raw }),
                Key::Prefix if self.prefixed => {
                    self.prefixed = false;
                    typed.bytes.extend_from_slice(raw);
                }
                Key::Prefix => self.prefixed = true,
                Key::D if self.prefixed => {
                    typed.detach = true;
                    return typed;
                }
                Key::D | Key::Other => {
                    self.prefixed = false;
                    typed.bytes.extend_from_slice(raw);
                }
            }
        }
        typed
    }

    /// How many bytes there are up to the end of this bracket, which may have begun before; then a paste begins or ends.
    fn until_bracket(&mut self, bytes: &[u8], bracket: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            let goes_on = bracket.get(self.bracket) == Some(byte);
            // ESC stands at its beginning alone.
            self.bracket = if goes_on {
                self.bracket + 1
            } else {
                usize::from(*byte == bracket[0])
            };
            if self.bracket == bracket.len() {
                self.bracket = 0;
                self.is_paste = !self.is_paste;
                return at + 1;
            }
        }
        bytes.len()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Key {
    Prefix,
    D,
    /// One of the two, let go: kitty's protocol can report that.
    Released,
    Other,
}

/// The first key of the chunk, and how many bytes it is; a terminal sends each key in one piece.
fn key(chunk: &[u8]) -> (Key, usize) {
    match chunk {
        [0x1c, ..] => (Key::Prefix, 1),
        [b'd', ..] => (Key::D, 1),
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
            end.map_or((Key::Other, 1), |end| {
                (sequence(&rest[..end], rest[end]), end + 3)
            })
        }
        [_, ..] => (Key::Other, 1),
        [] => (Key::Other, 0),
    }
}

/// A key as `CSI code ; modifiers : event u` (kitty) or `CSI 27 ; modifiers ; code ~` (xterm).
fn sequence(parameters: &[u8], last: u8) -> Key {
    let number = |field: Option<&[u8]>| {
        let text = field.and_then(|field| field.split(|byte| *byte == b':').next())?;
        std::str::from_utf8(text).ok()?.parse::<u32>().ok()
    };
    let fields: Vec<&[u8]> = parameters.split(|byte| *byte == b';').collect();
    let (code, modifiers) = match last {
        b'u' => (number(fields.first().copied()), fields.get(1).copied()),
        b'~' if fields.first() == Some(&&b"27"[..]) => {
            (number(fields.get(2).copied()), fields.get(1).copied())
        }
        _ => return Key::Other,
    };
    // Modifiers are sent plus one: 4 is Ctrl; 64 and 128, the lock keys, change nothing.
    let held = number(modifiers).unwrap_or(1).saturating_sub(1) & 0x3f;
    let released = modifiers.is_some_and(|field| field.ends_with(b":3"));
    match (code, held) {
        (Some(0x5c), CTRL) | (Some(0x64), 0) if released => Key::Released,
        (Some(0x5c), CTRL) => Key::Prefix,
        (Some(0x64), 0) => Key::D,
        _ => Key::Other,
    }
}

/// Around a paste (xterm's ctlseqs, DECSET 2004).
const BEGIN_OF_PASTE: &[u8] = b"\x1b[200~";
const END_OF_PASTE: &[u8] = b"\x1b[201~";
/// The bit of the Ctrl key.
const CTRL: u32 = 4;

#[cfg(test)]
mod tests {
    use super::{DetachKeys, Typed};

    fn typed(chunks: &[&[u8]]) -> Typed {
        let mut keys = DetachKeys::default();
        let mut all = Typed::default();
        for chunk in chunks {
            let typed = keys.feed(chunk);
            all.bytes.extend(typed.bytes);
            all.detach |= typed.detach;
        }
        all
    }

    fn passes(bytes: &[u8]) -> Typed {
        Typed {
            bytes: bytes.to_vec(),
            detach: false,
        }
    }

    #[test]
    fn what_is_typed_passes_unchanged() {
        assert_eq!(
            typed(&[b"cd dir\r", b"\x1b[A\x1bOP\x03", b"\x1b"]),
            passes(b"cd dir\r\x1b[A\x1bOP\x03\x1b")
        );
    }

    #[test]
    fn the_two_keys_detach_and_reach_nobody() {
        assert_eq!(
            typed(&[b"ls\x1cd rest"]),
            Typed {
                bytes: b"ls".to_vec(),
                detach: true
            }
        );
    }

    #[test]
    fn the_two_keys_may_come_apart() {
        assert_eq!(
            typed(&[b"\x1c", b"d"]),
            Typed {
                bytes: Vec::new(),
                detach: true
            }
        );
    }

    #[test]
    fn the_first_key_twice_sends_it_once() {
        assert_eq!(typed(&[b"\x1c\x1c"]), passes(b"\x1c"));
        assert_eq!(typed(&[b"\x1c\x1cd"]), passes(b"\x1cd"));
    }

    #[test]
    fn the_first_key_before_another_is_dropped() {
        assert_eq!(typed(&[b"\x1cx", b"d"]), passes(b"xd"));
    }

    #[test]
    fn what_is_pasted_passes_untouched_wherever_it_is_cut() {
        let paste = b"\x1b[200~a\x1cd\x1c\x1cx\x1b\x1b[20\x1b[92;5ud\x1c\x1b[201~";
        for cut in 0..=paste.len() {
            let (before, after) = paste.split_at(cut);
            assert_eq!(typed(&[before, after]), passes(paste), "{cut}");
            let left = typed(&[before, after, b"x\x1c", b"d"]);
            assert_eq!(
                left,
                Typed {
                    bytes: [&paste[..], b"x"].concat(),
                    detach: true
                }
            );
        }
    }

    #[test]
    fn the_keys_are_known_in_other_encodings() {
        for (prefix, d) in [
            ("\x1b[92;5u", "d"),
            ("\x1b[92;5u", "\x1b[100u"),
            ("\x1b[92;5:1u\x1b[92;5:3u", "\x1b[100;1:1u"),
            ("\x1b[92;69u", "\x1b[100;65u"),
            ("\x1b[27;5;92~", "d"),
        ] {
            let typed = typed(&[prefix.as_bytes(), d.as_bytes()]);
            assert_eq!(
                typed,
                Typed {
                    bytes: Vec::new(),
                    detach: true
                },
                "{prefix:?} {d:?}"
            );
        }
    }

    #[test]
    fn similar_keys_are_not_taken_for_them() {
        for similar in [
            "\x1b[92;1u",
            "\x1b[92u",
            "\x1b[100;5u",
            "\x1b[1;5D",
            "\x1b[3~",
            "\x1b[27;2;13~",
        ] {
            assert_eq!(
                typed(&[similar.as_bytes(), b"x"]),
                passes(&[similar.as_bytes(), b"x"].concat()),
                "{similar:?}"
            );
        }
    }
}
