//! `POST /v1/pairing/requests/{id}/reject`: step 4, the owner's no.

use std::sync::Arc;

use http::StatusCode;
use pairing::{RequestId, marker::DeviceManage};

use super::audited;
use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock,
    error::Failure,
    extract::Path,
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
    let is_live = access
        .authority()
        .request_by_id(id, now)
        .is_some_and(|request| request.phase.is_live());
    if is_live {
        let row = AuditRow::new(
            clock::now(),
            name_of(permit.principal()),
            &peer,
            action::PAIRING_REJECTED,
            id,
        );
        // A no gives nothing away: it goes on without its row, whose failure is in the log.
        let _ = audited(&access, row).await;
    }
    access.authority().reject(id, now)?;
    access.pairing_changed.notify_waiters();
    Ok(StatusCode::NO_CONTENT)
}
