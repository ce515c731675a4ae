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
    let now = clock::now();
    if !access.authority().offers(now).iter().any(|offer| offer.id == id) {
        return Err(not_found());
    }
    audited(
        &access,
        AuditRow::new(
            now,
            name_of(permit.principal()),
            &peer,
            action::OFFER_WITHDRAWN,
            id,
        ),
    )
    .await?;
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
