//! `POST /v1/auth/proof`: a device or guest proves its key, and gets an access token.

use std::sync::Arc;

use axum::Json;
use http::HeaderMap;
use pairing::{
    Audience, AuthError, ChallengeError, DeviceId, Granted, KeyHolder, OpenChallenge, Place, Proof,
    ProofCheck, ProofError, ShownProof, TokenHolder, UnixMillis,
};
use protocol::{
    WireSecret,
    access::{PrincipalKind, ProofOfKey, Proven},
};

use super::{audience, remote};
use crate::{
    access::Access,
    audit::action,
    authenticate::{self, seen, token_holder},
    clock,
    connections::{self, Connection},
    error::Failure,
    extract,
    operation::{Credential, Operation, problems},
    peer::RemotePeer,
    random,
    router::{App, On},
    routes::devices,
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
    let audience = audience(&body.audience)?;
    let id = holder.id();
    let shown = (&body, &audience);
    let holder = match holder.rebinds_to(peer.tailnet.as_deref()).cloned() {
        None => Ok(holder),
        Some(node) => match prove_elsewhere(&access, &connection, peer, holder, shown) {
            Ok(device) => {
                devices::rebind::bind(&access, connection.peer(), device, node).await?;
                Ok(token_holder(&access, token, clock::latest())?)
            }
            Err(refused) => Err(refused),
        },
    };
    match holder.and_then(|holder| check(&access, &connection, peer, holder, shown)) {
        Ok(granted) => {
            access.counts.proofs.add();
            seen(&access, id, peer, now);
            let next_pin = next_pin(&access, id, &audience);
            Ok(Json(Proven {
                next_pin,
                ..answer(&granted, id)
            }))
        }
        Err(Refused::Proof(refused)) => {
            access.counts.failed_proofs.count(refused.code());
            note(&access, id, peer, refused, now).await;
            Err(refused.into())
        }
        Err(Refused::Connection(failure)) => Err(failure),
    }
}

/// What somebody proves, and to whom.
type Shown<'a> = (&'a ProofOfKey, &'a Audience);

/// By which rule a proof is taken.
type Prove =
    fn(TokenHolder, OpenChallenge, ShownProof<'_>, ProofCheck<'_>, &Place<'_>) -> Result<Proof, ProofError>;

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

fn check(
    access: &Access,
    connection: &Connection,
    peer: &RemotePeer,
    holder: TokenHolder,
    shown: Shown<'_>,
) -> Result<Granted, Refused> {
    let proof = proof(
        access,
        connection,
        peer,
        (holder, TokenHolder::prove as Prove),
        shown,
    )?;
    // All under one lock: a proof that was used takes no connection, and one that gets no connection is not used.
    let mut proofs = access.proofs();
    // Read under it, so that no proof is judged by a moment before those that came before it.
    let claimed = proofs.claim(proof, clock::latest())?;
    // Who proves a key is as much authenticated as who shows an access token.
    let bound = access.connections.bind(connection, claimed.authenticated());
    bound.map_err(|refused| Refused::Connection(refused.into()))?;
    Ok(claimed.grant(&mut random::rng()))
}

/// Which device has proven its key on a node to which it is not bound. The proof stays unused.
fn prove_elsewhere(
    access: &Access,
    connection: &Connection,
    peer: &RemotePeer,
    holder: TokenHolder,
    shown: Shown<'_>,
) -> Result<DeviceId, Refused> {
    let device = holder.id().device_id().ok_or(ProofError::NoKey)?;
    // It would be bound there before the connection is found to be for guests alone.
    if connection.is_in_guest_lane() {
        return Err(Refused::Connection(connections::Refused::GuestsOnly.into()));
    }
    let way = (holder, TokenHolder::prove_elsewhere as Prove);
    let proof = proof(access, connection, peer, way, shown)?;
    // One that was used before proves nothing.
    access.proofs().claim(proof, clock::latest())?;
    Ok(device)
}

/// The signature is checked under no lock: it takes longer than all the rest together.
fn proof(
    access: &Access,
    connection: &Connection,
    peer: &RemotePeer,
    (holder, prove): (TokenHolder, Prove),
    (body, audience): Shown<'_>,
) -> Result<Proof, Refused> {
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
    Ok(prove(holder, challenge, shown, check, &place)?)
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
        next_pin: None,
    }
}

/// The pin that comes next, for a device that holds to the present one: it has proven its key to nobody but its holder.
fn next_pin(access: &Access, holder: KeyHolder, audience: &Audience) -> Option<String> {
    let device = holder.device_id()?;
    access.note_audience(device, audience);
    match audience {
        Audience::Pin(_) => access.next_pin().map(|pin| pin.to_string()),
        Audience::Origin(_) => None,
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

pub(in crate::routes) const PROVE: Operation =
    Operation::new("prove", "A device or guest proves its key, and gets an access token.")
    .explained(
        "On a TLS listener. Signed are the lines `transom-proof-v1`, challenge, audience and the id of the device or guest, \
         joined by line feeds.",
    )
    .shown(Credential::HolderToken)
    .takes::<ProofOfKey>()
    .gives::<Proven>(200)
    .fails(|| {
        let retry_after = std::time::Duration::from_secs(30);
        let challenges = [
            ChallengeError::Foreign,
            ChallengeError::Expired,
            ChallengeError::Used,
            ChallengeError::TooMany { retry_after },
        ];
        let mut all = problems(challenges.map(ProofError::Challenge));
        all.extend(problems([
            ProofError::NoKey,
            ProofError::WrongAudience,
            ProofError::BadSignature,
            AuthError::WrongNode.into(),
            AuthError::NodeUnknown.into(),
            AuthError::WrongLogin.into(),
            AuthError::LoginUnknown.into(),
        ]));
        all.extend(problems(audience("").err()));
        all.extend(problems([
            super::not_remote(),
            Failure::OtherPrincipal,
            Failure::TooManyConnections,
            Failure::Ended,
            Failure::StoreFailed,
        ]));
        all
    });
