//! `POST /v1/shutdown`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::{Shutdown, ShuttingDown};
use server::{App, Peer, Permitted, extract::OptionalJson};

use crate::{actor, sessions::SessionError};

/// Until sessions outlive the daemon, ending it ends them: that has to be asked for.
pub(crate) async fn shutdown(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<DaemonManage>,
    peer: Peer,
    OptionalJson(wish): OptionalJson<Shutdown>,
) -> Result<Json<ShuttingDown>, SessionError> {
    let running = app.sessions.running();
    if !running.is_empty() && !wish.sessions {
        return Err(SessionError::StillRunning(running));
    }
    let row = actor::row(permit.principal(), &peer, "shutdown", "daemon");
    if let Err(error) = app.access.store().append_audit(row).await {
        tracing::warn!(%error, "a shutdown could not be written to the audit trail");
    }
    app.sessions.stop_all().await;
    tracing::info!("shutting down: the owner asked for it");
    app.stop.request(server::Shutdown::Soft);
    Ok(Json(ShuttingDown {
        pid: std::process::id(),
        stopped: running,
    }))
}
