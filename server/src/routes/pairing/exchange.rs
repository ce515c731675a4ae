//! `POST /v1/pairing/requests/{id}/exchange`: step 5, a device proves its key and gets its token.

use std::sync::Arc;

use axum::Json;
use certs::IDENTITY_SERVER_NAME;
use http::HeaderMap;
use pairing::{Audience, Exchange, ExchangeCheck, ExchangeError, RequestId};
use protocol::{WireSecret, pairing as wire};

use super::{audited_of, request_secret, row_of_stranger};
use crate::{
    access::Access,
    audit::action,
    clock,
    error::Failure,
    extract::{self, Path},
    operation::{Credential, Operation, REQUEST, problems},
    peer::Peer,
    random,
    router::App,
    routes::auth::audience,
    verify::P256,
};

pub(in crate::routes) async fn exchange(
    App(access): App<Arc<Access>>,
    peer: Peer,
    Path(id): Path<RequestId>,
    headers: HeaderMap,
    extract::Json(body): extract::Json<wire::Exchange>,
) -> Result<Json<wire::Exchanged>, Failure> {
    let secret = request_secret(&headers)?;
    let audience = audience(&body.audience)?;
    let now = clock::latest();
    let shown = Exchange {
        audience: &audience,
        signature: &body.signature.0,
    };
    let accepts = |audience: &Audience| access.is_own_audience(audience, &peer);
    let check = ExchangeCheck {
        verifier: &P256,
        accepts: &accepts,
        token_key: &access.token_key,
    };
    let exchanged = access
        .unlocked_authority()?
        .exchange(id, &secret, shown, check, now, &mut random::rng());
    let exchanged = match exchanged {
        Ok(exchanged) => exchanged,
        Err(refused) => return Err(refuse(&access, &peer, id, refused).await),
    };
    // The token was told to nobody yet: without the row it never is, and the next exchange replaces it.
    let row = row_of_stranger(&peer, action::PAIRING_EXCHANGED, id);
    let row = row.detail(format!("device {}", exchanged.device_id));
    audited_of(&access, &peer, row).await?;
    access.pairing_changed.notify_waiters();
    Ok(Json(wire::Exchanged {
        device_id: exchanged.device_id,
        token: WireSecret::new(exchanged.token.reveal().as_str()),
        role: exchanged.role,
        pin: access.pin().to_string(),
        server_name: IDENTITY_SERVER_NAME.to_owned(),
    }))
}

/// A failed proof is written down: it took the request's secret and the owner's yes to come so far. The answer does not wait for
/// a store that fails.
async fn refuse(access: &Access, peer: &Peer, id: RequestId, refused: ExchangeError) -> Failure {
    if matches!(
        refused,
        ExchangeError::WrongAudience | ExchangeError::BadSignature
    ) {
        let row = row_of_stranger(peer, action::PAIRING_EXCHANGED, id);
        let _ = audited_of(access, peer, row.outcome(refused.code())).await;
    }
    refused.into()
}

pub(in crate::routes) const EXCHANGE: Operation =
    Operation::new("exchange_request", "Step 5: an approved device proves its key, and gets its token.")
    .explained(
        "Signed are the lines `transom-pair-v1`, request id, exchange nonce and audience, joined by line feeds. Asking again \
         before the commit gives another token, and ends the former.",
    )
    .about(REQUEST)
    .shown(Credential::RequestSecret)
    .takes::<wire::Exchange>()
    .gives::<wire::Exchanged>(200)
    .fails(|| {
        let mut all = problems([
            ExchangeError::UnknownRequest,
            ExchangeError::NotApproved,
            ExchangeError::Expired,
            ExchangeError::WrongAudience,
            ExchangeError::BadSignature,
            ExchangeError::CommitUnderWay,
            ExchangeError::AlreadyCommitted,
        ]);
        all.extend(problems(super::CAUSES.map(ExchangeError::Rejected)));
        all.extend(problems(audience("").err()));
        all.extend(problems([
            Failure::LockedDown,
            Failure::StoreFailed,
        ]));
        all
    });
