//! `POST /v1/pairing/requests/{id}/reveal`: step 2, a device shows the key that it had committed to.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use pairing::{Fault, Principal, PublicKey, RequestId};
use protocol::pairing::Reveal;

use super::{audited_of, exactly, request_secret};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::{Json, Path},
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
    let is_first = {
        let mut authority = access.authority();
        let before = authority
            .request_by_id(id, now)
            .is_some_and(|request| request.code.is_some());
        authority.reveal(id, &secret, (&public_key, &nonce), &access.pin().to_string(), now)?;
        !before
    };
    if is_first {
        let row = AuditRow::new(
            clock::now(),
            name_of(&Principal::Nobody),
            &peer,
            action::PAIRING_REVEALED,
            id,
        );
        if let Err(failure) = audited_of(&access, &peer, row).await {
            // The owner must not be asked about what the trail does not know.
            let _ = access.authority().reject(id, now);
            return Err(failure);
        }
    }
    access.pairing_changed.notify_waiters();
    Ok(StatusCode::NO_CONTENT)
}
