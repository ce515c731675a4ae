//! Errors of pairing have stable codes and say who is at fault.

use crate::{
    ApproveError, CommitError, ExchangeError, Fault, FindError, PollError, RejectCause, RejectError,
};
use crate::{RequestError, RevealError};
use core::time::Duration;

#[test]
fn a_wrong_id_or_secret_is_a_matter_of_credentials() {
    assert_eq!(
        (
            PollError::UnknownRequest.code(),
            PollError::UnknownRequest.fault()
        ),
        ("unknown_request", Fault::Credential)
    );
    assert_eq!(RevealError::UnknownRequest.fault(), Fault::Credential);
    assert_eq!(ExchangeError::UnknownRequest.fault(), Fault::Credential);
    assert_eq!(
        (
            CommitError::UnknownToken.code(),
            CommitError::UnknownToken.fault()
        ),
        ("unknown_token", Fault::Credential)
    );
}

#[test]
fn the_owner_who_names_nothing_is_told_so() {
    assert_eq!(
        (
            ApproveError::UnknownRequest.code(),
            ApproveError::UnknownRequest.fault()
        ),
        ("unknown_request", Fault::Unknown)
    );
    assert_eq!(
        (
            RejectError::UnknownRequest.code(),
            RejectError::UnknownRequest.fault()
        ),
        ("unknown_request", Fault::Unknown)
    );
    assert_eq!(
        (FindError::NoMatch.code(), FindError::NoMatch.fault()),
        ("unknown_code", Fault::Unknown)
    );
    assert_eq!(
        (FindError::Ambiguous.code(), FindError::Ambiguous.fault()),
        ("ambiguous_code", Fault::Timing)
    );
}

#[test]
fn too_many_requests_are_a_matter_of_limits() {
    let error = RequestError::TooManyPending {
        retry_after: Duration::from_secs(1),
    };
    assert_eq!((error.code(), error.fault()), ("too_many_pending", Fault::Limit));
}

#[test]
fn a_bad_proof_is_a_matter_of_credentials() {
    assert_eq!(
        (
            ExchangeError::BadSignature.code(),
            ExchangeError::BadSignature.fault()
        ),
        ("bad_signature", Fault::Credential)
    );
    assert_eq!(
        (
            ExchangeError::WrongAudience.code(),
            ExchangeError::WrongAudience.fault()
        ),
        ("wrong_audience", Fault::Credential)
    );
    assert_eq!(RevealError::CommitmentMismatch.code(), "commitment_mismatch");
    assert_eq!(RevealError::CommitmentMismatch.fault(), Fault::Malformed);
}

#[test]
fn too_early_and_too_late_are_told_apart_by_their_codes() {
    let owner = RejectCause::Owner;
    let timing = [
        (
            ApproveError::NotRevealed.code(),
            "not_revealed",
            ApproveError::NotRevealed.fault(),
        ),
        (
            ApproveError::Expired.code(),
            "request_expired",
            ApproveError::Expired.fault(),
        ),
        (
            ApproveError::DeviceAway.code(),
            "device_away",
            ApproveError::DeviceAway.fault(),
        ),
        (
            ApproveError::Rejected(owner).code(),
            "request_rejected",
            ApproveError::Rejected(owner).fault(),
        ),
        (
            RejectError::AlreadyCommitted.code(),
            "already_committed",
            RejectError::AlreadyCommitted.fault(),
        ),
        (
            RevealError::Expired.code(),
            "request_expired",
            RevealError::Expired.fault(),
        ),
        (
            RevealError::Rejected(owner).code(),
            "request_rejected",
            RevealError::Rejected(owner).fault(),
        ),
        (
            RevealError::AlreadyRevealed.code(),
            "already_revealed",
            RevealError::AlreadyRevealed.fault(),
        ),
        (
            ExchangeError::NotApproved.code(),
            "not_approved",
            ExchangeError::NotApproved.fault(),
        ),
        (
            ExchangeError::Expired.code(),
            "request_expired",
            ExchangeError::Expired.fault(),
        ),
        (
            ExchangeError::CommitUnderWay.code(),
            "commit_under_way",
            ExchangeError::CommitUnderWay.fault(),
        ),
        (
            ExchangeError::AlreadyCommitted.code(),
            "already_committed",
            ExchangeError::AlreadyCommitted.fault(),
        ),
        (
            CommitError::Expired.code(),
            "request_expired",
            CommitError::Expired.fault(),
        ),
    ];
    for (code, expected, fault) in timing {
        assert_eq!((code, fault), (expected, Fault::Timing));
    }
}
