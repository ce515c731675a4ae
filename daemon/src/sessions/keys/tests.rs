//! What terminals send.

use super::{KeyModes, UnknownKey, encode};

const PLAIN: KeyModes = KeyModes {
    application_cursor: false,
    application_keypad: false,
};
const APPLICATION: KeyModes = KeyModes {
    application_cursor: true,
    application_keypad: true,
};

fn bytes(key: &str, modes: KeyModes) -> String {
    let bytes = encode(&[key.to_owned()], modes).unwrap_or_else(|error| panic!("{key}: {error}"));
    String::from_utf8(bytes).unwrap()
}

#[test]
fn keys_send_what_xterm_sends() {
    for (key, expected) in [
        ("a", "a"),
        ("é", "é"),
        ("-", "-"),
        ("C-c", "\x03"),
        ("C-C", "\x03"),
        ("C-Space", "\0"),
        ("C-\\", "\x1c"),
        ("C-/", "\x1f"),
        ("M-x", "\x1bx"),
        ("M-C-a", "\x1b\x01"),
        ("C-M-a", "\x1b\x01"),
        ("S-a", "A"),
        ("M--", "\x1b-"),
        ("Enter", "\r"),
        ("enter", "\r"),
        ("Esc", "\x1b"),
        ("Tab", "\t"),
        ("S-Tab", "\x1b[Z"),
        ("BTab", "\x1b[Z"),
        ("Backspace", "\x7f"),
        ("C-Backspace", "\x08"),
        ("Up", "\x1b[A"),
        ("C-Right", "\x1b[1;5C"),
        ("S-M-Left", "\x1b[1;4D"),
        ("Home", "\x1b[H"),
        ("Delete", "\x1b[3~"),
        ("C-PageUp", "\x1b[5;5~"),
        ("F1", "\x1bOP"),
        ("S-F1", "\x1b[1;2P"),
        ("F5", "\x1b[15~"),
        ("C-F12", "\x1b[24;5~"),
        ("KP7", "7"),
        ("KPEnter", "\r"),
    ] {
        assert_eq!(bytes(key, PLAIN), expected, "{key}");
    }
}

#[test]
fn a_program_that_asked_for_application_keys_gets_them() {
    for (key, expected) in [
        ("Up", "\x1bOA"),
        ("End", "\x1bOF"),
        ("C-Up", "\x1b[1;5A"),
        ("KP7", "\x1bOw"),
        ("KPEnter", "\x1bOM"),
        ("7", "7"),
        ("Delete", "\x1b[3~"),
    ] {
        assert_eq!(bytes(key, APPLICATION), expected, "{key}");
    }
}

#[test]
fn keys_come_in_the_order_in_which_they_were_named() {
    let keys = ["l", "s", "Enter"].map(str::to_owned);
    assert_eq!(encode(&keys, PLAIN).unwrap(), b"ls\r");
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_and_nothing_is_pressed() {
    let nearest = |key: &str| match encode(&["a".to_owned(), key.to_owned()], PLAIN) {
        Err(UnknownKey::Name { nearest, .. }) => nearest,
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(nearest("Entr"), Some("Enter"));
    assert_eq!(nearest("C-lft"), Some("Left"));
    assert_eq!(nearest("pagedwn"), Some("PageDown"));
    for far in ["", "Foo", "C-q-x", &"x".repeat(100_000)] {
        assert_eq!(nearest(far), None, "{far}");
    }
}

#[test]
fn what_no_terminal_can_send_is_not_guessed() {
    for key in ["C-é", "S-1", "C-;"] {
        let refused = encode(&[key.to_owned()], PLAIN);
        assert_eq!(refused, Err(UnknownKey::Modifiers(key.to_owned())), "{key}");
    }
}

#[test]
fn a_message_about_a_key_carries_no_control_characters() {
    let refused = encode(&["\x1b]0;x\x07".to_owned()], PLAIN).unwrap_err();
    assert!(!refused.to_string().chars().any(char::is_control));
}
