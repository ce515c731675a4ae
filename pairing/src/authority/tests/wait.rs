use super::Pairing;
use crate::request::RequestState;
use crate::{
    ApproveError, FindError, OfferTerms, PairingCode, PollAnswer, PollError, PollKind, PollStatus, RequestId,
};
use crate::{RequestPhase, RequestSecret, Role, TailnetIdentity};
use alloc::string::ToString;
use core::time::Duration;

fn quick(pairing: &mut Pairing, device: &super::Waiting) -> PollAnswer {
    pairing
        .authority
        .poll(
            device.id(),
            &device.requested.secret,
            PollKind::Quick,
            pairing.now,
        )
        .unwrap()
}

fn code(pairing: &Pairing, id: RequestId) -> PairingCode {
    pairing
        .authority
        .request_by_id(id, pairing.now)
        .unwrap()
        .code
        .unwrap()
}

#[test]
fn a_poll_says_pending_then_approved_with_a_nonce_to_sign() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let answer = pairing.poll(&device);
    assert_eq!(
        (answer.status, answer.exchange_nonce),
        (PollStatus::AuthorizationPending, None)
    );
    pairing.approve(&device).unwrap();
    let answer = pairing.poll(&device);
    assert_eq!(answer.status, PollStatus::Approved);
    assert!(answer.exchange_nonce.is_some());
    assert_eq!(pairing.poll(&device).exchange_nonce, answer.exchange_nonce);
}

#[test]
fn a_poll_says_denied_after_a_no() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    pairing.authority.reject(device.id(), pairing.now).unwrap();
    assert_eq!(pairing.status(&device), PollStatus::AccessDenied);
}

#[test]
fn a_poll_with_a_wrong_secret_or_id_learns_nothing() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    let guess = RequestSecret::generate(device.id(), &mut pairing.rng);
    let unknown = RequestId::from_bytes([0; 8]);
    let mut poll = |id, secret| pairing.authority.poll(id, secret, PollKind::Wait, pairing.now);
    assert_eq!(poll(device.id(), &guess), Err(PollError::UnknownRequest));
    assert_eq!(
        poll(unknown, &device.requested.secret),
        Err(PollError::UnknownRequest)
    );
    assert!(poll(device.id(), &device.requested.secret).is_ok());
}

#[test]
fn a_wrong_secret_is_no_sign_of_life() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    pairing.pass(100);
    let guess = RequestSecret::generate(device.id(), &mut pairing.rng);
    assert!(
        pairing
            .authority
            .poll(device.id(), &guess, PollKind::Wait, pairing.now)
            .is_err()
    );
    pairing.pass(20);
    assert_eq!(pairing.phase(&device), RequestPhase::Away);
}

#[test]
fn quick_polls_below_the_interval_are_told_to_slow_down() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    assert_eq!(
        quick(&mut pairing, &device).status,
        PollStatus::AuthorizationPending
    );
    pairing.pass(4);
    let answer = quick(&mut pairing, &device);
    assert_eq!(
        (answer.status, answer.interval),
        (PollStatus::SlowDown, Duration::from_secs(10))
    );
    pairing.pass(10);
    assert_eq!(
        quick(&mut pairing, &device).status,
        PollStatus::AuthorizationPending
    );
}

#[test]
fn the_interval_stops_growing() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    (0..50).for_each(|_| drop(quick(&mut pairing, &device)));
    assert_eq!(quick(&mut pairing, &device).interval, Duration::from_secs(30));
}

#[test]
fn polls_that_wait_are_never_too_fast() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    (0..5).for_each(|_| assert_eq!(pairing.status(&device), PollStatus::AuthorizationPending));
}

#[test]
fn an_approved_device_is_never_told_to_slow_down() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    (0..3).for_each(|_| assert_eq!(quick(&mut pairing, &device).status, PollStatus::Approved));
}

#[test]
fn a_device_that_stays_away_loses_its_request_and_one_that_polls_does_not() {
    let mut pairing = Pairing::new();
    let (here, away) = (pairing.revealed(1), pairing.revealed(2));
    for _ in 0..4 {
        pairing.pass(30);
        pairing.poll(&here);
    }
    assert_eq!(pairing.phase(&here), RequestPhase::Pending);
    assert_eq!(pairing.phase(&away), RequestPhase::Away);
    assert_eq!(pairing.status(&away), PollStatus::ExpiredToken);
}

#[test]
fn coming_back_does_not_revive_a_request() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    pairing.pass(120);
    pairing.poll(&device);
    assert_eq!(pairing.approve(&device), Err(ApproveError::DeviceAway));
}

#[test]
fn the_deadline_comes_also_to_a_device_that_polls() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    for _ in 0..6 {
        pairing.pass(100);
        pairing.poll(&device);
    }
    assert_eq!(pairing.status(&device), PollStatus::ExpiredToken);
    assert_eq!(pairing.phase(&device), RequestPhase::Expired);
}

#[test]
fn a_committed_request_stays_approved_for_its_device() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    pairing.complete(&device);
    assert_eq!(pairing.status(&device), PollStatus::Approved);
}

#[test]
fn six_digits_find_the_one_request_that_shows_them() {
    let mut pairing = Pairing::new();
    let (one, _two, hidden) = (pairing.revealed(1), pairing.revealed(2), pairing.begin(3));
    let shown = code(&pairing, one.id());
    assert_eq!(pairing.authority.find_by_code(shown, pairing.now), Ok(one.id()));
    assert!(
        pairing
            .authority
            .request_by_id(hidden.id(), pairing.now)
            .unwrap()
            .code
            .is_none()
    );
}

#[test]
fn six_digits_of_nobody_or_of_an_ended_request_find_none() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let shown = code(&pairing, device.id());
    let other = if shown.to_string() == "000000" {
        "000001"
    } else {
        "000000"
    };
    assert_eq!(
        pairing
            .authority
            .find_by_code(other.parse().unwrap(), pairing.now),
        Err(FindError::NoMatch)
    );
    pairing.pass(120);
    assert_eq!(
        pairing.authority.find_by_code(shown, pairing.now),
        Err(FindError::NoMatch)
    );
}

#[test]
fn six_digits_that_two_waiting_devices_show_find_neither() {
    let mut pairing = Pairing::new();
    let (one, two) = (pairing.revealed(1), pairing.revealed(2));
    let shown = code(&pairing, one.id());
    let RequestState::Pending(pending) = &mut pairing.authority.requests.get_mut(&two.id()).unwrap().state
    else {
        panic!("still pending")
    };
    pending.reveal.as_mut().unwrap().code = shown;
    assert_eq!(
        pairing.authority.find_by_code(shown, pairing.now),
        Err(FindError::Ambiguous)
    );
    pairing.authority.reject(two.id(), pairing.now).unwrap();
    assert_eq!(pairing.authority.find_by_code(shown, pairing.now), Ok(one.id()));
}

#[test]
fn an_approved_request_is_not_found_by_its_code_again() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let shown = code(&pairing, device.id());
    assert_eq!(
        pairing.authority.find_by_code(shown, pairing.now),
        Err(FindError::NoMatch)
    );
}

#[test]
fn the_owner_sees_what_a_plain_yes_would_give() {
    let mut pairing = Pairing::new();
    let terms = OfferTerms {
        role: Some(Role::Operator),
        label: Some("tablet".parse().unwrap()),
        ..OfferTerms::default()
    };
    let offer = pairing.offer_with(terms);
    pairing.begin_with(1, &offer);
    pairing.begin(2);
    let views = pairing.authority.requests(pairing.now);
    assert_eq!(
        (views[0].label.as_str(), views[0].role, views[0].offer),
        ("tablet", Role::Operator, Some(offer.0))
    );
    assert_eq!(
        (views[1].label.as_str(), views[1].role, views[1].offer),
        ("device 2", Role::Viewer, None)
    );
}

#[test]
fn the_owner_sees_from_where_a_request_comes_and_how_long_it_lasts() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    let view = pairing.authority.request_by_id(device.id(), pairing.now).unwrap();
    assert_eq!(
        (view.address.as_str(), view.created, view.device_id),
        ("192.0.2.1", pairing.now, None)
    );
    assert_eq!(view.tailnet, None::<TailnetIdentity>);
    assert_eq!(view.expires_at, pairing.now.plus(Duration::from_secs(120)));
    assert_eq!(view.deadline, pairing.now.plus(Duration::from_secs(600)));
}

#[test]
fn poll_words_are_those_of_rfc_8628() {
    let words = [
        (PollStatus::AuthorizationPending, "authorization_pending"),
        (PollStatus::SlowDown, "slow_down"),
        (PollStatus::AccessDenied, "access_denied"),
        (PollStatus::ExpiredToken, "expired_token"),
        (PollStatus::Approved, "approved"),
    ];
    for (status, word) in words {
        assert_eq!(status.as_str(), word);
    }
}
