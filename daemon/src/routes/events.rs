//! `GET /v1/events?after=`: server-sent events (WHATWG HTML, section 9.2).
//!
//! The numbers count what happens anywhere, so a guest gets others, which count what its own stream told it. It has to read again
//! what it sees after each cut: that is little.

use std::{borrow::Cow, convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse,
    sse::{self, KeepAlive, Sse},
};
use futures_util::stream;
use pairing::{Permit, Principal, View};
use protocol::events::{Event, EventsQuery};
use server::{App, On, Operation, Permitted, extract::Query};

use crate::sessions::shown_to;

pub(crate) async fn events(
    App(app): App<crate::app::App>,
    Permitted(permit): Permitted<View>,
    On(connection): On,
    Query(query): Query<EventsQuery>,
) -> impl IntoResponse {
    let after = query.after.filter(|_| !is_guest(&permit));
    let follow = app.events.after(after);
    let events = stream::unfold(
        (follow, permit, connection, 0),
        async |(mut follow, permit, connection, told)| {
            loop {
                let (number, event) = tokio::select! {
                    biased;
                    () = connection.revoked() => return None,
                    () = connection.ending() => return None,
                    () = connection.until_changed(|| permit.is_current()) => return None,
                    next = follow.next() => next?,
                };
                if !permit.is_current() {
                    return None;
                }
                if covers(&permit, &event) {
                    let told = told + 1;
                    let number = if is_guest(&permit) { told } else { number };
                    return Some((
                        Ok::<_, Infallible>(encode(number, &shown(&permit, &event))),
                        (follow, permit, connection, told),
                    ));
                }
            }
        },
    );
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

fn is_guest(permit: &Permit<View>) -> bool {
    matches!(permit.principal(), Principal::Guest(_))
}

/// A guest is told less of a session than a device.
fn shown<'a>(permit: &Permit<View>, event: &'a Event) -> Cow<'a, Event> {
    match event {
        Event::Session { session } if is_guest(permit) => {
            let session = shown_to(permit, session.clone());
            Cow::Owned(Event::Session { session })
        }
        event => Cow::Borrowed(event),
    }
}

fn encode(number: u64, event: &Event) -> sse::Event {
    let data = serde_json::to_string(event).expect("events have string keys and finite numbers");
    sse::Event::default()
        .id(number.to_string())
        .event(event.kind())
        .data(data)
}

/// The same rule as for the list: what is about a session is told to those who may see that session; what is about a device, to
/// the owner and the other devices.
fn covers(permit: &Permit<View>, event: &Event) -> bool {
    let session = match event {
        Event::Gap => return true,
        Event::Session { session } => &session.id,
        Event::SessionRemoved { id } => id,
        Event::DevicePaired { device_id, .. } => {
            return match permit.principal() {
                Principal::Owner => true,
                Principal::Device { id, .. } => id != device_id,
                Principal::Session(_) | Principal::Guest(_) | Principal::Nobody => false,
            };
        }
    };
    session.parse().is_ok_and(|resource| permit.covers(&resource))
}

/// A stream without events says a comment so often, so that a dead link is noticed at both ends.
const KEEP_ALIVE: Duration = Duration::from_secs(25);

pub(crate) const EVENTS: Operation =
    Operation::new("follow_events", "Follows what happens to sessions and devices, as server-sent events.")
    .explained(
        "Each has a number as `id`: with the last one as `after` nothing is missed, or a `gap` says that something was. The stream \
         does not end by itself; without events it says a comment every 25 seconds.",
    )
    .asks::<EventsQuery>()
    .gives_events::<Event>(200);
