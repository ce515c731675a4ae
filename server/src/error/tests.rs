use axum::response::IntoResponse;
use http::header;
use pairing::{AuthError, ChangeError, Denied, OfferError, Principal, RequestError, RevokeError, Scope};

use super::Failure;

#[test]
fn the_five_ways_to_lack_a_credential_have_five_codes() {
    let failures = [
        Failure::Unauthenticated,
        Failure::from(pairing::MalformedToken::Checksum),
        Failure::from(AuthError::Unknown),
        Failure::from(AuthError::Revoked),
        Failure::from(AuthError::Expired),
    ];
    let codes = [
        "unauthenticated",
        "malformed_token",
        "invalid_token",
        "revoked",
        "expired",
    ];
    for (failure, code) in failures.into_iter().zip(codes) {
        assert_eq!((failure.problem().status, failure.code()), (401, code));
    }
}

#[test]
fn who_is_at_fault_decides_the_status() {
    let cases = [
        (Failure::from(RevokeError::NotPermitted), 403, "not_permitted"),
        (Failure::from(RevokeError::UnknownDevice), 404, "unknown_device"),
        (Failure::from(OfferError::Unknown), 401, "unknown_offer"),
        (Failure::from(OfferError::Used), 409, "offer_used"),
        (Failure::from(OfferError::TooMany), 429, "too_many_offers"),
        (
            Failure::denied(Denied::Scope(Scope::Write), &Principal::Nobody),
            403,
            "not_permitted",
        ),
        (
            Failure::denied(Denied::Ended, &Principal::Owner),
            401,
            "authentication_ended",
        ),
    ];
    for (failure, status, code) in cases {
        assert_eq!((failure.problem().status, failure.code()), (status, code));
    }
}

#[test]
fn the_owner_is_not_sent_to_the_owner() {
    let failures = [
        Failure::denied(Denied::Scope(Scope::OwnRecord), &Principal::Owner),
        Failure::from(ChangeError::WithoutKey),
        Failure::from(ChangeError::NothingToBind),
    ];
    for failure in failures {
        let problem = failure.problem();
        assert_eq!(problem.status, 403);
        assert!(!problem.hint.contains("owner"), "{problem:?}");
    }
    let other = Failure::denied(Denied::Scope(Scope::Write), &Principal::Nobody);
    assert_eq!(other.problem().hint, "ask the owner");
}

#[test]
fn the_time_to_wait_is_rounded_up_and_also_a_header() {
    let retry_after = std::time::Duration::from_millis(1_001);
    let failure = Failure::from(RequestError::TooManyPending { retry_after });
    assert_eq!(failure.problem().retry_after, Some(2));
    assert_eq!(failure.into_response().headers()[header::RETRY_AFTER], "2");
}

#[test]
fn the_daemons_own_fault_names_an_id_and_not_the_cause() {
    let problem = Failure::internal(&"the secret cause").problem();
    let id = problem.request_id.clone().unwrap();
    assert_eq!(id.len(), 16);
    assert!(!serde_json::to_string(&problem).unwrap().contains("secret cause"));
}
