//! The list of those who ask, its keys, and its question.

use jiff::Timestamp;
use protocol::pairing::RequestView;

use super::{Key, List, keys};
use crate::verbs::pair::{
    desk::tests::{at, request},
    news::News,
};

fn list(requests: &[RequestView]) -> List {
    let mut list = List::new(true, None);
    list.take(News::Requests(requests.to_vec()), at(100));
    list
}

fn shown(list: &List, columns: u16, rows: u16) -> Vec<String> {
    let now: Timestamp = at(123);
    let frame = list.frame((columns.into(), rows.into()), now);
    let mut screen = terminal::screen(terminal::Size::new(columns, rows));
    screen.feed(&frame.draw_over(None, true));
    screen.text_lines()
}

#[test]
fn it_shows_who_asks_with_code_name_time_and_place() {
    let mut second = request(2, "pending");
    second.tailnet = Some("ann@example.com on pixel".to_owned());
    let mut hidden = request(3, "pending");
    hidden.code = None;
    let lines = shown(&list(&[request(1, "pending"), second, hidden]), 76, 10);
    assert_eq!(lines[0], "Pairing  2 devices ask");
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        ["CODE", "LABEL", "LEFT", "FROM"]
    );
    assert_eq!(lines[3], "  1  493-027  phone 1  1m    192.0.2.7");
    assert_eq!(
        lines[4],
        "  2  493-027  phone 2  1m    ann@example.com on pixel, 192.0.2.7"
    );
    assert_eq!(lines[9], "↑ ↓ or a number picks  q quits");
}

#[test]
fn a_number_or_an_arrow_and_enter_pick_the_one_that_is_asked_about() {
    let all = [request(1, "pending"), request(2, "pending")];
    let mut list = list(&all);
    list.press(Key::Pick(2));
    assert_eq!(list.asked(), Some(all[1].id));
    let lines = shown(&list, 60, 24);
    assert_eq!(lines[0], "\"phone 2\" asks to be paired as viewer");
    assert!(
        lines.iter().any(|line| line == "y  yes: pair it as viewer"),
        "{lines:#?}"
    );
    list.press(Key::Back);
    list.press(Key::Move(-1));
    list.press(Key::Open);
    assert_eq!(list.asked(), Some(all[0].id));
}

#[test]
fn a_yes_where_nothing_is_picked_is_no_answer() {
    let mut list = list(&[request(1, "pending")]);
    list.press(Key::Yes);
    assert_eq!(list.asked(), None);
    assert!(shown(&list, 60, 10).concat().contains("Pick one first"));
    list.press(Key::Move(1));
    list.press(Key::Yes);
    assert_eq!(
        list.asked(),
        Some(request(1, "pending").id),
        "it is asked about first"
    );
}

#[test]
fn marker_and_question_never_go_to_another_request_by_themselves() {
    let all = [request(1, "pending"), request(2, "pending")];
    let mut list = list(&all);
    list.press(Key::Pick(1));
    list.take(
        News::Requests(vec![request(1, "hung_up"), all[1].clone()]),
        at(110),
    );
    assert_eq!(list.asked(), None);
    let lines = shown(&list, 60, 10);
    assert!(
        lines.concat().contains("\"phone 1\" has gone away."),
        "{lines:#?}"
    );
    assert!(!lines.concat().contains('▸'), "{lines:#?}");
}

#[test]
fn an_approved_one_stays_until_it_is_a_device_and_what_was_turned_away_does_not_come_back() {
    let all = [request(1, "pending"), request(2, "pending")];
    let mut list = list(&all);
    list.approved(request(1, "approved"));
    list.rejected(all[1].id);
    // A list from before.
    list.take(News::Requests(all.to_vec()), at(110));
    let lines = shown(&list, 60, 10);
    assert_eq!(lines[0], "Pairing  nobody asks");
    assert_eq!(lines[3], "  1  493-027  phone 1  finishing  192.0.2.7");
    assert!(!lines.concat().contains("phone 2  "), "{lines:#?}");
    let mut device = request(1, "committed");
    device.device_id = Some("dev_0000000000000001".parse().unwrap());
    list.take(News::Requests(vec![device, request(2, "rejected")]), at(110));
    assert_eq!(list.paired().len(), 1);
    let note = "Paired \"phone 1\" as viewer. `transom revoke dev_0000000000000001` cuts it off.";
    let lines = shown(&list, 90, 10);
    assert!(lines.iter().any(|line| line == note), "{lines:#?}");
}

#[test]
fn nobody_is_said_with_what_to_do() {
    let lines = shown(&list(&[]), 60, 10);
    assert_eq!(lines[0], "Pairing  nobody asks");
    assert!(lines.concat().contains("`transom remote add`"), "{lines:#?}");
}

#[test]
fn a_daemon_that_is_away_is_said_and_nothing_is_asked_meanwhile() {
    let mut list = list(&[request(1, "pending")]);
    list.press(Key::Pick(1));
    list.take(News::Away, at(120));
    assert_eq!(list.asked(), None);
    assert!(shown(&list, 70, 10)[9].starts_with("the daemon is away since 3s"));
    list.take(News::Requests(Vec::new()), at(121));
    assert!(shown(&list, 70, 10).concat().contains("has to ask again"));
}

#[test]
fn more_than_there_are_rows_are_moved_through() {
    let all: Vec<_> = (1..=9).map(|number| request(number, "pending")).collect();
    let mut list = list(&all);
    (0..9).for_each(|_| list.press(Key::Move(1)));
    let lines = shown(&list, 60, 9);
    assert!(lines.iter().any(|line| line.starts_with("▸ 9")), "{lines:#?}");
    for size in [(1, 1), (2, 2), (10, 3), (3, 20)] {
        assert!(shown(&list, size.0, size.1).len() <= usize::from(size.1));
    }
}

#[test]
fn escape_alone_is_a_key_and_begins_the_arrows() {
    assert_eq!(keys(b"\x1b"), [Key::Back]);
    assert_eq!(
        keys(b"\x1b[B\x1bOA3y"),
        [Key::Move(1), Key::Move(-1), Key::Pick(3), Key::Yes]
    );
}
