//! `DELETE /v1/guests/{id}` and `/v1/guests/self`: ends a guest and everything that it has open.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::{
    EndGuestError, GuestId, Principal,
    marker::{DeviceRevoke, OwnRecord},
};
use protocol::guests::GuestEnded;

use crate::{
    access::Access,
    audit::action,
    edge::LastAnswer,
    error::Failure,
    extract::Path,
    guests::{self, Outcome},
    operation::{GUEST, Operation, problems},
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

pub(in crate::routes) const END: Operation = Operation::new(
    "end_guest",
    "Ends a guest, or an invitation that nobody used, and everything that it has open.",
)
.about(GUEST)
.gives::<GuestEnded>(200)
.fails(|| {
    let mut all = problems([EndGuestError::UnknownGuest, EndGuestError::NotPermitted]);
    all.extend(problems([Failure::RevokedInMemoryOnly]));
    all
});

pub(in crate::routes) const LEAVE: Operation =
    Operation::new("leave_as_guest", "The calling guest ends itself.")
        .gives::<GuestEnded>(200)
        .fails(|| {
            problems([
                Failure::NotFound("you are no guest"),
                Failure::RevokedInMemoryOnly,
            ])
        });
