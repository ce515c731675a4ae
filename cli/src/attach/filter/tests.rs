use super::Filter;
use crate::attach::modes::Modes;

fn pass_in(chunks: &[&[u8]]) -> Vec<u8> {
    let (mut filter, mut modes, mut out) = (Filter::default(), Modes::default(), Vec::new());
    for chunk in chunks {
        filter.pass(chunk, &mut modes, &mut out);
    }
    out
}

fn pass(text: &str) -> String {
    String::from_utf8(pass_in(&[text.as_bytes()])).unwrap()
}

const QUERIES: &[&str] = &[
    "\x1b[c",
    "\x1b[0c",
    "\x1b[>c",
    "\x1b[>0c",
    "\x1b[=c",
    "\x1b[5n",
    "\x1b[6n",
    "\x1b[?6n",
    "\x1b[?996n",
    "\x1b[?2026$p",
    "\x1b[4$p",
    "\x1b[>q",
    "\x1b[>0q",
    "\x1b[?u",
    "\x1b[?4m",
    "\x1b[x",
    "\x1b[14t",
    "\x1b[18t",
    "\x1b[21t",
    "\x1b[8;50;100t",
    "\x1b[1;1;1;1;1;1*y",
    "\x1b[?1;1;0S",
    "\x1b[?2048h",
    "\x1bZ",
    "\x05",
    "\x1b]11;?\x07",
    "\x1b]10;?\x1b\\",
    "\x1b]4;1;?\x1b\\",
    "\x1b]52;c;?\x07",
    "\x1b]22;?__current__\x1b\\",
    "\x1b]21;foreground=?\x1b\\",
    "\x1b]1337;ReportCellSize\x07",
    "\x1bP$qm\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1bPtmux;\x1b\x1b[6n\x1b\\",
    "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
    "\u{9b}6n",
];

#[test]
fn no_query_reaches_the_local_terminal() {
    for query in QUERIES {
        let passed = pass(&format!("a{query}b"));
        assert!(
            !passed.contains('\x1b') && !passed.contains(['\x05', '\u{9b}']),
            "{query:?} passed as {passed:?}"
        );
        assert!(
            passed.starts_with('a') && passed.ends_with('b'),
            "{query:?} took text with it: {passed:?}"
        );
    }
}

#[test]
fn drawing_passes_unchanged() {
    for drawn in [
        "größe 日本 🦀 £\u{a0}",
        "\x1b[1;31mred\x1b[m\r\n\t\x08",
        "\x1b[2J\x1b[H\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000;1006h",
        "\x1b[2 q\x1b[!p\x1b7\x1b8\x1b(B\x1b=\x1bM",
        "\x1b[>1u\x1b[<u\x1b[=1;1u\x1b[>4;2m\x1b[>4n",
        "\x1b[22;0t\x1b[23;0t",
        "\x1b]0;what? a title\x1b\\",
        "\x1b]8;;https://example.com/?q\x1b\\link\x1b]8;;\x1b\\",
        "\x1b]10;#ffffff\x1b\\",
        "\x1bPq#0;2;0;0;0#0~~\x1b\\",
    ] {
        assert_eq!(pass(drawn), drawn);
    }
}

#[test]
fn a_query_cut_anywhere_is_still_one() {
    for query in QUERIES {
        let whole = format!("a{query}b").into_bytes();
        for cut in 1..whole.len() {
            let (one, two) = whole.split_at(cut);
            assert_eq!(pass_in(&[one, two]), pass_in(&[&whole]), "{query:?} cut at {cut}");
        }
    }
}

#[test]
fn output_cut_into_single_bytes_is_the_same_output() {
    let whole = "x\x1b[1mé\x1b]0;t\x07\x1b[6n\u{9b}5n\x1bP+q1\x1b\\日\x1b[?2048;25h".as_bytes();
    let bytes: Vec<&[u8]> = whole.chunks(1).collect();
    assert_eq!(pass_in(&bytes), pass_in(&[whole]));
}

#[test]
fn an_abandoned_sequence_does_not_change_what_follows() {
    assert_eq!(pass("\x1b[3\x1b[6nX"), "X");
    assert_eq!(pass("\x1b]0;half\x1b[1mX"), "\x1b[1mX");
    assert_eq!(pass("\x1b[31\x18X"), "\x18X");
}

#[test]
fn controls_inside_a_sequence_are_executed() {
    assert_eq!(pass("\x1b[6\rnX"), "\rX");
    assert_eq!(pass("\x1b[3\r1mX"), "\r\x1b[31mX");
}

#[test]
fn a_mode_that_reports_at_once_is_taken_out_of_a_list() {
    assert_eq!(pass("\x1b[?25;2048;1004h"), "\x1b[?25;1004h");
}

#[test]
fn a_pop_without_a_push_would_take_the_callers_title() {
    assert_eq!(pass("\x1b[23;0tX"), "X");
}

#[test]
fn neither_a_reset_nor_the_scrollback_is_the_sessions() {
    assert_eq!(pass("\x1b[H\x1b[2J\x1b[3JX"), "\x1b[H\x1b[2JX");
    let passed = pass("\x1b[?1000h\x1bcX");
    assert!(!passed.contains("\x1bc"), "{passed:?}");
    assert!(passed.ends_with("\x1b[?1000l\x1b[H\x1b[2JX"), "{passed:?}");
}

#[test]
fn in_the_alternate_screen_that_is_ours_no_switch_passes() {
    let (mut filter, mut modes, mut out) = (Filter::default(), Modes::default(), Vec::new());
    modes.enter();
    filter.pass(b"\x1b[>1u\x1b[?1049;2004hA", &mut modes, &mut out);
    assert_eq!(out, b"\x1b[>1u\x1b[<1u\x1b[2J\x1b[?2004hA");
    assert!(modes.is_full_screen() && filter.take_lack() && !filter.take_lack());
    out.clear();
    filter.pass(b"\x1b[?47h\x1b[?1047lB", &mut modes, &mut out);
    assert_eq!((&out[..], filter.take_lack()), (&b"B"[..], false));
    filter.pass(b"\x1b[?1049l", &mut modes, &mut out);
    assert!(!modes.is_full_screen() && filter.take_lack());
}
