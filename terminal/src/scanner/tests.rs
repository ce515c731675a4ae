//! Only complete units are passed on, and memory has an end.

use super::{MAX_SYNCHRONIZED, MAX_UNIT, Scanner};

/// What a scanner passes on of each part.
fn passed(scanner: &mut Scanner, output: &[u8]) -> String {
    let mut all = Vec::new();
    scanner.feed(output, &mut |units| all.extend_from_slice(units));
    String::from_utf8_lossy(&all).into_owned()
}

fn parts(output: &[&str]) -> Vec<String> {
    let mut scanner = Scanner::default();
    output
        .iter()
        .map(|part| passed(&mut scanner, part.as_bytes()))
        .collect()
}

#[test]
fn a_sequence_waits_for_its_end() {
    assert_eq!(parts(&["a\x1b[3", "1mb"]), ["a", "\x1b[31mb"]);
    assert_eq!(
        parts(&["\x1b]2;tit", "le\x1b", "\\b"]),
        ["", "", "\x1b]2;title\x1b\\b"]
    );
    assert_eq!(
        parts(&["\x1bP1", "q\x1b\\", "\x1b(", "0"]),
        ["", "\x1bP1q\x1b\\", "", "\x1b(0"]
    );
    assert_eq!(parts(&["\x1b[3\x18b"]), ["\x1b[3\x18b"]);
}

#[test]
fn a_character_waits_for_its_last_byte() {
    let mut scanner = Scanner::default();
    let bytes = "a漢".as_bytes();
    assert_eq!(passed(&mut scanner, &bytes[..3]), "a");
    assert_eq!(scanner.pending(), 2);
    assert_eq!(passed(&mut scanner, &bytes[3..]), "漢");
    assert_eq!(scanner.pending(), 0);
}

#[test]
fn bytes_that_are_no_character_do_not_wait() {
    let mut scanner = Scanner::default();
    passed(&mut scanner, b"a\xff\x80\xe6(");
    assert_eq!(scanner.pending(), 0);
    passed(&mut scanner, b"\xe6\x1b[m");
    assert_eq!(scanner.pending(), 0);
}

#[test]
fn a_synchronized_update_is_passed_on_at_its_end() {
    let (begin, end) = ("\x1b[?2026h", "\x1b[?2026l");
    assert_eq!(
        parts(&["a\x1b[?20", "26hb\x1b[1", "mc\x1b[?2026", "ld"]),
        ["a", "", "", &format!("{begin}b\x1b[1mc{end}d")]
    );
    assert_eq!(
        parts(&[&format!("{begin}a{end}b{begin}c"), end]),
        [format!("{begin}a{end}b"), format!("{begin}c{end}")]
    );
    assert_eq!(parts(&["\x1b[?25;2026ha"]), [""]);
}

#[test]
fn a_synchronized_update_that_is_too_long_is_passed_on() {
    let mut scanner = Scanner::default();
    assert_eq!(passed(&mut scanner, b"\x1b[?2026h"), "");
    let screen = "x".repeat(MAX_SYNCHRONIZED / 2);
    assert_eq!(passed(&mut scanner, screen.as_bytes()), "");
    assert!(passed(&mut scanner, screen.as_bytes()).len() > MAX_SYNCHRONIZED);
    assert!(!scanner.is_synchronized());
    assert_eq!(passed(&mut scanner, b"at once"), "at once");
}

#[test]
fn a_sequence_without_end_is_dropped_and_takes_no_memory() {
    for (begin, opener, end) in [
        ("\x1b]2;", "\x1b]99999;", "\x07"),
        ("\x1bPq", "\x1bPz", "\x1b\\"),
        ("\x1bP1", "\x1bP1<", "\x1b\\"),
        ("\x1b_", "\x1b_", "\x1b\\"),
        ("\x1b[", "\x1b[1<", "m"),
        ("\x1b", "\x1b   ", "c"),
    ] {
        let mut scanner = Scanner::default();
        let filler = if begin == "\x1b" { "\x7f" } else { "1" };
        assert_eq!(passed(&mut scanner, begin.as_bytes()), "");
        for _ in 0..40 {
            passed(&mut scanner, filler.repeat(MAX_UNIT / 20).as_bytes());
            assert!(scanner.pending() <= MAX_UNIT);
            assert!(scanner.held.capacity() <= 4 * MAX_UNIT);
        }
        assert_eq!(scanner.opener(), opener.as_bytes(), "{begin:?}");
        let rest = passed(&mut scanner, format!("{end}after").as_bytes());
        assert!(matches!(rest.as_str(), "after" | "\x1b\\after"), "{rest:?}");
        assert_eq!(scanner.opener(), b"");
    }
}

#[test]
fn controls_in_a_dropped_sequence_have_their_effect() {
    let mut scanner = Scanner::default();
    let begin = format!("\x1b[\n{}", "1".repeat(MAX_UNIT));
    assert_eq!(passed(&mut scanner, begin.as_bytes()), "\n");
    assert_eq!(passed(&mut scanner, b"1\r1mx"), "\rx");
}
