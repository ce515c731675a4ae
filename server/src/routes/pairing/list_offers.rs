//! `GET /v1/pairing/offers?wait=`: the owner's offers, those included that ended within the last minutes.

use std::sync::Arc;

use axum::response::Response;
use http::HeaderMap;
use pairing::{OfferPhase, Role, marker::DeviceManage};
use protocol::pairing::{OfferView, PollQuery};

use super::held_back::{Asked, HELD_BACK, Listed};
use crate::{
    access::Access,
    clock,
    error::Failure,
    extract::Query,
    operation::Operation,
    router::{App, On, Permitted},
};

pub(in crate::routes) async fn list(
    App(access): App<Arc<Access>>,
    Permitted(_): Permitted<DeviceManage>,
    On(connection): On,
    Query(PollQuery { wait }): Query<PollQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    Asked::new(wait, &headers)
        .answer(&access, &connection, listed)
        .await
}

pub(super) fn listed(access: &Access) -> Listed<OfferView> {
    let (default_role, offers) = {
        let authority = access.authority();
        (authority.limits().default_role, authority.offers(clock::latest()))
    };
    Listed {
        ends: offers.iter().map(|offer| offer.expires_at).collect(),
        entries: offers
            .into_iter()
            .map(|offer| view(offer, default_role))
            .collect(),
    }
}

fn view(offer: pairing::OfferView, default_role: Role) -> OfferView {
    let (state, request_id) = match offer.phase {
        OfferPhase::Open => ("open", None),
        OfferPhase::Claimed(request) => ("claimed", Some(request)),
        OfferPhase::Used(request) => ("used", Some(request)),
        OfferPhase::Burned => ("burned", None),
        OfferPhase::Withdrawn => ("withdrawn", None),
        OfferPhase::Expired => ("expired", None),
    };
    OfferView {
        id: offer.id,
        state: state.to_owned(),
        role: offer.terms.role.unwrap_or(default_role),
        label: offer.terms.label.map(|label| label.as_str().to_owned()),
        request_id,
        expires_at: clock::shown(offer.expires_at),
    }
}

pub(in crate::routes) const LIST: Operation = Operation::new(
    "list_offers",
    "Lists the offers, those included that ended within the last minutes.",
)
.explained(HELD_BACK)
.asks::<PollQuery>()
.gives::<Vec<OfferView>>(200)
.gives_nothing(304);
