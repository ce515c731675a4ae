//! `POST /v1/pairing/requests/{id}/reveal`: step 2, a device shows the key that it had committed to.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use pairing::{Authority, Fault, PairingCode, PublicKey, RequestId, RequestPhase, RevealError, UnixMillis};
use protocol::pairing::Reveal;

use super::{audited_of, exactly, request_secret, row_of_stranger};
use crate::{
    access::Access,
    audit::action,
    clock,
    error::Failure,
    extract::{Json, Path},
    operation::{Credential, Operation, REQUEST, problems},
    peer::Peer,
    router::App,
};

pub(in crate::routes) async fn reveal(
    App(access): App<Arc<Access>>,
    peer: Peer,
    Path(id): Path<RequestId>,
    headers: HeaderMap,
    Json(body): Json<Reveal>,
) -> Result<StatusCode, Failure> {
    let secret = request_secret(&headers)?;
    let nonce = exactly(&body.nonce, "a nonce")?;
    let public_key = PublicKey::from_slice(&body.public_key.0)
        .map_err(|refused| Failure::pairing("malformed_key", Fault::Malformed, refused.to_string()))?;
    let now = clock::latest();
    let (revealed, has_changed) = {
        let mut authority = access.authority();
        let before = stand(&authority, id, now);
        let pin = access.pin().to_string();
        let revealed = authority.reveal(id, &secret, (&public_key, &nonce), &pin, now);
        (revealed, before != stand(&authority, id, now))
    };
    if let Err(refused) = revealed {
        if has_changed {
            access.pairing_changed.notify_waiters();
        }
        return Err(refused.into());
    }
    // The same once more is no news: it has its row, and whoever waits was woken.
    if !has_changed {
        return Ok(StatusCode::NO_CONTENT);
    }
    let row = row_of_stranger(&peer, action::PAIRING_REVEALED, id);
    let audited = audited_of(&access, &peer, row).await;
    if audited.is_err() {
        // The owner must not be asked about what the trail does not know.
        access.authority().abandon(id, now);
    }
    access.pairing_changed.notify_waiters();
    audited.map(|()| StatusCode::NO_CONTENT)
}

/// What a reveal may change.
fn stand(
    authority: &Authority,
    id: RequestId,
    now: UnixMillis,
) -> Option<(RequestPhase, Option<PairingCode>)> {
    let request = authority.request_by_id(id, now)?;
    Some((request.phase, request.code))
}

pub(in crate::routes) const REVEAL: Operation = Operation::new(
    "reveal_key",
    "Step 2: a device shows the key that it had committed to.",
)
.about(REQUEST)
.shown(Credential::RequestSecret)
.takes::<Reveal>()
.gives_nothing(204)
.fails(|| {
    let mut all = problems([
        RevealError::UnknownRequest,
        RevealError::Expired,
        RevealError::CommitmentMismatch,
        RevealError::AlreadyRevealed,
    ]);
    all.extend(problems(super::CAUSES.map(RevealError::Rejected)));
    all.extend(problems(super::OFFER_ERRORS));
    all.extend(problems([
        Failure::pairing("malformed_key", Fault::Malformed, "this is no point of P-256"),
        Failure::StoreFailed,
    ]));
    all
});
