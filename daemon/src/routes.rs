//! Every route of the product, each with its scope.

mod certificates;
mod configuration;
mod events;
mod reload;
mod restart;
mod sessions;
mod shutdown;
mod status;

use http::Method;
use pairing::{
    Manage, View, Write,
    marker::{DaemonManage, Note},
};
use server::Routes;

use crate::{
    app::App,
    attach::{AttachQuery, attach},
};

/// The list; the access layer has its own.
pub fn routes() -> Routes<App> {
    Routes::new()
        .route::<DaemonManage, _, _>(Method::GET, "/v1/status", None, status::status)
        .route::<DaemonManage, _, _>(
            Method::GET,
            "/v1/configuration",
            None,
            configuration::configuration,
        )
        .route::<DaemonManage, _, _>(Method::POST, "/v1/shutdown", None, shutdown::shutdown)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/reload", None, reload::reload)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/restart", None, restart::restart)
        .route::<DaemonManage, _, _>(Method::GET, "/v1/certificates", None, certificates::show)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/certificates/trust", None, certificates::trust)
        .route::<DaemonManage, _, _>(
            Method::DELETE,
            "/v1/certificates/trust",
            None,
            certificates::distrust,
        )
        .route::<DaemonManage, _, _>(Method::POST, "/v1/certificates/next", None, certificates::next)
        .route::<DaemonManage, _, _>(
            Method::POST,
            "/v1/certificates/rotate",
            None,
            certificates::rotate,
        )
        .public(Method::GET, "/v1/certificates/root", certificates::root)
        .route::<View, _, _>(Method::GET, "/v1/sessions", None, sessions::list)
        .route::<Manage, _, _>(Method::POST, "/v1/sessions", None, sessions::create)
        .route::<View, _, _>(Method::GET, "/v1/sessions/{id}", Some("id"), sessions::show)
        .route::<Manage, _, _>(Method::POST, "/v1/sessions/{id}/stop", Some("id"), sessions::stop)
        .route::<Manage, _, _>(Method::PATCH, "/v1/sessions/{id}", Some("id"), sessions::change)
        .route::<Manage, _, _>(Method::DELETE, "/v1/sessions/{id}", Some("id"), sessions::remove)
        .route::<Manage, _, _>(
            Method::POST,
            "/v1/sessions/{id}/restore",
            Some("id"),
            sessions::restore,
        )
        .route::<Write, _, _>(
            Method::POST,
            "/v1/sessions/{id}/input",
            Some("id"),
            sessions::input,
        )
        .route::<Write, _, _>(Method::POST, "/v1/sessions/{id}/keys", Some("id"), sessions::keys)
        .route::<Write, _, _>(Method::POST, "/v1/sessions/{id}/size", Some("id"), sessions::size)
        .route::<Note, _, _>(Method::POST, "/v1/sessions/{id}/note", Some("id"), sessions::note)
        .route::<View, _, _>(
            Method::GET,
            "/v1/sessions/{id}/output",
            Some("id"),
            sessions::output,
        )
        .route::<View, _, _>(
            Method::GET,
            "/v1/sessions/{id}/screen",
            Some("id"),
            sessions::screen,
        )
        .route::<View, _, _>(
            Method::GET,
            "/v1/sessions/{id}/recording",
            Some("id"),
            sessions::recording,
        )
        .route::<View, _, _>(Method::GET, "/v1/sessions/{id}/wait", Some("id"), sessions::wait)
        .websocket::<View, AttachQuery, _, _>("/v1/sessions/{id}/attach", Some("id"), attach)
        .route::<View, _, _>(Method::GET, "/v1/events", None, events::events)
}
