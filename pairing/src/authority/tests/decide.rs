use super::Pairing;
use crate::{
    ApproveError, ApproveTerms, OfferTerms, PollStatus, RejectCause, RejectError, RequestId, RequestPhase,
    Role,
};
use alloc::string::ToString;
use core::time::Duration;

#[test]
fn a_plain_yes_gives_a_viewer_without_any_grant() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let approved = pairing.approve(&device).unwrap();
    assert_eq!(
        (approved.request_id, approved.deadline),
        (device.id(), pairing.now.plus(Duration::from_secs(120)))
    );
    assert_eq!(approved.grant.label.as_str(), "device 1");
    assert_eq!(
        (approved.grant.role, approved.grant.can_revoke),
        (Role::Viewer, false)
    );
    assert_eq!(
        (approved.grant.any_path, approved.grant.expires_at),
        (false, None)
    );
}

#[test]
fn the_offer_decides_where_the_yes_says_nothing() {
    let mut pairing = Pairing::new();
    let lifetime = Some(Duration::from_secs(3_600));
    let terms = OfferTerms {
        role: Some(Role::Operator),
        can_revoke: true,
        expires_in: lifetime,
        ..OfferTerms::default()
    };
    let offer = pairing.offer_with(terms);
    let device = pairing.begin_with(1, &offer);
    pairing.reveal(&device).unwrap();
    let grant = pairing.approve(&device).unwrap().grant;
    assert_eq!((grant.role, grant.can_revoke), (Role::Operator, true));
    assert_eq!(
        grant.expires_at,
        Some(pairing.now.plus(Duration::from_secs(3_600)))
    );
}

#[test]
fn a_second_yes_answers_as_the_first_whatever_it_says() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let first = pairing.approve(&device).unwrap();
    let more = ApproveTerms {
        role: Some(Role::Operator),
        ..ApproveTerms::default()
    };
    let second = pairing
        .authority
        .approve(device.id(), more, pairing.now, &mut pairing.rng)
        .unwrap();
    assert_eq!(first, second);
}

#[test]
fn there_is_no_yes_before_the_reveal() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    assert_eq!(pairing.approve(&device), Err(ApproveError::NotRevealed));
    assert_eq!(pairing.status(&device), PollStatus::AuthorizationPending);
}

#[test]
fn a_yes_to_a_device_that_hung_up_makes_none_and_says_why() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    pairing.reveal(&device).unwrap();
    pairing.pass(120);
    let error = pairing.approve(&device).unwrap_err();
    assert_eq!(error, ApproveError::DeviceAway);
    assert!(error.to_string().starts_with("the device is gone"));
}

#[test]
fn a_yes_after_the_deadline_or_to_nothing_says_so() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    for _ in 0..6 {
        pairing.pass(100);
        pairing.poll(&device);
    }
    assert_eq!(pairing.approve(&device), Err(ApproveError::Expired));
    let unknown = RequestId::from_bytes([0; 8]);
    let terms = ApproveTerms::default();
    let nothing = pairing
        .authority
        .approve(unknown, terms, pairing.now, &mut pairing.rng);
    assert_eq!(nothing, Err(ApproveError::UnknownRequest));
}

#[test]
fn a_yes_after_a_no_is_refused() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    pairing.authority.reject(device.id(), pairing.now).unwrap();
    assert_eq!(
        pairing.approve(&device),
        Err(ApproveError::Rejected(RejectCause::Owner))
    );
}

#[test]
fn an_approval_has_its_own_two_minutes() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    pairing.pass(119);
    assert_eq!(pairing.phase(&device), RequestPhase::Approved);
    pairing.pass(1);
    assert_eq!(pairing.phase(&device), RequestPhase::Expired);
    assert_eq!(pairing.approve(&device), Err(ApproveError::Expired));
}

#[test]
fn a_no_also_takes_back_a_yes() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.authority.reject(device.id(), pairing.now).unwrap();
    assert!(pairing.prepare(&device, &token).is_err());
    assert_eq!(pairing.status(&device), PollStatus::AccessDenied);
}

#[test]
fn a_no_to_a_device_says_that_it_must_be_revoked() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    pairing.complete(&device);
    let error = pairing.authority.reject(device.id(), pairing.now).unwrap_err();
    assert_eq!(
        (error, error.code()),
        (RejectError::AlreadyCommitted, "already_committed")
    );
    assert!(error.to_string().contains("revoke"));
}

#[test]
fn a_no_twice_is_a_no_and_to_nothing_an_error() {
    let mut pairing = Pairing::new();
    let device = pairing.begin(1);
    assert_eq!(pairing.authority.reject(device.id(), pairing.now), Ok(()));
    assert_eq!(pairing.authority.reject(device.id(), pairing.now), Ok(()));
    let unknown = RequestId::from_bytes([0; 8]);
    assert_eq!(
        pairing.authority.reject(unknown, pairing.now),
        Err(RejectError::UnknownRequest)
    );
}

#[test]
fn the_yes_may_rename_the_device_and_bound_its_life() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let terms = ApproveTerms {
        label: Some("kitchen".parse().unwrap()),
        any_path: Some(true),
        expires_in: Some(Duration::from_secs(10)),
        ..ApproveTerms::default()
    };
    pairing
        .authority
        .approve(device.id(), terms, pairing.now, &mut pairing.rng)
        .unwrap();
    let record = pairing.complete(&device);
    assert_eq!((record.label.as_str(), record.any_path), ("kitchen", true));
    assert_eq!(record.expires_at, Some(pairing.now.plus(Duration::from_secs(10))));
}

#[test]
fn the_life_of_a_device_counts_from_the_yes_and_not_from_the_commit() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let terms = ApproveTerms {
        expires_in: Some(Duration::from_secs(3_600)),
        ..ApproveTerms::default()
    };
    let end = pairing
        .authority
        .approve(device.id(), terms, pairing.now, &mut pairing.rng)
        .unwrap()
        .grant
        .expires_at;
    pairing.pass(100);
    assert_eq!(pairing.complete(&device).expires_at, end);
}

#[test]
fn the_owner_sees_which_device_comes_of_a_yes() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let approved = pairing.approve(&device).unwrap();
    let view = pairing.authority.request_by_id(device.id(), pairing.now).unwrap();
    assert_eq!(
        (view.device_id, view.code),
        (Some(approved.device_id), Some(approved.code))
    );
    assert_eq!(
        (view.phase, view.expires_at),
        (RequestPhase::Approved, approved.deadline)
    );
}

#[test]
fn a_lock_down_ends_every_offer_and_every_request_that_is_no_device() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer_with(OfferTerms::default());
    let pending = pairing.revealed(1);
    let approved = pairing.revealed(2);
    pairing.approve(&approved).unwrap();
    pairing.authority.lock_down(pairing.now);
    for device in [&pending, &approved] {
        let view = pairing.authority.request_by_id(device.id(), pairing.now).unwrap();
        assert_eq!(view.phase, RequestPhase::Rejected(RejectCause::LockedDown));
    }
    let offers = pairing.authority.offers(pairing.now);
    assert!(!offers.is_empty() && offers.iter().all(|offer| !offer.phase.is_live()));
    drop(offer);
}

#[test]
fn who_waits_while_the_key_is_rotated_is_told_so_and_not_that_the_owner_said_no() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.prepare(&device, &token).unwrap();
    let waiting = pairing.revealed(2);
    pairing.authority.rotate_key(pairing.now);
    pairing.authority.commit_ended(device.id(), pairing.now);
    for device in [&device, &waiting] {
        let answer = pairing.poll(device);
        assert_eq!(
            (answer.status, answer.cause),
            (PollStatus::AccessDenied, Some(RejectCause::KeyRotated))
        );
    }
}

#[test]
fn a_request_that_could_not_be_written_down_is_over_and_nobody_has_said_no() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    pairing.authority.abandon(device.id(), pairing.now);
    let answer = pairing.poll(&device);
    assert_eq!(
        (answer.status, answer.cause),
        (PollStatus::AccessDenied, Some(RejectCause::StoreFailed))
    );
    assert_eq!(
        pairing.approve(&device),
        Err(ApproveError::Rejected(RejectCause::StoreFailed))
    );
}

#[test]
fn a_lock_down_also_ends_what_was_on_its_way_to_the_store_and_did_not_arrive() {
    let mut pairing = Pairing::new();
    let device = pairing.approved(1);
    let token = pairing.exchange(&device).unwrap().token;
    pairing.prepare(&device, &token).unwrap();
    pairing.authority.lock_down(pairing.now);
    assert_eq!(
        pairing.phase(&device),
        RequestPhase::Exchanged,
        "it may have arrived"
    );
    pairing.authority.commit_ended(device.id(), pairing.now);
    assert_eq!(
        pairing.phase(&device),
        RequestPhase::Rejected(RejectCause::LockedDown)
    );
}
