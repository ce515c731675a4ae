//! `POST /v1/reload`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::{Reload, Reloaded};
use server::{App, Peer, Permitted, extract::OptionalJson};

use crate::{
    actor,
    reload::{self, NotReloaded, RELOAD, Wanted},
};

/// Takes up the configuration and the certificate as they are on the disk by now.
pub(crate) async fn reload(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(Reload {}): OptionalJson<Reload>,
) -> Result<Json<Reloaded>, NotReloaded> {
    let row = actor::row(permit.principal(), &peer, RELOAD, "daemon");
    // In a task of its own: an owner that hangs up leaves none half done.
    let reloading = tokio::spawn(async move { reload::reload(&app, Wanted::Yes, row).await });
    match reloading.await {
        Ok(reloaded) => reloaded.map(Json),
        Err(crash) => std::panic::resume_unwind(crash.into_panic()),
    }
}
