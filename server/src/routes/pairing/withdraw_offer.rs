//! `DELETE /v1/pairing/offers/{id}`: the owner takes an offer back.

use std::sync::Arc;

use http::StatusCode;
use pairing::{OfferError, OfferId, marker::DeviceManage};

use super::audited;
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::Path,
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
    let offers = access.authority().offers(now);
    let offer = offers.iter().find(|offer| offer.id == id).ok_or_else(not_found)?;
    // One that has ended stays what it is.
    if offer.phase.is_live() {
        let principal = name_of(permit.principal());
        let row = AuditRow::new(clock::now(), principal, &peer, action::OFFER_WITHDRAWN, id);
        audited(&access, row).await?;
    }
    access
        .authority()
        .withdraw(id, now)
        .map_err(|error| match error {
            // To a device that shows an offer this is a wrong credential; the owner named something that is gone.
            OfferError::Unknown => not_found(),
            other => other.into(),
        })?;
    access.pairing_changed.notify_waiters();
    Ok(StatusCode::NO_CONTENT)
}

fn not_found() -> Failure {
    Failure::NotFound("there is no such offer")
}
