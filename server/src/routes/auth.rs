//! The auth lane: all that the token of a device with a key opens.

mod challenge;
mod prove;

use std::sync::Arc;

use http::Method;
use pairing::{Audience, Fault, MalformedAudience};

use crate::{
    access::Access,
    error::Failure,
    peer::{Peer, RemotePeer},
    router::Routes,
};

/// Adds the routes of the auth lane to the list.
pub(super) fn add(routes: Routes<Arc<Access>>) -> Routes<Arc<Access>> {
    routes
        .public_to_guests(Method::GET, "/v1/auth/challenge", challenge::make)
        .described(&challenge::MAKE)
        .public_to_guests(Method::POST, "/v1/auth/proof", prove::prove)
        .described(&prove::PROVE)
}

/// Keys are proven to a listener; whoever may use the Unix socket is known by it.
fn remote(peer: &Peer) -> Result<&RemotePeer, Failure> {
    match peer {
        Peer::Remote(remote) => Ok(remote),
        Peer::Local(_) => Err(not_remote()),
    }
}

fn not_remote() -> Failure {
    Failure::malformed("keys are proven on TLS listeners; whoever may use this socket needs none")
}

/// Whom a signature is for.
pub(super) fn audience(text: &str) -> Result<Audience, Failure> {
    text.parse().map_err(|refused: MalformedAudience| {
        Failure::pairing("malformed_audience", Fault::Malformed, refused.to_string())
    })
}

#[cfg(test)]
mod tests;
