use super::{PIN, Pairing};
use crate::limits::{HIDDEN_PER_OFFER, MAX_ENDED};
use crate::testing::key;
use crate::{
    CodeInput, OfferError, PairingCode, PairingLimits, RejectCause, RequestError, RequestId, RequestPhase,
};
use crate::{RequestSecret, RevealError};
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

fn few(max_pending: usize) -> Pairing {
    Pairing::with(PairingLimits {
        max_pending,
        ..PairingLimits::default()
    })
}

#[test]
fn a_request_is_told_how_long_and_how_often() {
    let device = Pairing::new().begin(1);
    assert_eq!(device.requested.expires_in, Duration::from_secs(600));
    assert_eq!(device.requested.interval, Duration::from_secs(5));
    assert_eq!(device.requested.secret.id(), device.id());
}

#[test]
fn both_screens_compute_the_same_code_by_themselves() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let on_the_device = PairingCode::compute(&CodeInput {
        request_id: device.id(),
        public_key: &device.key,
        device_nonce: &device.nonce,
        server_nonce: &device.requested.server_nonce,
        pin: PIN,
    });
    assert_eq!(
        pairing.authority.requests(pairing.now)[0].code,
        Some(on_the_device)
    );
}

#[test]
fn there_is_no_code_before_the_reveal() {
    let mut pairing = Pairing::new();
    pairing.begin(1);
    assert_eq!(pairing.authority.requests(pairing.now)[0].code, None);
}

#[test]
fn another_key_or_nonce_than_was_committed_to_is_refused() {
    let mut pairing = Pairing::new();
    let mut device = pairing.begin(1);
    device.key = key(2);
    assert_eq!(pairing.reveal(&device), Err(RevealError::CommitmentMismatch));
    device.key = key(1);
    device.nonce = [9; 32];
    assert_eq!(pairing.reveal(&device), Err(RevealError::CommitmentMismatch));
    device.nonce = [1; 32];
    assert_eq!(pairing.reveal(&device), Ok(()));
}

#[test]
fn the_same_reveal_again_changes_nothing_and_another_is_refused() {
    let mut pairing = Pairing::new();
    let mut device = pairing.revealed(1);
    let code = pairing.authority.requests(pairing.now)[0].code;
    assert_eq!(pairing.reveal(&device), Ok(()));
    assert_eq!(pairing.authority.requests(pairing.now)[0].code, code);
    device.nonce = [9; 32];
    assert_eq!(pairing.reveal(&device), Err(RevealError::AlreadyRevealed));
}

#[test]
fn a_reveal_needs_the_secret_of_its_own_request() {
    let mut pairing = Pairing::new();
    let (mut one, two) = (pairing.begin(1), pairing.begin(2));
    one.requested.secret = two.requested.secret;
    assert_eq!(pairing.reveal(&one), Err(RevealError::UnknownRequest));
    one.requested.secret = RequestSecret::generate(one.id(), &mut pairing.rng);
    assert_eq!(pairing.reveal(&one), Err(RevealError::UnknownRequest));
    one.requested.id = RequestId::from_bytes([0; 8]);
    assert_eq!(pairing.reveal(&one), Err(RevealError::UnknownRequest));
}

#[test]
fn a_reveal_comes_too_late_after_the_end() {
    let mut pairing = Pairing::new();
    let (rejected, away) = (pairing.begin(1), pairing.begin(2));
    pairing.authority.reject(rejected.id(), pairing.now).unwrap();
    assert_eq!(
        pairing.reveal(&rejected),
        Err(RevealError::Rejected(RejectCause::Owner))
    );
    pairing.pass(120);
    assert_eq!(pairing.reveal(&away), Err(RevealError::Expired));
}

#[test]
fn an_offer_belongs_to_the_first_key_that_shows_it() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let (early, first) = (pairing.begin_with(1, &offer), pairing.begin_with(2, &offer));
    pairing.reveal(&first).unwrap();
    assert_eq!(
        pairing.reveal(&early),
        Err(RevealError::Offer(OfferError::Claimed))
    );
    assert_eq!(
        pairing.phase(&early),
        RequestPhase::Rejected(RejectCause::OfferClaimed)
    );
    assert_eq!(pairing.phase(&first), RequestPhase::Pending);
}

#[test]
fn the_same_commitment_again_is_the_same_request_with_a_new_secret() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let lost = pairing.begin_with(1, &offer);
    let again = pairing.begin_with(1, &offer);
    assert_eq!(lost.id(), again.id());
    assert_eq!(lost.requested.server_nonce, again.requested.server_nonce);
    assert_eq!(pairing.reveal(&lost), Err(RevealError::UnknownRequest));
    assert_eq!(pairing.reveal(&again), Ok(()));
    assert_eq!(pairing.authority.requests(pairing.now).len(), 1);
}

#[test]
fn the_same_commitment_goes_on_after_the_approval() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    pairing.reveal(&device).unwrap();
    pairing.approve(&device).unwrap();
    let again = pairing.begin_with(1, &offer);
    assert_eq!(again.requested.expires_in, Duration::from_secs(120));
    pairing.complete(&again);
}

#[test]
fn the_same_key_with_a_new_nonce_takes_over_its_claim() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let before = pairing.begin_with(1, &offer);
    pairing.reveal(&before).unwrap();
    let after = pairing.begin_as(1, [77; 32], "peer", Some(&offer)).unwrap();
    pairing.reveal(&after).unwrap();
    assert_eq!(
        pairing.phase(&before),
        RequestPhase::Rejected(RejectCause::Superseded)
    );
    pairing.approve(&after).unwrap();
    pairing.complete(&after);
}

#[test]
fn a_claim_on_its_way_to_the_store_is_not_taken_over() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    let again = pairing.begin_as(1, [77; 32], "peer", Some(&offer)).unwrap();
    pairing.reveal(&device).unwrap();
    pairing.approve(&device).unwrap();
    let token = pairing.exchange(&device).unwrap().token;
    pairing.prepare(&device, &token).unwrap();
    assert_eq!(pairing.reveal(&again), Err(RevealError::Offer(OfferError::Used)));
    pairing.authority.committed(device.id(), pairing.now);
    assert_eq!(pairing.phase(&device), RequestPhase::Committed);
}

#[test]
fn a_peer_has_at_most_two_pending_requests_and_is_told_when_to_come_again() {
    let mut pairing = Pairing::new();
    let first = pairing.begin_as(1, [1; 32], "peer", None).unwrap();
    pairing.pass(20);
    pairing.begin_as(2, [2; 32], "peer", None).unwrap();
    let refused = pairing.begin_as(3, [3; 32], "peer", None).unwrap_err();
    assert_eq!(
        refused,
        RequestError::TooManyPending {
            retry_after: Duration::from_secs(100)
        }
    );
    pairing.authority.reject(first.id(), pairing.now).unwrap();
    assert!(pairing.begin_as(3, [3; 32], "peer", None).is_ok());
}

#[test]
fn a_page_loaded_again_and_again_stays_one_request() {
    let mut pairing = Pairing::new();
    for nonce in 0..6 {
        let device = pairing.begin_as(1, [nonce; 32], "peer", None).unwrap();
        pairing.reveal(&device).unwrap();
    }
    let pending = pairing
        .authority
        .requests(pairing.now)
        .into_iter()
        .filter(|view| view.phase.is_live());
    assert_eq!(pending.count(), 1);
}

#[test]
fn another_peer_cannot_end_a_request_by_showing_its_key() {
    let mut pairing = Pairing::new();
    let device = pairing.revealed(1);
    let copycat = pairing.begin_as(1, [9; 32], "elsewhere", None).unwrap();
    pairing.reveal(&copycat).unwrap();
    assert_eq!(pairing.phase(&device), RequestPhase::Pending);
}

#[test]
fn at_the_cap_the_oldest_of_the_peer_with_most_goes() {
    let mut pairing = few(3);
    let lone = pairing.begin_as(1, [1; 32], "one", None).unwrap();
    let older = pairing.begin_as(2, [2; 32], "two", None).unwrap();
    let newer = pairing.begin_as(3, [3; 32], "two", None).unwrap();
    let latest = pairing.begin_as(4, [4; 32], "three", None).unwrap();
    assert_eq!(
        pairing.phase(&older),
        RequestPhase::Rejected(RejectCause::Displaced)
    );
    for kept in [&lone, &newer, &latest] {
        assert_eq!(pairing.phase(kept), RequestPhase::Pending);
    }
}

#[test]
fn the_cap_holds_against_any_number_of_peers() {
    let mut pairing = few(4);
    for n in 0..200 {
        pairing.begin_as(n, [n; 32], &format!("peer {n}"), None).unwrap();
    }
    let views = pairing.authority.requests(pairing.now);
    assert_eq!(
        views
            .iter()
            .filter(|view| view.phase == RequestPhase::Pending)
            .count(),
        4
    );
    assert!(views.len() <= 4 + MAX_ENDED + 1);
}

#[test]
fn requests_with_an_offer_stand_outside_the_caps() {
    let mut pairing = few(1);
    let outside = pairing.begin(1);
    let offer = pairing.offer();
    let invited = pairing.begin_with(2, &offer);
    assert_eq!(pairing.phase(&outside), RequestPhase::Pending);
    assert_eq!(pairing.phase(&invited), RequestPhase::Pending);
    let next = pairing.begin(3);
    assert_eq!(
        pairing.phase(&outside),
        RequestPhase::Rejected(RejectCause::Displaced)
    );
    assert_eq!(
        (pairing.phase(&invited), pairing.phase(&next)),
        (RequestPhase::Pending, RequestPhase::Pending)
    );
}

#[test]
fn who_knows_an_offer_cannot_fill_memory_with_requests() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let devices: Vec<_> = (0..9).map(|n| pairing.begin_with(n, &offer)).collect();
    let pending = devices
        .iter()
        .filter(|device| pairing.phase(device) == RequestPhase::Pending);
    assert_eq!(pending.count(), HIDDEN_PER_OFFER);
    assert_eq!(pairing.phase(&devices[8]), RequestPhase::Pending);
}

#[test]
fn ended_requests_are_forgotten_after_a_while() {
    let mut pairing = Pairing::new();
    pairing.begin(1);
    pairing.pass(120 + 599);
    pairing.begin(2);
    assert_eq!(pairing.authority.requests(pairing.now).len(), 2);
    pairing.pass(1);
    pairing.begin(3);
    assert_eq!(pairing.authority.requests(pairing.now).len(), 2);
}
