//! `POST /v1/pairing/offers`: the owner invites a device.

use std::sync::Arc;

use axum::Json;
use http::StatusCode;
use pairing::{OfferError, OfferTerms, OfferView, marker::DeviceManage};
use protocol::pairing::{NewOffer, OfferMade};

use super::{audited, paired_role};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::OptionalJson,
    operation::{Operation, problems},
    peer::Peer,
    random,
    router::{App, Permitted},
    routes::{label, lifetime, link},
};

pub(in crate::routes) async fn make(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    OptionalJson(body): OptionalJson<NewOffer>,
) -> Result<(StatusCode, Json<OfferMade>), Failure> {
    let terms = terms(&body)?;
    if access.looks_locked_down().await {
        return Err(Failure::LockedDown);
    }
    let now = clock::latest();
    let (authority, offer, secret) = {
        let mut offers = access.unlocked_authority()?;
        let authority = access.link_authority().ok_or(Failure::NoListener)?;
        let (offer, secret) = offers.offer(terms, now, &mut random::rng())?;
        (authority, offer, secret)
    };
    let row = AuditRow::new(
        clock::now(),
        name_of(permit.principal()),
        &peer,
        action::OFFER_MADE,
        offer.id,
    )
    .detail(detail(&access, &offer));
    if let Err(failure) = audited(&access, row).await {
        // Nobody knows its secret; it must not be listed as if somebody could use it.
        let _ = access.authority().withdraw(offer.id, now);
        return Err(failure);
    }
    access.pairing_changed.notify_waiters();
    let made = OfferMade {
        id: offer.id,
        url: link(&access, &authority, "pair", offer.id, secret.reveal().as_str()),
        expires_in: offer.expires_at.since(now).as_secs(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

fn terms(body: &NewOffer) -> Result<OfferTerms, Failure> {
    Ok(OfferTerms {
        label: body.label.as_deref().map(label).transpose()?,
        role: paired_role(body.role)?,
        can_revoke: body.can_revoke.unwrap_or(false),
        any_path: body.any_path.unwrap_or(false),
        expires_in: lifetime(body.expires_in)?,
    })
}

fn detail(access: &Access, offer: &OfferView) -> String {
    let role = offer
        .terms
        .role
        .unwrap_or_else(|| access.authority().limits().default_role);
    format!(
        "role {role}, can_revoke {}, any_path {}",
        offer.terms.can_revoke, offer.terms.any_path
    )
}

pub(in crate::routes) const MAKE: Operation = Operation::new(
    "make_offer",
    "Makes an offer: a link by which one device can ask to be paired.",
)
.may_take::<NewOffer>()
.gives::<OfferMade>(201)
.fails(|| {
    let mut all = problems([OfferError::TooMany]);
    all.extend(problems(label("").err()));
    all.extend(problems([
        Failure::LockedDown,
        Failure::NoListener,
        Failure::StoreFailed,
    ]));
    all
});
