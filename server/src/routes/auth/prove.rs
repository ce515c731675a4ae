//! `POST /v1/auth/proof`: a device or guest proves its key, and gets an access token.

use std::sync::Arc;

use axum::Json;
use http::HeaderMap;
use pairing::{
    Audience, ChallengeError, Fault, Granted, KeyHolder, ProofCheck, ProofError, ShownProof, TokenHolder,
    UnixMillis,
};
use protocol::{
    WireSecret,
    access::{PrincipalKind, ProofOfKey, Proven},
};

use super::remote;
use crate::{
    access::Access,
    audit::action,
    authenticate::{self, seen, token_holder},
    clock,
    connections::Connection,
    error::Failure,
    extract,
    peer::RemotePeer,
    random,
    router::{App, On},
    verify::P256,
};

pub(in crate::routes) async fn prove(
    App(access): App<Arc<Access>>,
    On(connection): On,
    headers: HeaderMap,
    extract::Json(body): extract::Json<ProofOfKey>,
) -> Result<Json<Proven>, Failure> {
    let peer = remote(connection.peer())?;
    let token = authenticate::bearer(&headers)?.ok_or(Failure::NoDeviceToken)?;
    let now = clock::latest();
    let holder = token_holder(&access, token, now)?;
    let audience = body
        .audience
        .parse()
        .map_err(|refused: pairing::MalformedAudience| {
            Failure::pairing("malformed_audience", Fault::Malformed, refused.to_string())
        })?;
    let id = holder.id();
    match check(&access, &connection, peer, holder, (&body, &audience)) {
        Ok(granted) => {
            seen(&access, id, peer, now);
            Ok(Json(answer(&granted, id)))
        }
        Err(Refused::Proof(refused)) => {
            note(&access, id, peer, refused, now).await;
            Err(refused.into())
        }
        Err(Refused::Connection(failure)) => Err(failure),
    }
}

/// Why there is no access token.
enum Refused {
    Proof(ProofError),
    /// The connection is another's, or the device has too many.
    Connection(Failure),
}

impl<E: Into<ProofError>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Proof(error.into())
    }
}

/// The signature is checked under no lock: it takes longer than all the rest together.
fn check(
    access: &Access,
    connection: &Connection,
    peer: &RemotePeer,
    holder: TokenHolder,
    (body, audience): (&ProofOfKey, &Audience),
) -> Result<Granted, Refused> {
    let place = peer.place();
    let opened = access
        .proofs()
        .open(&body.challenge, place.generation, clock::latest());
    let challenge = opened?;
    let shown = ShownProof {
        audience,
        signature: &body.signature.0,
    };
    let accepts = |audience: &Audience| access.is_own_audience(audience, connection.peer());
    let check = ProofCheck {
        verifier: &P256,
        accepts: &accepts,
    };
    let proof = holder.prove(challenge, shown, check, &place)?;
    // All under one lock: a proof that was used takes no connection, and one that gets no connection is not used.
    let mut proofs = access.proofs();
    // Read under it, so that no proof is judged by a moment before those that came before it.
    let claimed = proofs.claim(proof, clock::latest())?;
    // Who proves a key is as much authenticated as who shows an access token.
    let bound = access.connections.bind(connection, claimed.authenticated());
    bound.map_err(|refused| Refused::Connection(refused.into()))?;
    Ok(claimed.grant(&mut random::rng()))
}

fn answer(granted: &Granted, holder: KeyHolder) -> Proven {
    Proven {
        access_token: WireSecret::new(granted.token.reveal().as_str()),
        expires_in: granted.expires_in.as_secs(),
        principal: match holder {
            KeyHolder::Device(_) => PrincipalKind::Device,
            KeyHolder::Guest(_) => PrincipalKind::Guest,
        },
        challenge: granted.challenge.to_string(),
    }
}

/// Writes a refusal down that no honest device brings about: a challenge that is old or foreign is what sleep and restarts do.
async fn note(access: &Access, holder: KeyHolder, peer: &RemotePeer, refused: ProofError, now: UnixMillis) {
    let action = match refused {
        ProofError::Challenge(ChallengeError::Foreign | ChallengeError::Expired) | ProofError::NoKey => {
            return;
        }
        ProofError::Auth(_) => action::NODE_REFUSED,
        ProofError::Challenge(_) | ProofError::WrongAudience | ProofError::BadSignature => {
            action::PROOF_REFUSED
        }
    };
    access
        .note_refusal(holder, peer, action, refused.code(), now)
        .await;
}
