//! `GET /v1/pairing/offers`: the owner's offers, those included that ended within the last minutes.

use std::sync::Arc;

use axum::Json;
use pairing::{OfferPhase, Role, marker::DeviceManage};
use protocol::pairing::OfferView;

use crate::{
    access::Access,
    clock,
    router::{App, Permitted},
};

pub(in crate::routes) async fn list(
    App(access): App<Arc<Access>>,
    Permitted(_): Permitted<DeviceManage>,
) -> Json<Vec<OfferView>> {
    let default_role = access.config.pairing.default_role;
    let offers = access.authority().offers(clock::latest());
    Json(
        offers
            .into_iter()
            .map(|offer| view(offer, default_role))
            .collect(),
    )
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
