//! The keys of `ls --watch`.

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// To end.
    Quit,
    /// To give the terminal back for a while.
    Suspend,
    /// Lines down, or up where it is negative; the whole way is [`isize::MAX`] or [`isize::MIN`].
    Scroll(isize),
    /// Pages down, or up.
    Page(isize),
}

/// The keys in what the terminal sent; what means nothing is passed over.
pub(super) fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while !bytes.is_empty() {
        let known = KEYS.iter().find(|(sequence, _)| bytes.starts_with(sequence));
        if let Some((sequence, key)) = known {
            keys.push(*key);
            bytes = &bytes[sequence.len()..];
        } else {
            bytes = &bytes[unknown(bytes)..];
        }
    }
    keys
}

/// How long the first key is that means nothing here: letters within a sequence are no keys.
fn unknown(bytes: &[u8]) -> usize {
    let [0x1b, b'[' | b'O', rest @ ..] = bytes else {
        return 1;
    };
    let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte));
    end.map_or(bytes.len(), |end| end + 3)
}

const KEYS: [(&[u8], Key); 22] = [
    (b"q", Key::Quit),
    (b"Q", Key::Quit),
    (b"\x03", Key::Quit),
    (b"\x04", Key::Quit),
    (b"\x1c", Key::Quit),
    (b"\x1a", Key::Suspend),
    (b"\x1b[B", Key::Scroll(1)),
    (b"\x1bOB", Key::Scroll(1)),
    (b"j", Key::Scroll(1)),
    (b"\x1b[A", Key::Scroll(-1)),
    (b"\x1bOA", Key::Scroll(-1)),
    (b"k", Key::Scroll(-1)),
    (b"\x1b[6~", Key::Page(1)),
    (b" ", Key::Page(1)),
    (b"\x1b[5~", Key::Page(-1)),
    (b"b", Key::Page(-1)),
    (b"g", Key::Scroll(isize::MIN)),
    (b"\x1b[H", Key::Scroll(isize::MIN)),
    (b"\x1b[1~", Key::Scroll(isize::MIN)),
    (b"G", Key::Scroll(isize::MAX)),
    (b"\x1b[F", Key::Scroll(isize::MAX)),
    (b"\x1b[4~", Key::Scroll(isize::MAX)),
];

#[cfg(test)]
mod tests {
    use super::{Key, keys};

    #[test]
    fn keys_are_known_alone_and_in_a_row() {
        assert_eq!(keys(b"q"), [Key::Quit]);
        assert_eq!(
            keys(b"j\x1b[A\x1b[6~"),
            [Key::Scroll(1), Key::Scroll(-1), Key::Page(1)]
        );
    }

    #[test]
    fn letters_within_other_sequences_are_no_keys() {
        assert_eq!(keys(b"\x1b[1;5q\x1bOq\x1b[<35;4;4M"), []);
        assert_eq!(keys(b"x\x1b[200~"), []);
        assert_eq!(keys(b"\x1b"), []);
    }
}
