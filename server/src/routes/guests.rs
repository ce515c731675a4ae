//! Guests: invite, list, exchange, own record, end.

pub(crate) mod end;
pub(crate) mod exchange;
pub(crate) mod invite;
pub(crate) mod list;
pub(crate) mod show_self;

use std::sync::Arc;

use http::Method;
use pairing::{
    GuestRecord,
    marker::{DeviceRevoke, GuestManage, OwnRecord},
};

pub use self::list::guest_record;
use crate::{access::Access, router::Routes};

/// Adds the routes of guests to the list. Whoever may revoke may end a guest, so that stands under that scope.
pub(super) fn add(routes: Routes<Arc<Access>>) -> Routes<Arc<Access>> {
    routes
        .route::<GuestManage, _, _>(Method::POST, "/v1/guests", None, invite::invite)
        .described(&invite::INVITE)
        .route::<GuestManage, _, _>(Method::GET, "/v1/guests", None, list::list)
        .described(&list::LIST)
        .public_to_guests(Method::POST, "/v1/guests/exchange", exchange::exchange)
        .described(&exchange::EXCHANGE)
        .route::<OwnRecord, _, _>(Method::GET, "/v1/guests/self", None, show_self::show)
        .described(&show_self::SHOW)
        .route::<OwnRecord, _, _>(Method::DELETE, "/v1/guests/self", None, end::leave)
        .described(&end::LEAVE)
        .route::<DeviceRevoke, _, _>(Method::DELETE, "/v1/guests/{id}", None, end::end)
        .described(&end::END)
}

/// The sessions that a guest may look at, by id.
fn sessions(guest: &GuestRecord) -> Vec<String> {
    guest
        .sights
        .iter()
        .map(|sight| sight.resource.to_string())
        .collect()
}

fn with_scrollback(guest: &GuestRecord) -> bool {
    guest.sights.iter().all(|sight| sight.since.is_none())
}

#[cfg(test)]
mod tests;
