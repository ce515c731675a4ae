//! Output as programs write it, and as none would.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};

use crate::size::Size;

pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn text_pieces() -> impl Strategy<Value = Vec<u8>> {
    let words = "a hello 漢字 e\u{301} 👩\u{200d}👩\u{200d}👧 ☁\u{fe0f} q \u{301} é ─ \u{a0}";
    prop_oneof![
        4 => one_of(words, ' '),
        2 => one_of("\n|\r|\r\n|\t|\x08|\x0e|\x0f|\x07|\x0b|\x18| ", '|'),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ]
}

fn sequences() -> impl Strategy<Value = Vec<u8>> {
    let last = prop::sample::select("@ABCDEFGHIJKLMPSTXZ`abcdefgnrsu".chars().collect::<Vec<_>>());
    let control = (prop::collection::vec(0..12_u16, 0..3), last).prop_map(|(parameters, last)| {
        let parameters: Vec<String> = parameters.iter().map(u16::to_string).collect();
        format!("\x1b[{}{last}", parameters.join(";")).into_bytes()
    });
    let modes = "1 3 5 6 7 9 12 25 66 1000 1002 1003 1004 1005 1006 1007 1042 1049 2004 2026";
    let mode = (one_of(modes, ' '), one_of("h l", ' '))
        .prop_map(|(mode, set)| [b"\x1b[?", &mode[..], &set].concat());
    let rendition = prop::collection::vec(one_of(RENDITIONS, ' '), 1..4)
        .prop_map(|codes| [b"\x1b[", &codes.join(&b';')[..], b"m"].concat());
    let others =
        one_of(OTHER_SEQUENCES, ' ').prop_map(|sequence| shown(&sequence).replace('~', "\x1b").into_bytes());
    let style = (0..7_u8).prop_map(|style| format!("\x1b[{style} q").into_bytes());
    prop_oneof![4 => control, 3 => rendition, 2 => mode, 5 => others, 1 => style]
}

fn one_of(choices: &str, separator: char) -> impl Strategy<Value = Vec<u8>> + use<> {
    let choices: Vec<Vec<u8>> = choices
        .split(separator)
        .map(|choice| choice.as_bytes().to_vec())
        .collect();
    prop::sample::select(choices)
}

const RENDITIONS: &str = "0 1 2 3 4 4:3 4:5 7 8 9 21 22 24 27 31 97 44 101 38;5;1 48;2;1;2;3 58;5;9 59 39 49";
/// `~` stands for ESC.
const OTHER_SEQUENCES: &str = "~7 ~8 ~D ~E ~M ~H ~c ~= ~> ~(0 ~(B ~)0 ~#8 ~[4h ~[4l ~[20h ~[3g ~[2J ~[3J ~[2;3r ~[r \
    ~[>1u ~[=5u ~[<1u ~[>4;2m ~[22t ~[23t ~]0;title\x07 ~]2;a;b~\\ ~]8;;http://x/~\\ \
    ~]8;id=k;http://y/~\\ ~]8;;~\\ ~]4;7;#010203\x07 ~]11;rgb:aa/bb/cc~\\ ~]104\x07 ~]50;CursorShape=1\x07 \
    ~P$qm~\\ ~_apc~\\ ~]2;cut ~[3 ~[?2026h ~[?2026l ~[?1049h ~[3b a~[2b 漢~[2b";

pub(super) fn streams() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![text_pieces(), sequences()], 0..60).prop_map(|pieces| pieces.concat())
}

pub(super) fn sizes() -> impl Strategy<Value = Size> {
    prop_oneof![
        Just(Size::new(20, 5)),
        (1..12_u16, 1..6_u16).prop_map(|(columns, rows)| Size::new(columns, rows))
    ]
}

/// Lines as a shell and its programs write them, the cursor at their end.
pub(super) fn lines() -> impl Strategy<Value = Vec<u8>> {
    let rendition = one_of("0 4 7 31 44 48;5;1", ' ').prop_map(|code| [b"\x1b[", &code[..], b"m"].concat());
    let text = one_of("a hello q world, \r\n \r\n\r\n x", ' ');
    let piece = prop_oneof![4 => text, 1 => Just(b" ".to_vec()), 1 => rendition];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| {
        let mut lines = pieces.concat();
        lines.extend_from_slice(b"\x1b[0m$");
        lines
    })
}

/// Kilobytes of short lines of text, empty ones and some with blanks at their ends among them, and of what is none.
pub(super) fn plain_lines() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        200 => one_of("|a|b |  c|dd|~e|hello", '|'),
        1 => one_of("漢字|\t|\x1b[1m|\x1b[0m|hello, world|\x1b[2;3r|\x1b[r|\x0e|\x0f|\x1b[4h|\x1b[?1049h", '|'),
    ];
    prop::collection::vec(line, 0..1_500).prop_map(|lines| lines.join(&b"\r\n"[..]))
}

/// Sizes that people use, but small.
pub(super) fn usual_sizes() -> impl Strategy<Value = Size> {
    (4..24_u16, 3..8_u16).prop_map(|(columns, rows)| Size::new(columns, rows))
}

/// Bytes that no program writes on purpose: any, and sequences with parameters out of all bounds.
pub(super) fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let last = prop::sample::select((0x40..=0x7e_u8).collect::<Vec<_>>());
    let begin = one_of("\x1b[|\x1b[?|\x1b[>|\x1b[=|\x1b]|\x1bP|\x1b|\x1b[$|\x1b[!", '|');
    let number = prop::sample::select(vec!["", "0", "1", "65535", "99999999999", "1000", "8:2:1", "4:3"]);
    let sequence = (begin, prop::collection::vec(number, 0..40), last)
        .prop_map(|(begin, numbers, last)| [&begin[..], numbers.join(";").as_bytes(), &[last]].concat());
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    let piece = prop_oneof![2 => bytes, 3 => sequence, 2 => sequences(), 2 => text_pieces()];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}
