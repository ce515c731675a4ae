//! `GET /v1/pairing/requests?wait=`: the owner's view, those requests included that ended within the last minutes.

use std::sync::Arc;

use axum::response::Response;
use http::HeaderMap;
use pairing::{RequestPhase, marker::DeviceManage};
use protocol::pairing::{PollQuery, RequestStatus, RequestView};

use super::held_back::{Asked, HELD_BACK, Listed};
use crate::{
    access::Access,
    clock,
    error::Failure,
    extract::Query,
    operation::Operation,
    router::{App, On, Permitted},
};

pub(in crate::routes) async fn list(
    App(access): App<Arc<Access>>,
    Permitted(_): Permitted<DeviceManage>,
    On(connection): On,
    Query(PollQuery { wait }): Query<PollQuery>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    Asked::new(wait, &headers)
        .answer(&access, &connection, listed)
        .await
}

pub(super) fn listed(access: &Access) -> Listed<RequestView> {
    let requests = access.authority().requests(clock::latest());
    Listed {
        ends: requests.iter().map(|request| request.expires_at).collect(),
        entries: requests.into_iter().map(view).collect(),
    }
}

pub(super) fn view(request: pairing::RequestView) -> RequestView {
    RequestView {
        id: request.id,
        state: status(request.phase),
        code: request.code.map(|code| code.to_string()),
        label: request.label.as_str().to_owned(),
        peer: request.address,
        tailnet: request
            .tailnet
            .map(|identity| format!("{} on {}", identity.user, identity.node)),
        role: request.role,
        offer_id: request.offer,
        device_id: request.device_id,
        // The end that the device was told. Whether it hangs up before that, nobody knows yet.
        expires_at: clock::shown(request.deadline),
    }
}

fn status(phase: RequestPhase) -> RequestStatus {
    match phase {
        RequestPhase::Pending => RequestStatus::Pending,
        RequestPhase::Approved => RequestStatus::Approved,
        RequestPhase::Exchanged => RequestStatus::Exchanged,
        RequestPhase::Committed => RequestStatus::Committed,
        RequestPhase::Rejected(_) => RequestStatus::Rejected,
        RequestPhase::Expired => RequestStatus::Expired,
        RequestPhase::Away => RequestStatus::HungUp,
    }
}

pub(in crate::routes) const LIST: Operation = Operation::new(
    "list_requests",
    "Lists the pairing requests, those included that ended within the last minutes.",
)
.explained(HELD_BACK)
.asks::<PollQuery>()
.gives::<Vec<RequestView>>(200)
.gives_nothing(304);
