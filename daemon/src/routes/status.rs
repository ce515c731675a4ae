//! `GET /v1/status`

use axum::Json;
use pairing::marker::DaemonManage;
use protocol::access::Status;
use server::{App, Operation, Permitted};

use crate::certificates;

pub(crate) async fn status(
    App(app): App<crate::app::App>,
    Permitted(_): Permitted<DaemonManage>,
) -> Json<Status> {
    let locked_down = app.access.looks_locked_down().await;
    let (running, sessions) = app.sessions.count();
    let config = app.access.config();
    let tailnet = app.run.doors.tailnet();
    Json(Status {
        ready: true,
        instance: app.access.instance().to_owned(),
        life: config.life.clone(),
        version: config.version.clone(),
        pid: std::process::id(),
        started_at: app.run.started_at,
        activated: app.run.is_activated,
        socket: app.run.paths.socket().display().to_string(),
        tls: app.tls(),
        link_authority: app.run.doors.link_authority().filter(|_| !locked_down),
        locked_down,
        degraded: app.degraded(),
        warnings: app.run.doors.certificates().warnings(certificates::now()),
        tailnet: tailnet.map(|listeners| listeners.status(locked_down)),
        directory: app.run.paths.state.display().to_string(),
        web_app: web::is_present(),
        devices: app.access.device_count() as u64,
        connections: app.access.connections().count() as u64,
        keeper: app.sessions.keeper(),
        sessions_running: running as u64,
        sessions: sessions as u64,
    })
}

pub(crate) const STATUS: Operation = Operation::new(
    "status",
    "Shows how the daemon is: listeners, counts, and what is not as it should be.",
)
.gives::<Status>(200);
