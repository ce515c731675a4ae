use super::{Approval, ApproveTerms, Grant, Pending, RejectCause, RequestPhase, RequestState, Reveal};
use crate::proof::ExchangeNonce;
use crate::testing::{SeededRng, at, key, token, token_key};
use crate::{ApproveError, DeviceId, Label, PairingCode, RejectError, Role};
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use core::time::Duration;

fn label() -> Label {
    "phone".parse().unwrap()
}

fn reveal() -> Reveal {
    Reveal {
        public_key: key(1),
        nonce: [1; 32],
        code: "493027".parse::<PairingCode>().unwrap(),
    }
}

fn pending(reveal: Option<Reveal>) -> RequestState {
    let interval = Duration::from_secs(5);
    RequestState::Pending(Pending {
        deadline: at(600),
        last_seen: at(0),
        last_poll: None,
        interval,
        reveal,
    })
}

fn approval(reveal: Reveal) -> Approval {
    Approval {
        reveal,
        grant: ApproveTerms::default().grant(ApproveTerms::default(), &label(), Role::Viewer, at(0)),
        device_id: DeviceId::from_bytes([1; 8]),
        exchange_nonce: ExchangeNonce::generate(&mut SeededRng::new(1)),
        deadline: at(120),
        has_lapsed: false,
    }
}

fn approved() -> RequestState {
    pending(Some(reveal())).approve(approval).unwrap()
}

fn exchanged() -> RequestState {
    approved().exchange(token(1).hash(&token_key()))
}

fn committed() -> RequestState {
    exchanged().committing(true).commit(at(1))
}

fn rejected() -> RequestState {
    pending(None).reject(RejectCause::Owner, at(1)).unwrap()
}

#[test]
fn the_way_to_a_device_is_pending_approved_exchanged_committed() {
    assert!(matches!(approved(), RequestState::Approved(_)));
    assert!(matches!(
        exchanged(),
        RequestState::Exchanged {
            committing: false,
            ..
        }
    ));
    assert!(matches!(committed(), RequestState::Committed { .. }));
}

#[test]
fn only_a_revealed_request_can_be_approved() {
    assert_eq!(
        pending(None).approve(approval).unwrap_err(),
        ApproveError::NotRevealed
    );
    assert_eq!(
        rejected().approve(approval).unwrap_err(),
        ApproveError::Rejected(RejectCause::Owner)
    );
}

#[test]
fn a_second_yes_makes_no_second_device() {
    for state in [approved(), exchanged(), committed()] {
        let again = state
            .clone()
            .approve(|_| panic!("a second approval was made"))
            .unwrap();
        assert_eq!(core::mem::discriminant(&again), core::mem::discriminant(&state));
    }
}

#[test]
fn nothing_is_exchanged_before_the_yes_or_after_the_end() {
    let hash = token(1).hash(&token_key());
    assert!(matches!(
        pending(Some(reveal())).exchange(hash.clone()),
        RequestState::Pending(_)
    ));
    assert!(matches!(
        rejected().exchange(hash.clone()),
        RequestState::Rejected { .. }
    ));
    assert!(matches!(
        committed().exchange(hash),
        RequestState::Committed { .. }
    ));
}

#[test]
fn a_token_on_its_way_to_the_store_is_not_replaced() {
    let RequestState::Exchanged { token_hash, .. } =
        exchanged().committing(true).exchange(token(2).hash(&token_key()))
    else {
        panic!("still exchanged")
    };
    assert!(token_hash.matches(&token(1).hash(&token_key())));
}

#[test]
fn nothing_is_committed_that_was_not_prepared() {
    for state in [pending(Some(reveal())), approved(), exchanged(), rejected()] {
        assert!(!matches!(state.commit(at(1)), RequestState::Committed { .. }));
    }
    assert!(matches!(
        exchanged().committing(true).committing(false).commit(at(1)),
        RequestState::Exchanged { .. }
    ));
}

#[test]
fn a_no_ends_whatever_is_not_on_its_way_to_the_store() {
    for state in [pending(None), pending(Some(reveal())), approved(), exchanged()] {
        assert!(matches!(
            state.reject(RejectCause::Owner, at(1)),
            Ok(RequestState::Rejected { .. })
        ));
    }
    for state in [exchanged().committing(true), committed()] {
        assert_eq!(
            state.reject(RejectCause::Owner, at(1)).unwrap_err(),
            RejectError::AlreadyCommitted
        );
    }
}

#[test]
fn the_first_reason_of_an_end_stays() {
    let again = rejected().reject(RejectCause::Displaced, at(2)).unwrap();
    assert!(matches!(
        again,
        RequestState::Rejected {
            cause: RejectCause::Owner,
            ..
        }
    ));
}

#[test]
fn a_plain_yes_gives_what_the_request_and_the_configuration_say() {
    let grant = ApproveTerms::default().grant(ApproveTerms::default(), &label(), Role::Viewer, at(0));
    let plain = Grant {
        label: label(),
        role: Role::Viewer,
        can_revoke: false,
        any_path: false,
        expires_at: None,
    };
    assert_eq!(grant, plain);
}

#[test]
fn the_offer_fills_what_the_yes_leaves_out() {
    let offered = ApproveTerms {
        label: Some("tablet".parse().unwrap()),
        role: Some(Role::Operator),
        can_revoke: Some(true),
        any_path: Some(true),
        expires_in: Some(Duration::from_secs(60)),
    };
    let grant = ApproveTerms::default().grant(offered, &label(), Role::Viewer, at(0));
    assert_eq!((grant.label.as_str(), grant.role), ("tablet", Role::Operator));
    assert_eq!(
        (grant.can_revoke, grant.any_path, grant.expires_at),
        (true, true, Some(at(60)))
    );
}

#[test]
fn the_yes_overrules_the_offer_also_with_less() {
    let offered = ApproveTerms {
        role: Some(Role::Operator),
        can_revoke: Some(true),
        ..ApproveTerms::default()
    };
    let yes = ApproveTerms {
        role: Some(Role::Viewer),
        can_revoke: Some(false),
        ..ApproveTerms::default()
    };
    let grant = yes.grant(offered, &label(), Role::Operator, at(0));
    assert_eq!((grant.role, grant.can_revoke), (Role::Viewer, false));
}

#[test]
fn every_reason_of_an_end_has_its_own_code_and_sentence() {
    let causes = [
        RejectCause::Owner,
        RejectCause::Displaced,
        RejectCause::Superseded,
        RejectCause::OfferWithdrawn,
        RejectCause::OfferClaimed,
        RejectCause::OfferEnded,
        RejectCause::LockedDown,
        RejectCause::KeyRotated,
        RejectCause::StoreFailed,
    ];
    assert_eq!(
        causes
            .iter()
            .map(|cause| cause.code())
            .collect::<BTreeSet<_>>()
            .len(),
        causes.len()
    );
    assert_eq!(
        causes
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
            .len(),
        causes.len()
    );
}

#[test]
fn a_phase_is_live_while_a_device_can_still_come_of_it() {
    for phase in [
        RequestPhase::Pending,
        RequestPhase::Approved,
        RequestPhase::Exchanged,
    ] {
        assert!(phase.is_live());
    }
    for phase in [
        RequestPhase::Committed,
        RequestPhase::Rejected(RejectCause::Owner),
        RequestPhase::Expired,
    ] {
        assert!(!phase.is_live());
    }
    assert_eq!(RequestPhase::Away.as_str(), "expired");
}
