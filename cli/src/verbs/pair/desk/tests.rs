//! What offers and claims come to, in any order of news.

use jiff::{SignedDuration, Timestamp};
use pairing::Role;
use protocol::pairing::{OfferMade, OfferView, RequestStatus, RequestView};
use serde_json::json;

use super::{Desk, End, Happened, Why};
use crate::{qr::tests::link, verbs::pair::news::News};

/// A request with this number under the offer of the same number.
pub(in crate::verbs::pair) fn request(number: u8, state: &str) -> RequestView {
    serde_json::from_value(json!({
        "id": format!("req_000000000000000{number}"), "state": state, "code": "493027",
        "label": format!("phone {number}"), "peer": "192.0.2.7", "tailnet": null, "role": "viewer",
        "offer_id": format!("ofr_64bfdce54d1474d{number}"), "device_id": null,
        "expires_at": at(200),
    }))
    .unwrap()
}

pub(in crate::verbs::pair) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(in crate::verbs::pair) fn made(number: u8) -> OfferMade {
    serde_json::from_value(json!({
        "id": format!("ofr_64bfdce54d1474d{number}"), "url": link("127.0.0.1:7443", number), "expires_in": 300,
    }))
    .unwrap()
}

/// A desk at which so many offers were made at second 100, the last of which stands.
pub(in crate::verbs::pair) fn desk(offers: u8) -> Desk {
    let mut desk = Desk::new(4);
    for number in 1..=offers {
        desk.offered(made(number), Some(Role::Viewer), at(100));
    }
    desk
}

fn offers(states: &[(u8, &str)]) -> News {
    let one = |(number, state): &(u8, &str)| -> OfferView {
        serde_json::from_value(json!({
            "id": format!("ofr_64bfdce54d1474d{number}"), "state": state, "role": "viewer", "label": null,
            "request_id": null, "expires_at": at(400),
        }))
        .unwrap()
    };
    News::Offers(states.iter().map(one).collect())
}

fn requests(states: &[(u8, &str)]) -> News {
    News::Requests(
        states
            .iter()
            .map(|(number, state)| request(*number, state))
            .collect(),
    )
}

fn take(desk: &mut Desk, news: News) -> Vec<String> {
    let happened = desk.take(news, at(110));
    happened.into_iter().map(told).collect()
}

fn told(happened: Happened) -> String {
    match happened {
        Happened::Claimed(request) => format!("{} claims", request.label),
        Happened::Approved(request) => format!("{} approved", request.label),
        Happened::Paired(request) => format!("{} paired", request.label),
        Happened::Ended(request, end) => format!("{} {end:?}", request.label),
        Happened::OfferEnded(why) => format!("offer {why:?}"),
    }
}

#[test]
fn a_claim_is_asked_about_approved_and_paired_and_each_is_told_once() {
    let mut desk = desk(1);
    assert!(!desk.wants_offer());
    assert_eq!(take(&mut desk, requests(&[(1, "pending")])), ["phone 1 claims"]);
    assert_eq!(take(&mut desk, requests(&[(1, "pending")])), [""; 0]);
    assert_eq!(desk.questions().count(), 1);
    let approved = desk.approved(request(1, "approved")).map(told);
    assert_eq!(approved.as_deref(), Some("phone 1 approved"));
    for state in ["approved", "exchanged"] {
        assert_eq!(take(&mut desk, requests(&[(1, state)])), [""; 0]);
        assert!(desk.finishing().is_some() && !desk.is_done());
    }
    assert_eq!(take(&mut desk, requests(&[(1, "committed")])), ["phone 1 paired"]);
    assert_eq!(take(&mut desk, requests(&[(1, "committed")])), [""; 0]);
    assert!(desk.is_done() && !desk.wants_offer());
}

#[test]
fn what_was_claimed_is_replaced_whichever_list_tells_first() {
    for requests_first in [true, false] {
        let mut desk = desk(1);
        let news = [requests(&[(1, "pending")]), offers(&[(1, "claimed")])];
        let order = if requests_first { [0, 1] } else { [1, 0] };
        for at in order {
            take(&mut desk, news[at].clone());
            assert!(desk.offer().is_none() && desk.wants_offer());
        }
    }
}

#[test]
fn several_claims_wait_in_the_order_in_which_they_came() {
    let mut desk = desk(3);
    let all = [(1, "pending"), (2, "pending"), (3, "pending")];
    take(&mut desk, requests(&all));
    let order: Vec<_> = desk.questions().map(|claim| claim.label.clone()).collect();
    assert_eq!(order, ["phone 1", "phone 2", "phone 3"]);
    assert_eq!(
        desk.rejected(request(1, "pending").id).map(told).as_deref(),
        Some("phone 1 Rejected")
    );
    // A list from before the no, then one from after it.
    assert_eq!(take(&mut desk, requests(&all)), [""; 0]);
    assert_eq!(desk.questions().next().unwrap().label, "phone 2");
    assert_eq!(
        take(
            &mut desk,
            requests(&[(1, "rejected"), (2, "pending"), (3, "pending")])
        ),
        [""; 0]
    );
    desk.approved(request(2, "approved"));
    assert_eq!(desk.questions().count(), 0, "one after the other");
    take(&mut desk, requests(&[(2, "committed"), (3, "pending")]));
    assert_eq!(desk.questions().next().unwrap().label, "phone 3");
    assert!(!desk.is_done() && !desk.wants_offer());
    desk.rejected(request(3, "pending").id);
    assert!(desk.is_done());
}

#[test]
fn no_further_offer_is_made_while_many_wait() {
    let mut desk = desk(4);
    take(
        &mut desk,
        requests(&[(1, "pending"), (2, "pending"), (3, "pending")]),
    );
    assert!(desk.offer().is_some());
    take(
        &mut desk,
        requests(&[(1, "pending"), (2, "pending"), (3, "pending"), (4, "pending")]),
    );
    assert!(desk.offer().is_none() && !desk.wants_offer());
    desk.rejected(request(1, "pending").id);
    assert!(desk.wants_offer());
}

#[test]
fn an_offer_is_replaced_before_its_end_and_when_the_daemon_ended_it() {
    let mut desk = desk(1);
    assert!(desk.renew(at(384)).is_none());
    assert_eq!(desk.renew(at(385)).map(told).as_deref(), Some("offer Expired"));
    assert!(desk.wants_offer());
    for (state, why) in [
        ("burned", Why::Burned),
        ("withdrawn", Why::Withdrawn),
        ("expired", Why::Expired),
        ("used", Why::Claimed),
    ] {
        let mut desk = super::tests::desk(1);
        assert_eq!(take(&mut desk, offers(&[(1, "open")])), [""; 0]);
        assert_eq!(take(&mut desk, offers(&[(1, state)])), [format!("offer {why:?}")]);
        assert!(desk.wants_offer());
    }
}

#[test]
fn a_list_from_before_the_offer_says_nothing_of_it() {
    let mut desk = desk(1);
    assert_eq!(take(&mut desk, offers(&[])), [""; 0]);
    assert!(desk.offer().is_some());
    take(&mut desk, offers(&[(1, "open")]));
    assert_eq!(take(&mut desk, offers(&[])), ["offer Forgotten"]);
}

#[test]
fn nothing_is_offered_while_the_daemon_is_away_nor_until_the_offer_is_known_to_stand() {
    let mut desk = desk(1);
    take(&mut desk, requests(&[]));
    take(&mut desk, News::Away);
    assert!(desk.offer().is_none() && !desk.wants_offer() && desk.away_since().is_some());
    take(&mut desk, requests(&[]));
    assert!(desk.offer().is_none() && desk.away_since().is_none());
    take(&mut desk, offers(&[(1, "open")]));
    assert!(desk.offer().is_some(), "it was away for a moment only");
    take(&mut desk, News::Away);
    assert_eq!(
        take(&mut desk, offers(&[])),
        ["offer Forgotten"],
        "it was restarted"
    );
    assert!(desk.wants_offer());
}

#[test]
fn a_restart_forgets_claims_and_says_whether_one_was_approved() {
    let mut desk = desk(2);
    take(&mut desk, requests(&[(1, "pending"), (2, "approved")]));
    let ends = take(&mut desk, requests(&[]));
    assert_eq!(
        ends,
        [
            "phone 1 Forgotten { was_approved: false }",
            "phone 2 Forgotten { was_approved: true }"
        ]
    );
}

#[test]
fn each_end_of_a_claim_is_told_apart() {
    for (before, after, end) in [
        ("pending", "rejected", End::Rejected),
        ("pending", "expired", End::Expired),
        ("pending", "hung_up", End::HungUp),
        ("approved", "expired", End::Unfinished),
        ("exchanged", "expired", End::Unfinished),
        ("approved", "rejected", End::Rejected),
    ] {
        let mut desk = desk(1);
        take(&mut desk, requests(&[(1, before)]));
        assert_eq!(
            take(&mut desk, requests(&[(1, after)])),
            [format!("phone 1 {end:?}")]
        );
        assert!(desk.wants_offer(), "what is over makes room: {before}, {after}");
    }
}

#[test]
fn a_device_that_begins_anew_takes_the_place_of_its_former_request_without_a_word() {
    let mut desk = desk(1);
    take(&mut desk, requests(&[(1, "pending")]));
    let mut anew = request(2, "pending");
    anew.offer_id = request(1, "pending").offer_id;
    let news = News::Requests(vec![request(1, "rejected"), anew]);
    assert_eq!(take(&mut desk, news), ["phone 2 claims"]);
}

#[test]
fn a_request_without_a_code_or_without_one_of_these_offers_is_not_asked_about() {
    let mut desk = desk(1);
    let mut hidden = request(1, "pending");
    hidden.code = None;
    let news = News::Requests(vec![hidden, request(7, "pending")]);
    assert_eq!(take(&mut desk, news), [""; 0]);
    assert_eq!((desk.questions().count(), desk.others()), (0, 1));
    assert!(desk.offer().is_some());
}

#[test]
fn once_somebody_is_approved_the_offer_is_taken_back_and_what_waits_is_a_loose_end() {
    let mut desk = desk(3);
    take(&mut desk, requests(&[(1, "pending"), (2, "pending")]));
    assert_eq!(desk.take_surplus(), None);
    assert_eq!(desk.loose_ends().len(), 3);
    desk.approved(request(1, "approved"));
    assert_eq!(desk.take_surplus(), Some(made(3).id));
    assert_eq!(desk.loose_ends(), [made(2).id]);
}

#[test]
fn what_is_paired_before_it_was_seen_is_told_all_the_same() {
    let mut desk = desk(1);
    assert_eq!(take(&mut desk, requests(&[(1, "committed")])), ["phone 1 paired"]);
    assert!(desk.is_done());
}

#[test]
fn a_short_offer_is_replaced_a_tenth_of_its_time_early() {
    let mut desk = Desk::new(1);
    let mut short = made(1);
    short.expires_in = 20;
    desk.offered(short, None, at(0));
    assert_eq!(desk.renewed_at(), Some(at(20) - SignedDuration::from_secs(2)));
    assert_eq!(request(1, "pending").state, RequestStatus::Pending);
}
