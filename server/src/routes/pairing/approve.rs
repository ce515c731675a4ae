//! `POST /v1/pairing/requests/{id}/approve`: step 4, the owner's yes. There is no token in the reply.

use std::sync::Arc;

use axum::Json;
use pairing::{ApproveError, ApproveTerms, RequestId, RequestPhase, UnixMillis, marker::DeviceManage};
use protocol::pairing::{Approve, RequestView};

use super::{audited, list_requests, paired_role};
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::{OptionalJson, Path},
    operation::{Operation, REQUEST, problems},
    peer::Peer,
    random,
    router::{App, Permitted},
    routes::{label, lifetime},
};

pub(in crate::routes) async fn approve(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    Path(id): Path<RequestId>,
    OptionalJson(body): OptionalJson<Approve>,
) -> Result<Json<RequestView>, Failure> {
    let terms = terms(&body)?;
    let row = |id| {
        AuditRow::new(
            clock::now(),
            name_of(permit.principal()),
            &peer,
            action::PAIRING_APPROVED,
            id,
        )
    };
    // Of two at once the second finds what the first one gave, and has no row that says something else.
    let turn = access.commits.lock().await;
    let now = clock::latest();
    let number = match would_give(&access, id, &terms, now) {
        Some(detail) => Some(audited(&access, row(id).detail(detail)).await?),
        None => None,
    };
    let approved = access.authority().approve(id, terms, now, &mut random::rng());
    if let Err(refused) = &approved {
        // Says that nothing came of a row before this one, or that the owner tried; it gives nothing, so it may fail.
        let _ = audited(&access, row(id).outcome(refused.code())).await;
    }
    approved?;
    drop(turn);
    access.pairing_changed.notify_waiters();
    access.devices_changed.notify_one();
    if let Some(number) = number {
        access.store.until_epoch(number).await;
    }
    let view = access.authority().request_by_id(id, now);
    view.map(|view| Json(list_requests::view(view)))
        .ok_or(Failure::NotFound("there is no such pairing request"))
}

fn terms(body: &Approve) -> Result<ApproveTerms, Failure> {
    Ok(ApproveTerms {
        label: body.label.as_deref().map(label).transpose()?,
        role: paired_role(body.role)?,
        can_revoke: body.can_revoke,
        any_path: body.any_path,
        expires_in: lifetime(body.expires_in)?,
    })
}

/// What a yes now would give, in words; `None` where it would change nothing.
fn would_give(access: &Access, id: RequestId, terms: &ApproveTerms, now: UnixMillis) -> Option<String> {
    let authority = access.authority();
    let request = authority.request_by_id(id, now)?;
    if request.phase != RequestPhase::Pending || request.code.is_none() {
        return None;
    }
    let offered = request
        .offer
        .and_then(|id| authority.offers(now).into_iter().find(|offer| offer.id == id));
    let offers =
        |grant: fn(&pairing::OfferTerms) -> bool| offered.as_ref().is_some_and(|offer| grant(&offer.terms));
    let role = terms.role.unwrap_or(request.role);
    let can_revoke = terms
        .can_revoke
        .unwrap_or_else(|| offers(|terms| terms.can_revoke));
    let any_path = terms.any_path.unwrap_or_else(|| offers(|terms| terms.any_path));
    Some(format!(
        "role {role}, can_revoke {can_revoke}, any_path {any_path}"
    ))
}

pub(in crate::routes) const APPROVE: Operation = Operation::new(
    "approve_request",
    "Step 4: the owner's yes, on the daemon's own machine.",
)
.about(REQUEST)
.may_take::<Approve>()
.gives::<RequestView>(200)
.fails(|| {
    let mut all = problems([
        ApproveError::UnknownRequest,
        ApproveError::NotRevealed,
        ApproveError::Expired,
        ApproveError::DeviceAway,
    ]);
    all.extend(problems(super::CAUSES.map(ApproveError::Rejected)));
    all.extend(problems(label("").err()));
    all.extend(problems([Failure::StoreFailed]));
    all
});
