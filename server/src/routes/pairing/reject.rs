//! `POST /v1/pairing/requests/{id}/reject`: step 4, the owner's no.

use std::sync::Arc;

use http::StatusCode;
use pairing::{RejectError, RequestId, marker::DeviceManage};

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::Path,
    operation::{Operation, REQUEST, problems},
    peer::Peer,
    router::{App, Permitted},
};

pub(in crate::routes) async fn reject(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<DeviceManage>,
    peer: Peer,
    Path(id): Path<RequestId>,
) -> Result<StatusCode, Failure> {
    let now = clock::latest();
    // A no gives nothing away, and waits for nothing.
    let was_live = {
        let mut authority = access.authority();
        let request = authority.request_by_id(id, now);
        authority.reject(id, now)?;
        request.is_some_and(|request| request.phase.is_live())
    };
    access.pairing_changed.notify_waiters();
    if was_live {
        let principal = name_of(permit.principal());
        let row = AuditRow::new(clock::now(), principal, &peer, action::PAIRING_REJECTED, id);
        access.append_audit_of_end(row).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

pub(in crate::routes) const REJECT: Operation = Operation::new("reject_request", "Step 4: the owner's no.")
    .about(REQUEST)
    .gives_nothing(204)
    .fails(|| problems([RejectError::UnknownRequest, RejectError::AlreadyCommitted]));
