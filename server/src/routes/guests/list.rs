//! `GET /v1/guests`: who was invited, who came, and who else tried.

use std::sync::Arc;

use axum::Json;
use pairing::{GuestEnd, GuestPhase, GuestView, Refusal, marker::GuestManage};
use protocol::guests::{GuestRecord, GuestRefused, GuestState};

use super::{sessions, with_scrollback};
use crate::{
    access::Access,
    clock::{self, timestamp},
    router::{App, Permitted},
};

pub(crate) async fn list(
    App(access): App<Arc<Access>>,
    _permit: Permitted<GuestManage>,
) -> Json<Vec<GuestRecord>> {
    let views = access.guests().views(clock::latest());
    Json(views.into_iter().map(|guest| record(&access, guest)).collect())
}

fn record(access: &Access, guest: GuestView) -> GuestRecord {
    GuestRecord {
        id: guest.id,
        state: state(guest.phase),
        sessions: sessions(&guest),
        with_scrollback: with_scrollback(&guest),
        invited_at: timestamp(guest.created),
        expires_at: timestamp(guest.expires_at),
        joined_at: guest.joined.as_ref().map(|(at, _)| timestamp(*at)),
        address: guest.joined.map(|(_, from)| from),
        refused: guest.refused.map(|Refusal { count, at, from }| GuestRefused {
            count,
            last_at: timestamp(at),
            last_address: from,
        }),
        connections: access.connections().count_of_guest(guest.id) as u64,
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
