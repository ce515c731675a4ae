//! Every route of the access layer, with what it demands.

pub mod audit;
mod auth;
mod devices;
mod guests;
mod health;
mod lockdown;
mod metrics;
mod pairing;
mod whoami;

use std::{fmt::Display, sync::Arc, time::Duration};

use ::pairing::{
    Fault, Label,
    marker::{
        Any, AuditView, DeviceList, DeviceManage, DeviceRevoke, LiftLockdown, Lockdown, MetricsView,
        OwnRecord,
    },
};
use http::Method;
use protocol::WireSecret;

pub use self::{devices::device_record, guests::guest_record};
use crate::{access::Access, error::Failure, router::Routes};

/// The list.
pub fn routes() -> Routes<Arc<Access>> {
    let routes = Routes::new()
        .public_to_guests(Method::GET, "/v1/health", health::show)
        .described(&health::SHOW)
        .route::<Any, _, _>(Method::GET, "/v1/whoami", None, whoami::show)
        .described(&whoami::SHOW)
        .route::<DeviceList, _, _>(Method::GET, "/v1/devices", None, devices::list::list)
        .described(&devices::list::LIST)
        .route::<DeviceManage, _, _>(Method::POST, "/v1/devices", None, devices::add::add)
        .described(&devices::add::ADD)
        .route::<OwnRecord, _, _>(Method::GET, "/v1/devices/self", None, devices::show_self::show)
        .described(&devices::show_self::SHOW)
        .route::<OwnRecord, _, _>(
            Method::DELETE,
            "/v1/devices/self",
            None,
            devices::sign_out::sign_out,
        )
        .described(&devices::sign_out::SIGN_OUT)
        .route::<OwnRecord, _, _>(
            Method::PATCH,
            "/v1/devices/self",
            None,
            devices::change::rename_self,
        )
        .described(&devices::change::RENAME_SELF)
        .route::<OwnRecord, _, _>(
            Method::POST,
            "/v1/devices/self/pin",
            None,
            devices::keep_pin::keep,
        )
        .described(&devices::keep_pin::KEEP)
        .route::<DeviceManage, _, _>(Method::PATCH, "/v1/devices/{id}", None, devices::change::change)
        .described(&devices::change::CHANGE)
        .route::<DeviceManage, _, _>(
            Method::POST,
            "/v1/devices/{id}/rebind",
            None,
            devices::rebind::rebind,
        )
        .described(&devices::rebind::REBIND)
        .route::<DeviceRevoke, _, _>(Method::DELETE, "/v1/devices/{id}", None, devices::revoke::revoke)
        .described(&devices::revoke::REVOKE)
        .route::<DeviceManage, _, _>(
            Method::DELETE,
            "/v1/devices/{id}/connections",
            None,
            devices::disconnect::disconnect,
        )
        .described(&devices::disconnect::DISCONNECT)
        .route::<MetricsView, _, _>(Method::GET, "/metrics", None, metrics::show)
        .described(&metrics::SHOW)
        .route::<AuditView, _, _>(Method::GET, "/v1/audit", None, audit::list)
        .described(&audit::LIST)
        .route::<AuditView, _, _>(Method::GET, "/v1/audit/verify", None, audit::verify)
        .described(&audit::VERIFY)
        .route::<Lockdown, _, _>(Method::POST, "/v1/lockdown", None, lockdown::lock)
        .described(&lockdown::LOCK)
        .route::<LiftLockdown, _, _>(Method::DELETE, "/v1/lockdown", None, lockdown::lift)
        .described(&lockdown::LIFT);
    pairing::add(guests::add(auth::add(routes)))
}

/// A link to a page of the app. The secret stands in the fragment only: browsers never send that.
fn link(access: &Access, authority: &str, page: &str, id: impl Display, secret: &str) -> WireSecret {
    WireSecret::new(format!(
        "https://{authority}/{page}#{id}.{secret}.{}",
        access.pin()
    ))
}

/// How long a device shall live; none where nothing is said.
fn lifetime(seconds: Option<u64>) -> Result<Option<Duration>, Failure> {
    match seconds {
        Some(0) => Err(Failure::malformed("a device lives for at least a second")),
        seconds => Ok(seconds.map(Duration::from_secs)),
    }
}

/// The name that a device shall have.
fn label(text: &str) -> Result<Label, Failure> {
    text.parse().map_err(|refused: ::pairing::MalformedLabel| {
        Failure::pairing("malformed_label", Fault::Malformed, refused.to_string())
    })
}
