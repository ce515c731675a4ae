//! `POST /v1/shutdown`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::{Shutdown, ShuttingDown};
use server::{App, Operation, Peer, Permitted, extract::OptionalJson};

use crate::actor;

/// Ends the daemon. Its sessions go on in the keeper, unless they are asked to end too.
pub(crate) async fn shutdown(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(wish): OptionalJson<Shutdown>,
) -> Json<ShuttingDown> {
    let row = actor::row(permit.principal(), &peer, "shutdown", "daemon");
    app.access.append_audit_of_end(row).await;
    let stopped = if wish.sessions {
        let running = app.sessions.running();
        app.sessions.stop_all().await;
        running
    } else {
        Vec::new()
    };
    tracing::info!("shutting down: the owner asked for it");
    app.stop.request(server::Shutdown::Soft);
    Json(ShuttingDown {
        pid: std::process::id(),
        stopped,
    })
}

pub(crate) const SHUTDOWN: Operation = Operation::new(
    "shut_down",
    "Ends the daemon; its sessions go on unless they are to be stopped too.",
)
.explained("It answers before it drains.")
.may_take::<Shutdown>()
.gives::<ShuttingDown>(200);
