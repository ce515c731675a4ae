//! What is on the screen, in any size.

use super::{
    super::desk::tests::{at, desk, request},
    View,
};
use crate::{
    qr::Ink,
    verbs::{
        approve::Terms,
        pair::{desk::Desk, news::News},
    },
};

fn terms() -> Terms {
    Terms {
        role: None,
        label: None,
        expires: None,
        can_revoke: false,
        any_path: false,
    }
}

fn view() -> View {
    View::new(terms(), false)
}

fn shown(view: &View, desk: &Desk, (columns, rows): (u16, u16)) -> Vec<String> {
    let frame = view.frame(desk, (columns.into(), rows.into()), at(123));
    let mut screen = terminal::screen(terminal::Size::new(columns, rows));
    screen.feed(&frame.draw_over(None, view.has_colour));
    screen.text_lines()
}

fn claimed(desk: &mut Desk, numbers: &[u8]) {
    let requests = numbers.iter().map(|number| request(*number, "pending")).collect();
    desk.take(News::Requests(requests), at(110));
}

/// The lines of the code on the screen, from its left edge on.
fn code_lines(desk: &Desk, quiet: usize) -> Vec<String> {
    desk.offer()
        .unwrap()
        .code
        .as_ref()
        .unwrap()
        .picture(quiet, Ink::Dark)
}

#[test]
fn code_words_keys_and_the_whole_link_fit_80_columns_and_24_rows() {
    let (desk, mut view) = (desk(1), view());
    view.terms.can_revoke = true;
    view.terms.expires = Some(7_776_000);
    view.note = Some("Somebody guessed at the offer before, and it was withdrawn.".to_owned());
    let lines = shown(&view, &desk, (80, 24));
    assert_eq!(lines.len(), 24);
    for (line, code) in lines.iter().zip(code_lines(&desk, 1)) {
        assert!(line.starts_with(code.trim_end()), "{lines:#?}");
    }
    let beside: String = lines
        .iter()
        .map(|line| line.chars().skip(49).collect::<String>())
        .collect();
    assert!(
        beside.contains(desk.offer().unwrap().made.url.expose()),
        "{lines:#?}"
    );
    for words in [
        "Pair a device as viewer.",
        "It may revoke other devices.",
        "Its trust ends after 90d.",
        "It works once, for 4:37.",
        "Waiting for the device …",
        "q quits",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(words)),
            "{words}: {lines:#?}"
        );
    }
}

#[test]
fn a_larger_terminal_gives_the_code_the_quiet_zone_of_the_standard() {
    let desk = desk(1);
    let lines = shown(&view(), &desk, (120, 40));
    let code = code_lines(&desk, 4);
    for (line, code) in lines.iter().zip(&code) {
        assert!(line.starts_with(code.trim_end()), "{lines:#?}");
    }
    assert!(lines[39].contains("q quits"), "{lines:#?}");
}

#[test]
fn a_narrow_and_high_terminal_has_the_words_below_the_code() {
    let desk = desk(1);
    let lines = shown(&view(), &desk, (60, 50));
    let at = |words: &str| lines.iter().position(|line| line.contains(words)).unwrap();
    assert!(at("Pair a device") > 23, "{lines:#?}");
    assert_eq!(at("q quits"), 49);
}

#[test]
fn a_small_terminal_says_so_and_shows_the_link() {
    let desk = desk(1);
    let lines = shown(&view(), &desk, (60, 20));
    assert!(
        lines
            .iter()
            .any(|line| line == "A QR code needs 78 × 24; this terminal is 60 × 20."),
        "{lines:#?}"
    );
    assert!(lines.concat().contains(desk.offer().unwrap().made.url.expose()));
}

#[test]
fn a_claim_is_asked_about_with_large_digits_beside_a_code_for_the_next_one() {
    let mut desk = desk(2);
    claimed(&mut desk, &[1]);
    let mut view = view();
    view.look(&desk, at(110));
    let lines = shown(&view, &desk, (80, 24));
    for words in [
        "\"phone 1\" asks to be paired as",
        "From 192.0.2.7",
        "Does it show this code?",
        "▀▀█ ▀▀█ ▀▀█ ▀▀▀ █ █ █▀▀",
        "493-027",
        "y  yes: pair it as viewer",
        "n  no: turn it away",
        "It waits 1:17.",
    ] {
        assert!(
            lines.iter().any(|line| line.contains(words)),
            "{words}: {lines:#?}"
        );
    }
    let code = code_lines(&desk, 1);
    assert!(lines[4].starts_with(code[4].trim_end()), "{lines:#?}");
    claimed(&mut desk, &[1, 2]);
    let lines = shown(&view, &desk, (60, 20));
    assert!(
        lines.iter().any(|line| line == "It waits 1:17; 1 more behind."),
        "{lines:#?}"
    );
}

#[test]
fn the_digits_are_large_where_there_is_room() {
    let mut desk = desk(1);
    claimed(&mut desk, &[1]);
    let lines = shown(&view(), &desk, (120, 40));
    assert!(
        lines.iter().any(|line| line.contains("██  ██  ██████")),
        "{lines:#?}"
    );
}

#[test]
fn keys_for_one_question_are_no_answers_to_the_next() {
    let mut desk = desk(2);
    claimed(&mut desk, &[1, 2]);
    let mut view = view();
    view.look(&desk, at(110));
    assert_eq!(view.answerable(at(110)), Some(request(1, "pending").id));
    desk.rejected(request(1, "pending").id);
    view.look(&desk, at(120));
    assert_eq!(view.answerable(at(120)), None);
    assert!(view.settles_at(at(120)).is_some());
    assert_eq!(view.answerable(at(121)), Some(request(2, "pending").id));
}

#[test]
fn while_the_daemon_is_away_no_code_is_shown() {
    let mut desk = desk(1);
    desk.take(News::Away, at(120));
    let lines = shown(&view(), &desk, (80, 24));
    assert_eq!(lines[0], "The daemon is away since 3s.");
    assert!(!lines.concat().contains('▀'), "{lines:#?}");
}

#[test]
fn the_link_alone_begins_at_the_left_and_the_terminal_breaks_it() {
    let (desk, mut view) = (desk(1), view());
    view.shows_link = true;
    let lines = shown(&view, &desk, (80, 24));
    assert!(lines[0].starts_with("To copy. It works once"), "{lines:#?}");
    assert_eq!(lines[2..].concat(), desk.offer().unwrap().made.url.expose());
    assert!(lines[2].starts_with("https://") && lines[2].len() == 80);
}

#[test]
fn without_colours_the_code_is_drawn_in_light_for_a_dark_terminal_and_can_be_turned_round() {
    let (desk, mut view) = (desk(1), view());
    view.has_colour = false;
    let code = |ink| desk.offer().unwrap().code.as_ref().unwrap().picture(1, ink);
    let dark = shown(&view, &desk, (80, 24));
    assert!(dark[0].starts_with(code(Ink::Light)[0].trim_end()), "{dark:#?}");
    view.is_turned = true;
    let light = shown(&view, &desk, (80, 24));
    assert!(light[1].starts_with(code(Ink::Dark)[1].trim_end()), "{light:#?}");
    let bytes = view.frame(&desk, (80, 24), at(123)).draw_over(None, false);
    assert!(!String::from_utf8(bytes).unwrap().contains("\x1b[38"));
}

#[test]
fn the_smallest_terminal_is_drawn_without_a_fault() {
    let mut claimed_desk = desk(2);
    claimed(&mut claimed_desk, &[1]);
    for desk in [desk(0), desk(1), claimed_desk] {
        for size in [(1, 1), (2, 2), (10, 3), (3, 20), (48, 24), (79, 24), (80, 23)] {
            for shows_link in [false, true] {
                let mut view = view();
                view.shows_link = shows_link;
                view.look(&desk, at(110));
                assert!(shown(&view, &desk, size).len() <= usize::from(size.1));
            }
        }
    }
}
