//! `POST /v1/restart`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::{Restart, Restarting};
use server::{App, Operation, Peer, Permitted, extract::OptionalJson};

use crate::{actor, restart::NotRestarted};

/// Ends the daemon and starts it again in the same process, with what is at its executable's path by now. Sessions go on.
pub(crate) async fn restart(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(Restart {}): OptionalJson<Restart>,
) -> Result<Json<Restarting>, NotRestarted> {
    app.run.restart.want(&app.run).await?;
    let row = actor::row(permit.principal(), &peer, "restart", "daemon");
    app.access.append_audit_of_end(row).await;
    tracing::info!("restarting: the owner asked for it");
    app.stop.request(server::Shutdown::Soft);
    Ok(Json(Restarting {
        pid: std::process::id(),
        life: app.access.config().life.clone(),
    }))
}

pub(crate) const RESTART: Operation = Operation::new(
    "restart",
    "Ends the daemon and starts it again in the same process; its sessions go on.",
)
.explained("It answers before it drains, and serves again once `life` of `GET /v1/whoami` is another.")
.may_take::<Restart>()
.gives::<Restarting>(200)
.fails(NotRestarted::problems);
