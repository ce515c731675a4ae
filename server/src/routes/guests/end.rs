//! `DELETE /v1/guests/{id}` and `/v1/guests/self`: ends a guest and everything that it has open.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::{
    GuestId, Principal,
    marker::{DeviceRevoke, OwnRecord},
};

use crate::{
    access::Access,
    audit::action,
    edge::LastAnswer,
    error::Failure,
    extract::Path,
    guests::{self, Outcome},
    revocation::Revoker,
    router::{App, On, Permitted},
};

pub(crate) async fn end(
    App(access): App<Arc<Access>>,
    permit: Permitted<DeviceRevoke>,
    On(connection): On,
    Path(id): Path<GuestId>,
) -> Result<Response, Failure> {
    let by = Revoker {
        authenticated: permit.0.authenticated().clone(),
        connection,
        action: action::GUEST_ENDED,
    };
    guests::end(&access, by, id).await.map(answer)
}

pub(crate) async fn leave(
    App(access): App<Arc<Access>>,
    permit: Permitted<OwnRecord>,
    On(connection): On,
) -> Result<Response, Failure> {
    let Principal::Guest(id) = *permit.0.principal() else {
        return Err(Failure::NotFound("you are no guest"));
    };
    let by = Revoker {
        authenticated: permit.0.authenticated().clone(),
        connection,
        action: action::GUEST_LEFT,
    };
    guests::end(&access, by, id).await.map(answer)
}

fn answer(outcome: Outcome) -> Response {
    let mut response = outcome.answer.map(Json).into_response();
    if outcome.was_own {
        response.extensions_mut().insert(LastAnswer);
    }
    response
}
