//! `POST /v1/reload`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::{Reload, Reloaded};
use server::{App, Operation, Peer, Permitted, extract::OptionalJson};

use crate::{
    actor,
    reload::{self, NotReloaded, RELOAD, Wanted},
    tasks,
};

/// Takes up the configuration and the certificate as they are on the disk by now.
pub(crate) async fn reload(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(Reload {}): OptionalJson<Reload>,
) -> Result<Json<Reloaded>, NotReloaded> {
    let row = actor::row(permit.principal(), &peer, RELOAD, "daemon");
    let reloading = async move { reload::reload(&app, Wanted::Yes, row).await };
    tasks::to_its_end(reloading).await.map(Json)
}

pub(crate) const OPERATION: Operation = Operation::new(
    "reload",
    "Takes up the configuration and the certificate as they are on the disk by now.",
)
.may_take::<Reload>()
.gives::<Reloaded>(200)
.fails(|| vec![NotReloaded::Vanished("config.toml".into()).problem()]);
