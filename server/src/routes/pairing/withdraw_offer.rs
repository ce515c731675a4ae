//! `DELETE /v1/pairing/offers/{id}`: the owner takes an offer back.

use std::sync::Arc;

use http::StatusCode;
use pairing::{OfferError, OfferId, marker::DeviceManage};

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::Path,
    operation::{OFFER, Operation, problems},
    peer::Peer,
    router::{App, Permitted},
};

pub(in crate::routes) async fn withdraw(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    Path(id): Path<OfferId>,
) -> Result<StatusCode, Failure> {
    let now = clock::latest();
    // It takes something back, and waits for nothing.
    let was_live = {
        let mut authority = access.authority();
        let offer = authority.offer_by_id(id, now).ok_or_else(not_found)?;
        authority.withdraw(id, now).map_err(|error| match error {
            // To a device that shows an offer this is a wrong credential; the owner named something that is gone.
            OfferError::Unknown => not_found(),
            other => other.into(),
        })?;
        offer.phase.is_live()
    };
    access.pairing_changed.notify_waiters();
    // One that has ended stays what it is.
    if was_live {
        let principal = name_of(permit.principal());
        let row = AuditRow::new(clock::now(), principal, &peer, action::OFFER_WITHDRAWN, id);
        access.append_audit_of_end(row).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn not_found() -> Failure {
    Failure::NotFound("there is no such offer")
}

pub(in crate::routes) const WITHDRAW: Operation = Operation::new("withdraw_offer", "Takes an offer back.")
    .about(OFFER)
    .gives_nothing(204)
    .fails(|| {
        problems([
            OfferError::Expired,
            OfferError::Used,
            OfferError::Burned,
            OfferError::Withdrawn,
        ])
    });
