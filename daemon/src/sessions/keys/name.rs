//! The names of keys: those of tmux, and the spellings that people try first.

use crate::config;

/// A key, by what a terminal makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A character, or a control character such as Enter's.
    Character(char),
    /// A cursor key: its final letter.
    Cursor(char),
    /// F1 to F4: the final letter.
    Letter(char),
    /// An editing or function key: its number.
    Number(u8),
    /// A key of the keypad: what it prints, and its letter where the program asked for application keys.
    Keypad {
        /// What is printed on it.
        plain: char,
        /// The final letter of the application key.
        letter: char,
    },
    /// Shift and Tab.
    BackTab,
}

/// The key of a name, without its modifiers; one character is its own key.
pub(super) fn find(name: &str) -> Option<Key> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return (!only.is_control()).then_some(Key::Character(only));
    }
    let named = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    named.map(|(_, key)| *key)
}

/// The name that looks most like it, if one is like it at all.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    // A name as long as a message is like none, and comparing costs its length.
    let name: String = name.chars().take(32).collect();
    let lower = name.to_ascii_lowercase();
    let lowered: Vec<String> = NAMES
        .iter()
        .map(|(known, _)| known.to_ascii_lowercase())
        .collect();
    let best = config::near(&lower, lowered.iter().map(String::as_str))?;
    let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(best));
    found.map(|(known, _)| *known)
}

const fn keypad(plain: char, letter: char) -> Key {
    Key::Keypad { plain, letter }
}

/// Names in any case; of several for one key the first is the one that we suggest.
const NAMES: &[(&str, Key)] = &[
    ("Enter", Key::Character('\r')),
    ("Return", Key::Character('\r')),
    ("Tab", Key::Character('\t')),
    ("BTab", Key::BackTab),
    ("Escape", Key::Character('\x1b')),
    ("Esc", Key::Character('\x1b')),
    ("Space", Key::Character(' ')),
    ("Backspace", Key::Character('\x7f')),
    ("BSpace", Key::Character('\x7f')),
    ("Up", Key::Cursor('A')),
    ("Down", Key::Cursor('B')),
    ("Right", Key::Cursor('C')),
    ("Left", Key::Cursor('D')),
    ("End", Key::Cursor('F')),
    ("Home", Key::Cursor('H')),
    ("Insert", Key::Number(2)),
    ("IC", Key::Number(2)),
    ("Delete", Key::Number(3)),
    ("DC", Key::Number(3)),
    ("Del", Key::Number(3)),
    ("PageUp", Key::Number(5)),
    ("PgUp", Key::Number(5)),
    ("PPage", Key::Number(5)),
    ("PageDown", Key::Number(6)),
    ("PgDn", Key::Number(6)),
    ("NPage", Key::Number(6)),
    ("F1", Key::Letter('P')),
    ("F2", Key::Letter('Q')),
    ("F3", Key::Letter('R')),
    ("F4", Key::Letter('S')),
    ("F5", Key::Number(15)),
    ("F6", Key::Number(17)),
    ("F7", Key::Number(18)),
    ("F8", Key::Number(19)),
    ("F9", Key::Number(20)),
    ("F10", Key::Number(21)),
    ("F11", Key::Number(23)),
    ("F12", Key::Number(24)),
    ("F13", Key::Number(25)),
    ("F14", Key::Number(26)),
    ("F15", Key::Number(28)),
    ("F16", Key::Number(29)),
    ("F17", Key::Number(31)),
    ("F18", Key::Number(32)),
    ("F19", Key::Number(33)),
    ("F20", Key::Number(34)),
    ("KP0", keypad('0', 'p')),
    ("KP1", keypad('1', 'q')),
    ("KP2", keypad('2', 'r')),
    ("KP3", keypad('3', 's')),
    ("KP4", keypad('4', 't')),
    ("KP5", keypad('5', 'u')),
    ("KP6", keypad('6', 'v')),
    ("KP7", keypad('7', 'w')),
    ("KP8", keypad('8', 'x')),
    ("KP9", keypad('9', 'y')),
    ("KP*", keypad('*', 'j')),
    ("KP+", keypad('+', 'k')),
    ("KP-", keypad('-', 'm')),
    ("KP.", keypad('.', 'n')),
    ("KP/", keypad('/', 'o')),
    ("KPEnter", keypad('\r', 'M')),
];
