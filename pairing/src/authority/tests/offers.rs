use super::{Pairing, copy};
use crate::limits::MAX_OFFERS;
use crate::{
    Fault, OfferError, OfferId, OfferPhase, OfferSecret, OfferTerms, PollStatus, RequestError, RevealError,
};
use crate::{RejectCause, RequestPhase, Role};
use alloc::vec::Vec;

fn phase(pairing: &Pairing, id: OfferId) -> OfferPhase {
    pairing
        .authority
        .offers(pairing.now)
        .into_iter()
        .find(|offer| offer.id == id)
        .unwrap()
        .phase
}

fn wrong_guess(pairing: &mut Pairing, id: OfferId) -> OfferError {
    let guess = (id, OfferSecret::generate(&mut pairing.rng));
    match pairing.begin_as(99, [0; 32], "guesser", Some(&guess)) {
        Err(RequestError::Offer(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn guess_often(pairing: &mut Pairing, id: OfferId, times: usize) {
    for _ in 0..times {
        assert_eq!(wrong_guess(pairing, id), OfferError::Unknown);
    }
}

fn refusal(pairing: &mut Pairing, offer: &(OfferId, OfferSecret)) -> OfferError {
    match pairing.begin_as(98, [0; 32], "late", Some(offer)) {
        Err(RequestError::Offer(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_offer_is_open_then_claimed_then_used_up() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Open);
    let device = pairing.begin_with(1, &offer);
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Open);
    pairing.reveal(&device).unwrap();
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Claimed(device.id()));
    pairing.approve(&device).unwrap();
    pairing.complete(&device);
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Used(device.id()));
    assert_eq!(refusal(&mut pairing, &offer), OfferError::Used);
}

#[test]
fn five_wrong_secrets_burn_an_offer_and_four_do_not() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    guess_often(&mut pairing, offer.0, 4);
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Open);
    assert_eq!(wrong_guess(&mut pairing, offer.0), OfferError::Unknown);
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Burned);
    assert_eq!(refusal(&mut pairing, &offer), OfferError::Burned);
}

#[test]
fn guesses_at_one_offer_do_not_burn_another() {
    let mut pairing = Pairing::new();
    let (one, two) = (pairing.offer(), pairing.offer());
    guess_often(&mut pairing, one.0, 9);
    assert_eq!(phase(&pairing, two.0), OfferPhase::Open);
    assert!(pairing.begin_as(1, [1; 32], "peer", Some(&two)).is_ok());
}

#[test]
fn guesses_do_not_burn_an_offer_that_a_device_has_claimed() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    pairing.reveal(&device).unwrap();
    guess_often(&mut pairing, offer.0, 9);
    pairing.approve(&device).unwrap();
    pairing.complete(&device);
}

#[test]
fn an_unknown_offer_and_a_wrong_secret_answer_alike() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let unknown = OfferId::from_bytes([0; 8]);
    assert_eq!(
        wrong_guess(&mut pairing, unknown),
        wrong_guess(&mut pairing, offer.0)
    );
}

#[test]
fn a_request_of_a_burned_offer_cannot_claim_it() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    guess_often(&mut pairing, offer.0, 5);
    assert_eq!(
        pairing.reveal(&device),
        Err(RevealError::Offer(OfferError::Burned))
    );
    assert_eq!(
        pairing.phase(&device),
        RequestPhase::Rejected(RejectCause::OfferEnded)
    );
}

#[test]
fn an_offer_expires_unless_it_was_claimed() {
    let mut pairing = Pairing::new();
    let (late, claimed) = (pairing.offer(), pairing.offer());
    let slow = pairing.begin_with(1, &late);
    let fast = pairing.begin_with(2, &claimed);
    pairing.reveal(&fast).unwrap();
    for _ in 0..3 {
        pairing.pass(100);
        pairing.poll(&slow);
        pairing.poll(&fast);
    }
    assert_eq!(phase(&pairing, late.0), OfferPhase::Expired);
    assert_eq!(refusal(&mut pairing, &late), OfferError::Expired);
    assert_eq!(
        pairing.reveal(&slow),
        Err(RevealError::Offer(OfferError::Expired))
    );
    assert_eq!(phase(&pairing, claimed.0), OfferPhase::Claimed(fast.id()));
    pairing.approve(&fast).unwrap();
    pairing.complete(&fast);
}

#[test]
fn a_rejected_or_expired_claim_leaves_the_offer_used_up() {
    let mut pairing = Pairing::new();
    let (one, two) = (pairing.offer(), pairing.offer());
    let (rejected, away) = (pairing.begin_with(1, &one), pairing.begin_with(2, &two));
    pairing.reveal(&rejected).unwrap();
    pairing.reveal(&away).unwrap();
    pairing.authority.reject(rejected.id(), pairing.now).unwrap();
    pairing.pass(120);
    assert_eq!(refusal(&mut pairing, &one), OfferError::Used);
    assert_eq!(refusal(&mut pairing, &two), OfferError::Used);
}

#[test]
fn a_withdrawn_offer_is_dead_and_so_is_who_waits_under_it() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let (hidden, shown) = (pairing.begin_with(1, &offer), pairing.begin_with(2, &offer));
    pairing.reveal(&shown).unwrap();
    pairing.authority.withdraw(offer.0, pairing.now).unwrap();
    assert_eq!(phase(&pairing, offer.0), OfferPhase::Withdrawn);
    assert_eq!(pairing.status(&hidden), PollStatus::AccessDenied);
    assert_eq!(pairing.status(&shown), PollStatus::AccessDenied);
    assert_eq!(refusal(&mut pairing, &offer), OfferError::Withdrawn);
    assert_eq!(pairing.authority.withdraw(offer.0, pairing.now), Ok(()));
}

#[test]
fn withdrawing_an_offer_leaves_alone_what_the_owner_has_approved() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    let device = pairing.begin_with(1, &offer);
    pairing.reveal(&device).unwrap();
    pairing.approve(&device).unwrap();
    pairing.authority.withdraw(offer.0, pairing.now).unwrap();
    pairing.complete(&device);
}

#[test]
fn an_offer_that_has_ended_stays_what_it_is_when_it_is_withdrawn_or_locked_down() {
    let mut pairing = Pairing::new();
    let offers: [_; 5] = core::array::from_fn(|_| pairing.offer());
    let [used, rejected, burned, withdrawn, _expired] = &offers;
    let devices = [used, rejected].map(|offer| pairing.begin_with(1, offer));
    devices.iter().for_each(|device| pairing.reveal(device).unwrap());
    pairing.approve(&devices[0]).unwrap();
    pairing.complete(&devices[0]);
    pairing.authority.reject(devices[1].id(), pairing.now).unwrap();
    guess_often(&mut pairing, burned.0, 5);
    pairing.authority.withdraw(withdrawn.0, pairing.now).unwrap();
    pairing.pass(300);
    let live = pairing.offer();
    let phases = |pairing: &Pairing| {
        offers
            .iter()
            .map(|offer| phase(pairing, offer.0))
            .collect::<Vec<_>>()
    };
    let before = [
        OfferPhase::Used(devices[0].id()),
        OfferPhase::Used(devices[1].id()),
        OfferPhase::Burned,
        OfferPhase::Withdrawn,
        OfferPhase::Expired,
    ];
    assert_eq!(phases(&pairing), before);
    for offer in &offers {
        pairing.authority.withdraw(offer.0, pairing.now).unwrap();
    }
    assert_eq!(phases(&pairing), before);
    pairing.authority.lock_down(pairing.now);
    assert_eq!(phases(&pairing), before);
    assert_eq!(phase(&pairing, live.0), OfferPhase::Withdrawn);
}

#[test]
fn withdrawing_what_is_not_there_says_so() {
    let mut pairing = Pairing::new();
    let unknown = OfferId::from_bytes([0; 8]);
    assert_eq!(
        pairing.authority.withdraw(unknown, pairing.now),
        Err(OfferError::Unknown)
    );
}

#[test]
fn offers_are_listed_oldest_first_with_their_terms() {
    let mut pairing = Pairing::new();
    let terms = OfferTerms {
        role: Some(Role::Operator),
        ..OfferTerms::default()
    };
    let ids: Vec<_> = (0..5).map(|_| pairing.offer_with(terms.clone()).0).collect();
    let listed = pairing.authority.offers(pairing.now);
    assert_eq!(listed.iter().map(|offer| offer.id).collect::<Vec<_>>(), ids);
    assert!(
        listed
            .iter()
            .all(|offer| offer.terms == terms && offer.phase.is_live())
    );
    assert_eq!(
        listed[0].expires_at,
        pairing.now.plus(pairing.authority.limits().offer_ttl)
    );
}

#[test]
fn offers_are_bounded_and_an_ended_one_makes_room() {
    let mut pairing = Pairing::new();
    let first = pairing.offer();
    (1..MAX_OFFERS).for_each(|_| drop(pairing.offer()));
    let more = pairing
        .authority
        .offer(OfferTerms::default(), pairing.now, &mut pairing.rng);
    assert_eq!(more.unwrap_err(), OfferError::TooMany);
    pairing.authority.withdraw(first.0, pairing.now).unwrap();
    pairing.offer();
    assert_eq!(pairing.authority.offers(pairing.now).len(), MAX_OFFERS);
}

#[test]
fn ended_offers_are_forgotten_after_a_while() {
    let mut pairing = Pairing::new();
    let offer = pairing.offer();
    pairing.pass(300 + 600);
    pairing.offer();
    assert_eq!(pairing.authority.offers(pairing.now).len(), 1);
    assert_eq!(refusal(&mut pairing, &offer), OfferError::Unknown);
}

#[test]
fn a_shown_link_gives_the_same_secret_as_the_offer() {
    let mut pairing = Pairing::new();
    let (id, secret) = pairing.offer();
    let scanned = (id, copy(&secret));
    assert!(pairing.begin_as(1, [1; 32], "peer", Some(&scanned)).is_ok());
}

#[test]
fn offer_errors_are_kept_apart() {
    assert_eq!(
        (OfferError::Unknown.code(), OfferError::Unknown.fault()),
        ("unknown_offer", Fault::Credential)
    );
    assert_eq!(
        (OfferError::TooMany.code(), OfferError::TooMany.fault()),
        ("too_many_offers", Fault::Limit)
    );
    let timing = [
        (OfferError::Expired, "offer_expired"),
        (OfferError::Claimed, "offer_claimed"),
        (OfferError::Used, "offer_used"),
        (OfferError::Burned, "offer_burned"),
        (OfferError::Withdrawn, "offer_withdrawn"),
    ];
    for (error, code) in timing {
        assert_eq!((error.code(), error.fault()), (code, Fault::Timing));
        assert_eq!(RequestError::from(error).code(), code);
        assert_eq!(RevealError::from(error).code(), code);
    }
}
