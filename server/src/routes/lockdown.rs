//! `POST` and `DELETE /v1/lockdown`: close every remote way in, and open them again.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use pairing::marker::{LiftLockdown, Lockdown};
use protocol::access::LockdownLifted;

use crate::{
    access::Access,
    audit::action,
    edge::LastAnswer,
    error::Failure,
    extract::OptionalJson,
    lockdown,
    operation::{Operation, problems},
    peer::Peer,
    revocation::Revoker,
    router::{App, On, Permitted},
};

pub(crate) async fn lock(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<Lockdown>,
    On(connection): On,
    OptionalJson(protocol::access::Lockdown {}): OptionalJson<protocol::access::Lockdown>,
) -> Response {
    let by = Revoker {
        authenticated: permit.authenticated().clone(),
        connection,
        action: action::LOCKED_DOWN,
    };
    let outcome = lockdown::lock_down(&access, by).await;
    let mut response = outcome.answer.map(Json).into_response();
    if outcome.was_remote {
        response.extensions_mut().insert(LastAnswer);
    }
    response
}

pub(crate) async fn lift(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<LiftLockdown>,
    peer: Peer,
) -> Result<Json<LockdownLifted>, Failure> {
    lockdown::lift(&access, permit.principal(), &peer).await.map(Json)
}

pub(in crate::routes) const LOCK: Operation = Operation::new(
    "lock_down",
    "Closes every remote way in, until the owner lifts it.",
)
.may_take::<protocol::access::Lockdown>()
.gives::<protocol::access::LockedDown>(200)
.fails(|| problems([Failure::LockedInMemoryOnly]));

pub(in crate::routes) const LIFT: Operation =
    Operation::new("lift_lockdown", "Opens the remote listeners again.")
        .gives::<LockdownLifted>(200)
        .fails(|| {
            problems([
                Failure::NotLifted("the address is taken".to_owned()),
                Failure::StoreFailed,
            ])
        });
