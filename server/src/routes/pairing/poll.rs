//! `GET /v1/pairing/requests/{id}?wait=`: step 3, a device asks for news, or waits for them.

use std::{future::Future, sync::Arc, time::Duration};

use axum::Json;
use http::HeaderMap;
use pairing::{PollAnswer, PollError, PollKind, PollStatus, RequestId, RequestSecret};
use protocol::pairing as wire;
use tokio::time::Instant;

use super::request_secret;
use crate::{
    access::Access,
    clock,
    error::Failure,
    extract::{Path, Query},
    operation::{Credential, Operation, REQUEST, problems},
    router::{App, On},
};

pub(in crate::routes) async fn poll(
    App(access): App<Arc<Access>>,
    On(connection): On,
    Path(id): Path<RequestId>,
    Query(wire::PollQuery { wait }): Query<wire::PollQuery>,
    headers: HeaderMap,
) -> Result<Json<wire::Poll>, Failure> {
    let secret = request_secret(&headers)?;
    let wait = Duration::from_secs(wait).min(LONGEST);
    let over = async {
        tokio::select! {
            () = connection.revoked() => {}
            () = connection.ending() => {}
        }
    };
    Ok(Json(answer(until_news(&access, id, &secret, wait, over).await?)))
}

/// Holds the answer back until the request has changed, its time or `wait` is over, `over` completes, or the same request is asked
/// about anew.
pub(super) async fn until_news(
    access: &Access,
    id: RequestId,
    secret: &RequestSecret,
    wait: Duration,
    over: impl Future<Output = ()>,
) -> Result<PollAnswer, Failure> {
    let kind = if wait.is_zero() {
        PollKind::Quick
    } else {
        PollKind::Wait
    };
    let deadline = Instant::now() + wait;
    tokio::pin!(over);
    let mut held = None;
    loop {
        // Before the look, so that a change in between is not missed.
        let changed = access.pairing_changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let now = clock::latest();
        let (answer, left) = {
            let mut authority = access.authority();
            let answer = authority.poll(id, secret, kind, now)?;
            (
                answer,
                authority
                    .request_by_id(id, now)
                    .map(|request| request.expires_at.since(now)),
            )
        };
        if answer.status != PollStatus::AuthorizationPending || Instant::now() >= deadline {
            return Ok(answer);
        }
        let held = held.get_or_insert_with(|| access.held_polls.hold(id));
        // A moment later than the end, so that the next look sees it as over.
        let end = Instant::now() + left.unwrap_or_default() + Duration::from_millis(1);
        tokio::select! {
            biased;
            () = &mut over => return Ok(answer),
            () = held.displaced() => return Ok(answer),
            () = changed => {}
            () = tokio::time::sleep_until(deadline.min(end)) => {}
        }
    }
}

fn answer(poll: PollAnswer) -> wire::Poll {
    wire::Poll {
        status: match poll.status {
            PollStatus::AuthorizationPending => wire::PollStatus::AuthorizationPending,
            PollStatus::SlowDown => wire::PollStatus::SlowDown,
            PollStatus::AccessDenied => wire::PollStatus::AccessDenied,
            PollStatus::ExpiredToken => wire::PollStatus::ExpiredToken,
            PollStatus::Approved => wire::PollStatus::Approved,
        },
        interval: poll.interval.as_secs(),
        exchange_nonce: poll.exchange_nonce.map(|nonce| nonce.as_str().to_owned()),
        cause: poll.cause.map(|cause| cause.code().to_owned()),
    }
}

/// Below the 30 s after which common proxies and mobile networks drop a silent connection.
pub(super) const LONGEST: Duration = Duration::from_secs(25);

pub(in crate::routes) const POLL: Operation = Operation::new(
    "poll_request",
    "Step 3: a device asks how its request stands, or waits for news of it.",
)
.about(REQUEST)
.shown(Credential::RequestSecret)
.asks::<wire::PollQuery>()
.gives::<wire::Poll>(200)
.fails(|| problems([PollError::UnknownRequest]));
