//! `GET /v1/auth/challenge`: what a device can prove next, for a page: a browser complains of each refusal on its console.

use std::sync::Arc;

use axum::Json;
use protocol::access::ChallengeMade;

use super::remote;
use crate::{
    access::Access,
    error::Failure,
    operation::{Operation, problems},
    router::{App, On},
};

pub(in crate::routes) async fn make(
    App(access): App<Arc<Access>>,
    On(connection): On,
) -> Result<Json<ChallengeMade>, Failure> {
    let generation = remote(connection.peer())?.generation;
    Ok(Json(ChallengeMade {
        challenge: access.challenge(generation).to_string(),
    }))
}

pub(in crate::routes) const MAKE: Operation =
    Operation::new("make_challenge", "Gives what a device with a key can sign next.")
        .explained(
            "On a TLS listener. Every 401 there carries one too, as `challenge`; it is good for a minute.",
        )
        .gives::<ChallengeMade>(200)
        .fails(|| problems([super::not_remote()]));
