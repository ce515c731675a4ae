//! `GET /v1/guests`: who was invited, who came, and who else tried.

use std::sync::Arc;

use axum::Json;
use pairing::{GuestEnd, GuestPhase, Refusal, UnixMillis, marker::GuestManage};
use protocol::guests::{GuestRecord, GuestRefused, GuestState};

use super::{sessions, with_scrollback};
use crate::{
    access::Access,
    clock::{self, shown},
    operation::Operation,
    router::{App, Permitted},
};

pub(crate) async fn list(
    App(access): App<Arc<Access>>,
    _permit: Permitted<GuestManage>,
) -> Json<Vec<GuestRecord>> {
    let now = clock::latest();
    let guests: Vec<_> = access.guests().shown().cloned().collect();
    let records = guests.iter().map(|guest| {
        let connections = access.connections().count_of_guest(guest.id);
        guest_record(guest, connections as u64, now)
    });
    Json(records.collect())
}

/// The record of a guest as the owner sees it, with how many connections it has.
pub fn guest_record(guest: &pairing::GuestRecord, connections: u64, now: UnixMillis) -> GuestRecord {
    GuestRecord {
        id: guest.id,
        state: state(guest.phase(now)),
        sessions: sessions(guest),
        with_scrollback: with_scrollback(guest),
        login: guest.login.as_ref().map(ToString::to_string),
        invited_at: shown(guest.created),
        expires_at: shown(guest.ends_at()),
        joined_at: guest.joined.as_ref().map(|key| shown(key.at)),
        address: guest.joined.as_ref().map(|key| key.from.clone()),
        refused: guest
            .refused
            .as_ref()
            .map(|Refusal { count, at, from }| GuestRefused {
                count: *count,
                last_at: shown(*at),
                last_address: from.clone(),
            }),
        connections,
    }
}

fn state(phase: GuestPhase) -> GuestState {
    match phase {
        GuestPhase::Invited => GuestState::Invited,
        GuestPhase::Joined => GuestState::Joined,
        GuestPhase::Ended(GuestEnd::Revoked) => GuestState::Revoked,
        GuestPhase::Ended(GuestEnd::Left) => GuestState::Left,
        GuestPhase::Ended(GuestEnd::Expired) => GuestState::Expired,
        GuestPhase::Ended(GuestEnd::Burned) => GuestState::Burned,
        GuestPhase::Ended(GuestEnd::LockedDown) => GuestState::LockedDown,
    }
}

pub(in crate::routes) const LIST: Operation = Operation::new(
    "list_guests",
    "Lists who was invited, who came, and who else tried.",
)
.gives::<Vec<GuestRecord>>(200);
