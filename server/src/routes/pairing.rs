//! Pairing, one file per action. Steps 1 to 3, 5 and 6 are the device's; offers and the decision are the owner's.

mod approve;
mod commit;
mod exchange;
mod held_back;
mod list_offers;
mod list_requests;
mod make_offer;
mod poll;
mod reject;
mod request;
mod reveal;
mod withdraw_offer;

use std::sync::Arc;

use http::{HeaderMap, Method};
use pairing::{Fault, OfferError, Principal, RejectCause, RequestSecret, Role, marker::DeviceManage};
use protocol::Bytes64;

use crate::{
    access::Access, audit::AuditRow, authenticate, clock, error::Failure, peer::Peer, router::Routes,
};

/// Adds the routes of pairing to the list.
pub(super) fn add(routes: Routes<Arc<Access>>) -> Routes<Arc<Access>> {
    routes
        .route::<DeviceManage, _, _>(Method::POST, "/v1/pairing/offers", None, make_offer::make)
        .described(&make_offer::MAKE)
        .route::<DeviceManage, _, _>(Method::GET, "/v1/pairing/offers", None, list_offers::list)
        .described(&list_offers::LIST)
        .route::<DeviceManage, _, _>(
            Method::DELETE,
            "/v1/pairing/offers/{id}",
            None,
            withdraw_offer::withdraw,
        )
        .described(&withdraw_offer::WITHDRAW)
        .public(Method::POST, "/v1/pairing/requests", request::request)
        .described(&request::REQUEST_PAIRING)
        .route::<DeviceManage, _, _>(Method::GET, "/v1/pairing/requests", None, list_requests::list)
        .described(&list_requests::LIST)
        .public(Method::GET, "/v1/pairing/requests/{id}", poll::poll)
        .described(&poll::POLL)
        .public(Method::POST, "/v1/pairing/requests/{id}/reveal", reveal::reveal)
        .described(&reveal::REVEAL)
        .route::<DeviceManage, _, _>(
            Method::POST,
            "/v1/pairing/requests/{id}/approve",
            None,
            approve::approve,
        )
        .described(&approve::APPROVE)
        .route::<DeviceManage, _, _>(
            Method::POST,
            "/v1/pairing/requests/{id}/reject",
            None,
            reject::reject,
        )
        .described(&reject::REJECT)
        .public(
            Method::POST,
            "/v1/pairing/requests/{id}/exchange",
            exchange::exchange,
        )
        .described(&exchange::EXCHANGE)
        .public(Method::POST, "/v1/pairing/requests/{id}/commit", commit::commit)
        .described(&commit::COMMIT)
}

/// The request secret that steps 2, 3 and 5 carry as bearer.
fn request_secret(headers: &HeaderMap) -> Result<RequestSecret, Failure> {
    let text = authenticate::bearer(headers)?;
    let missing = || {
        Failure::pairing(
            "unauthenticated",
            Fault::Credential,
            "this needs the request secret as bearer",
        )
    };
    Ok(RequestSecret::parse(text.ok_or_else(missing)?)?)
}

/// Bytes of one exact length.
fn exactly<const N: usize>(bytes: &Bytes64, what: &str) -> Result<[u8; N], Failure> {
    bytes
        .0
        .as_slice()
        .try_into()
        .map_err(|_| Failure::malformed(format!("{what} has {N} bytes")))
}

/// A role that a paired device may have: metrics are read by devices that are added by hand.
fn paired_role(role: Option<Role>) -> Result<Option<Role>, Failure> {
    match role {
        Some(Role::Metrics) => Err(Failure::malformed("a paired device is a viewer or an operator")),
        role => Ok(role),
    }
}

/// A row about what somebody did who is not known.
fn row_of_stranger(peer: &Peer, action: &'static str, target: impl ToString) -> AuditRow {
    let nobody = authenticate::name_of(&Principal::Nobody);
    AuditRow::new(clock::now(), nobody, peer, action, target)
}

/// Writes a row before what it is about is done, or told: without the row it is not. Gives its number.
async fn audited(access: &Access, row: AuditRow) -> Result<u64, Failure> {
    access.store.append_audit_numbered(row).await.map_err(|error| {
        tracing::error!(%error, "an audit row could not be written");
        Failure::StoreFailed
    })
}

/// The same for what a stranger does, of whom only so much is written as one peer may have written.
async fn audited_of(access: &Access, peer: &Peer, row: AuditRow) -> Result<(), Failure> {
    let appended = access.append_audit(&Principal::Nobody, peer, row).await;
    appended.map_err(|error| {
        tracing::error!(%error, "an audit row could not be written");
        Failure::StoreFailed
    })
}

/// Why a request may have been rejected.
const CAUSES: [RejectCause; 9] = [
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

/// Why an offer that a device shows may be of no use.
const OFFER_ERRORS: [OfferError; 6] = [
    OfferError::Unknown,
    OfferError::Expired,
    OfferError::Claimed,
    OfferError::Used,
    OfferError::Burned,
    OfferError::Withdrawn,
];

#[cfg(test)]
mod tests;
