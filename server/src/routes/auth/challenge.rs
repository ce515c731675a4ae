//! `GET /v1/auth/challenge`: what a device can prove next, for a page: a browser complains of each refusal on its console.

use std::sync::Arc;

use axum::Json;
use protocol::access::ChallengeMade;

use super::remote;
use crate::{
    access::Access,
    error::Failure,
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
