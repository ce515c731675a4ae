//! `POST /v1/guests/exchange`: a browser becomes a guest.

use std::sync::Arc;

use axum::Json;
use pairing::{
    Audience, ChallengeError, Fault, GuestProof, InviteSecret, JoinError, Joined, Principal, ProofCheck,
    ProofError, PublicKey, ShownProof, UnixMillis,
};
use protocol::{
    WireSecret,
    guests::{GuestExchange, GuestJoined},
};

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract,
    peer::{Peer, RemotePeer},
    random,
    router::{App, On},
    verify::P256,
};

pub(crate) async fn exchange(
    App(access): App<Arc<Access>>,
    On(connection): On,
    extract::Json(body): extract::Json<GuestExchange>,
) -> Result<Json<GuestJoined>, Failure> {
    let Peer::Remote(peer) = connection.peer() else {
        return Err(Failure::malformed("guests come by TLS listeners"));
    };
    let shown = Shown::read(&body)?;
    let now = clock::latest();
    let joined = match join(&access, connection.peer(), &body, &shown, now) {
        Ok(joined) => joined,
        Err(Refused::Join(refused)) => return Err(refuse(&access, peer, &body, refused, now).await),
        Err(Refused::Challenge(refused)) => return Err(ProofError::Challenge(refused).into()),
    };
    let row = AuditRow::new(
        clock::now(),
        name_of(&Principal::Nobody),
        connection.peer(),
        action::GUEST_JOINED,
        body.id,
    );
    // The token was told to nobody yet: without the row it never is, and the same key can come again.
    access.store.append_audit(row).await.map_err(|error| {
        tracing::error!(%error, "an audit row could not be written");
        Failure::StoreFailed
    })?;
    tracing::info!(guest = %body.id, "a guest came");
    Ok(Json(GuestJoined {
        token: WireSecret::new(joined.token.reveal().as_str()),
        expires_in: joined.expires_at.since(now).as_secs(),
        pin: access.pin.to_string(),
    }))
}

/// What the body says, read.
struct Shown {
    secret: InviteSecret,
    public_key: PublicKey,
    audience: Audience,
}

enum Refused {
    Join(JoinError),
    Challenge(ChallengeError),
}

impl From<JoinError> for Refused {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}

impl From<ChallengeError> for Refused {
    fn from(error: ChallengeError) -> Self {
        Self::Challenge(error)
    }
}

impl Shown {
    fn read(body: &GuestExchange) -> Result<Self, Failure> {
        let malformed_audience = |refused: pairing::MalformedAudience| {
            Failure::pairing("malformed_audience", Fault::Malformed, refused.to_string())
        };
        Ok(Self {
            secret: InviteSecret::parse(body.secret.expose()).map_err(|_| JoinError::Unknown)?,
            public_key: PublicKey::from_slice(&body.public_key.0)
                .map_err(|_| Failure::malformed("a public key is an uncompressed point of P-256"))?,
            audience: body.audience.parse().map_err(malformed_audience)?,
        })
    }
}

/// The signature is checked under no lock, and after the secret: strangers cost no signature.
fn join(
    access: &Access,
    peer: &Peer,
    body: &GuestExchange,
    shown: &Shown,
    now: UnixMillis,
) -> Result<Joined, Refused> {
    let Peer::Remote(remote) = peer else {
        return Err(JoinError::Unknown.into());
    };
    let holder = access.guests().open(body.id, &shown.secret, now)?;
    // Challenges count by the wall clock, as for every proof.
    let challenge = access
        .proofs()
        .open(&body.challenge, remote.generation, clock::latest())?;
    let accepts = |audience: &Audience| access.is_own_audience(audience, peer);
    let check = ProofCheck {
        verifier: &P256,
        accepts: &accepts,
    };
    let proof = ShownProof {
        audience: &shown.audience,
        signature: &body.signature.0,
    };
    let proof: GuestProof = holder.prove(shown.public_key, challenge, proof, check)?;
    let from = remote.address.ip().to_canonical().to_string();
    let joined = access
        .guests()
        .join(proof, &from, &access.token_key, now, &mut random::rng())?;
    Ok(joined)
}

/// Writes down what no honest guest brings about. The answer does not wait for a store that fails.
async fn refuse(
    access: &Access,
    peer: &RemotePeer,
    body: &GuestExchange,
    refused: JoinError,
    now: UnixMillis,
) -> Failure {
    // Whoever does not know the secret could fill the trail.
    if refused != JoinError::Unknown {
        access
            .note_refusal(body.id, peer, action::GUEST_REFUSED, refused.code(), now)
            .await;
    }
    if refused == JoinError::Used {
        tracing::warn!(guest = %body.id, from = %peer.address, "somebody else showed a guest's link, which was used already");
    }
    refused.into()
}
