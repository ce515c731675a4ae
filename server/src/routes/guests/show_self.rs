//! `GET /v1/guests/self`: a guest's own record.

use std::sync::Arc;

use axum::Json;
use pairing::{Principal, marker::OwnRecord};
use protocol::guests::GuestSelf;

use super::{sessions, with_scrollback};
use crate::{
    access::Access,
    clock,
    error::Failure,
    operation::{Operation, problems},
    router::{App, Permitted},
};

pub(crate) async fn show(
    App(access): App<Arc<Access>>,
    permit: Permitted<OwnRecord>,
) -> Result<Json<GuestSelf>, Failure> {
    let Principal::Guest(id) = *permit.0.principal() else {
        return Err(Failure::NotFound("you are no guest"));
    };
    let now = clock::latest();
    let guest = access.guests().get(id).cloned().ok_or(Failure::Ended)?;
    Ok(Json(GuestSelf {
        id,
        sessions: sessions(&guest),
        with_scrollback: with_scrollback(&guest),
        expires_in: guest.expires_at.since(now).as_secs(),
    }))
}

pub(in crate::routes) const SHOW: Operation =
    Operation::new("show_own_guest", "Shows the calling guest its own record.")
        .gives::<GuestSelf>(200)
        .fails(|| problems([Failure::NotFound("you are no guest")]));
