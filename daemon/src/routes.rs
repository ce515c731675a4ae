//! Every route of the product, each with its scope.

mod certificates;
mod configuration;
mod events;
mod openapi;
mod reload;
mod restart;
mod sessions;
mod shutdown;
mod status;

use http::Method;
use pairing::{
    Manage, View, Write,
    marker::{Any, DaemonManage, Note},
};
use server::{PathId, Routes};

use crate::{
    app::App,
    attach::{ATTACH, AttachQuery, attach},
};

/// The list; the access layer has its own.
pub fn routes() -> Routes<App> {
    of_sessions(of_the_daemon())
}

fn of_the_daemon() -> Routes<App> {
    Routes::new()
        .route::<Any, _, _>(Method::GET, "/v1/openapi.json", None, openapi::show)
        .described(&openapi::SHOW)
        .route::<DaemonManage, _, _>(Method::GET, "/v1/status", None, status::status)
        .described(&status::STATUS)
        .route::<DaemonManage, _, _>(
            Method::GET,
            "/v1/configuration",
            None,
            configuration::configuration,
        )
        .described(&configuration::CONFIGURATION)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/shutdown", None, shutdown::shutdown)
        .described(&shutdown::SHUTDOWN)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/reload", None, reload::reload)
        .described(&reload::OPERATION)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/restart", None, restart::restart)
        .described(&restart::RESTART)
        .route::<DaemonManage, _, _>(Method::GET, "/v1/certificates", None, certificates::show)
        .described(&certificates::SHOW)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/certificates/trust", None, certificates::trust)
        .described(&certificates::TRUST)
        .route::<DaemonManage, _, _>(
            Method::DELETE,
            "/v1/certificates/trust",
            None,
            certificates::distrust,
        )
        .described(&certificates::DISTRUST)
        .route::<DaemonManage, _, _>(Method::POST, "/v1/certificates/next", None, certificates::next)
        .described(&certificates::NEXT)
        .route::<DaemonManage, _, _>(
            Method::POST,
            "/v1/certificates/rotate",
            None,
            certificates::rotate,
        )
        .described(&certificates::ROTATE)
        .public(Method::GET, "/v1/certificates/root", certificates::root)
        .described(&certificates::ROOT)
        .route::<View, _, _>(Method::GET, "/v1/events", None, events::events)
        .described(&events::EVENTS)
}

fn of_sessions(routes: Routes<App>) -> Routes<App> {
    routes
        .route::<View, _, _>(Method::GET, "/v1/sessions", None, sessions::list)
        .described(&sessions::LIST)
        .route::<Manage, _, _>(Method::POST, "/v1/sessions", None, sessions::create)
        .described(&sessions::CREATE)
        .route::<View, _, _>(Method::GET, "/v1/sessions/{id}", Some("id"), sessions::show)
        .described(&sessions::SHOW)
        .route::<Manage, _, _>(Method::POST, "/v1/sessions/{id}/stop", Some("id"), sessions::stop)
        .described(&sessions::STOP)
        .route::<Manage, _, _>(Method::PATCH, "/v1/sessions/{id}", Some("id"), sessions::change)
        .described(&sessions::CHANGE)
        .route::<Manage, _, _>(Method::DELETE, "/v1/sessions/{id}", Some("id"), sessions::remove)
        .described(&sessions::REMOVE)
        .route::<Manage, _, _>(
            Method::POST,
            "/v1/sessions/{id}/restore",
            Some("id"),
            sessions::restore,
        )
        .described(&sessions::RESTORE)
        .route::<Write, _, _>(
            Method::POST,
            "/v1/sessions/{id}/input",
            Some("id"),
            sessions::input,
        )
        .described(&sessions::INPUT)
        .route::<Write, _, _>(Method::POST, "/v1/sessions/{id}/keys", Some("id"), sessions::keys)
        .described(&sessions::KEYS)
        .route::<Write, _, _>(Method::POST, "/v1/sessions/{id}/size", Some("id"), sessions::size)
        .described(&sessions::SIZE)
        .route::<Note, _, _>(Method::POST, "/v1/sessions/{id}/note", Some("id"), sessions::note)
        .described(&sessions::NOTE)
        .route::<View, _, _>(
            Method::GET,
            "/v1/sessions/{id}/output",
            Some("id"),
            sessions::output,
        )
        .described(&sessions::OUTPUT)
        .route::<View, _, _>(
            Method::GET,
            "/v1/sessions/{id}/screen",
            Some("id"),
            sessions::screen,
        )
        .described(&sessions::SCREEN)
        .route::<View, _, _>(
            Method::GET,
            "/v1/sessions/{id}/recording",
            Some("id"),
            sessions::recording,
        )
        .described(&sessions::RECORDING)
        .route::<View, _, _>(Method::GET, "/v1/sessions/{id}/wait", Some("id"), sessions::wait)
        .described(&sessions::WAIT)
        .websocket::<View, AttachQuery, _, _>("/v1/sessions/{id}/attach", Some("id"), attach)
        .described(&ATTACH)
}

/// A session in a path.
pub(crate) const SESSION: PathId = PathId {
    what: "the session",
    prefix: "ses",
};
