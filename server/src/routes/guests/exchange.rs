//! `POST /v1/guests/exchange`: a browser becomes a guest.

use std::sync::Arc;

use axum::Json;
use pairing::{
    Audience, ChallengeError, EndedGuest, GuestProof, GuestToken, InviteSecret, JoinError, NotOpened,
    Principal, ProofCheck, ProofError, PublicKey, ShownProof, UnixMillis,
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
    extract, guests,
    operation::{Operation, problems},
    peer::{Peer, RemotePeer},
    random,
    router::{App, On},
    routes::auth::audience,
    store::StoreError,
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
    let (token, expires_at, stored) = match join(&access, connection.peer(), &body, &shown, now) {
        Ok(joined) => joined,
        Err(Refused::Join(refused)) => return Err(refuse(&access, peer, &body, refused, now).await),
        Err(Refused::Burned(burned)) => {
            guests::burn(&access, *burned, peer).await;
            return Err(JoinError::Unknown.into());
        }
        Err(Refused::Challenge(refused)) => return Err(ProofError::Challenge(refused).into()),
    };
    // The token was told to nobody yet: what is not stored it never is, and the same key can come again.
    stored.await.map_err(|error| {
        tracing::error!(guest = %body.id, %error, "a guest could not be stored");
        Failure::StoreFailed
    })?;
    tracing::info!(guest = %body.id, "a guest came");
    Ok(Json(GuestJoined {
        token: WireSecret::new(token.reveal().as_str()),
        expires_in: expires_at.since(now).as_secs(),
        pin: access.pin().to_string(),
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
    Burned(Box<EndedGuest>),
    Challenge(ChallengeError),
}

impl From<JoinError> for Refused {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}

impl From<NotOpened> for Refused {
    fn from(refused: NotOpened) -> Self {
        match refused.burned {
            Some(burned) => Self::Burned(burned),
            None => Self::Join(refused.error),
        }
    }
}

impl From<ChallengeError> for Refused {
    fn from(error: ChallengeError) -> Self {
        Self::Challenge(error)
    }
}

impl Shown {
    fn read(body: &GuestExchange) -> Result<Self, Failure> {
        Ok(Self {
            secret: InviteSecret::parse(body.secret.expose()).map_err(|_| JoinError::Unknown)?,
            public_key: PublicKey::from_slice(&body.public_key.0)
                .map_err(|_| Failure::malformed("a public key is an uncompressed point of P-256"))?,
            audience: audience(&body.audience)?,
        })
    }
}

/// A guest's token, when that ends, and what completes once it is stored.
///
/// The signature is checked under no lock, and after the secret: strangers cost no signature.
fn join(
    access: &Access,
    peer: &Peer,
    body: &GuestExchange,
    shown: &Shown,
    now: UnixMillis,
) -> Result<
    (
        GuestToken,
        UnixMillis,
        impl Future<Output = Result<(), StoreError>> + use<>,
    ),
    Refused,
> {
    let Peer::Remote(remote) = peer else {
        return Err(JoinError::Unknown.into());
    };
    let holder = access
        .guests()
        .open(body.id, &shown.secret, &access.token_key, now)?;
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
    let row = AuditRow::new(
        clock::now(),
        name_of(&Principal::Nobody),
        peer,
        action::GUEST_JOINED,
        body.id,
    );
    let row = match &remote.tailnet {
        Some(seen) => row.detail(format!("{} from {} ({})", seen.user, seen.node, seen.node_id)),
        None => row,
    };
    // The same key may come again without end, and get a token each time.
    let row = access.admitted(&Principal::Guest(body.id), peer, row);
    let mut guests = access.guests();
    let from = (from.as_str(), remote.tailnet.as_deref());
    let joined = guests.join(proof, from, &access.token_key, now, &mut random::rng())?;
    let expires_at = joined.record.expires_at;
    // Queued under the lock: of two answers to the same key the later one is stored last, as it is here.
    let stored = access.store.guest_joined(joined.record, row);
    Ok((joined.token, expires_at, stored))
}

/// Writes down what no honest guest brings about. The answer does not wait for a store that fails.
async fn refuse(
    access: &Access,
    peer: &RemotePeer,
    body: &GuestExchange,
    refused: JoinError,
    now: UnixMillis,
) -> Failure {
    let (action, code) = (action::GUEST_REFUSED, refused.code());
    match refused {
        // Whoever does not know the secret could fill the trail.
        JoinError::Unknown => {}
        JoinError::Used | JoinError::WrongLogin | JoinError::LoginUnknown => {
            tracing::warn!(guest = %body.id, from = %peer.address, code, "somebody else showed a guest's link");
            let row = access.refusal_row(body.id.into(), peer, action, code, now);
            let record = access.guests().get(body.id).cloned();
            if let (Some(record), Some(row)) = (record, row)
                && let Err(error) = access.store.guest_refused(record, row).await
            {
                tracing::warn!(guest = %body.id, %error, "could not record who else showed a link");
            }
        }
        _ => access.note_refusal(body.id, peer, action, code, now).await,
    }
    refused.into()
}

pub(in crate::routes) const EXCHANGE: Operation =
    Operation::new("join_as_guest", "A browser shows a link and a key that it made, and becomes a guest.")
    .explained("On a TLS listener, with a challenge of it. Showing the same link with the same key again gives another token.")
    .takes::<GuestExchange>()
    .gives::<GuestJoined>(200)
    .fails(|| {
        let mut all = problems([
            JoinError::Unknown,
            JoinError::Used,
            JoinError::WrongLogin,
            JoinError::LoginUnknown,
            JoinError::Ended,
            JoinError::Expired,
            JoinError::Burned,
            JoinError::WrongAudience,
            JoinError::BadSignature,
        ]);
        all.extend(problems([
            ChallengeError::Foreign,
            ChallengeError::Expired,
            ChallengeError::Used,
        ].map(ProofError::Challenge)));
        all.extend(problems(audience("").err()));
        all.extend(problems([Failure::StoreFailed]));
        all
    });
