//! The keys of `ls --watch`.

use crate::full_screen;

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
pub(super) fn keys(bytes: &[u8]) -> Vec<Key> {
    full_screen::keys(bytes, &KEYS)
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
}
