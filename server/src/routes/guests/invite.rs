//! `POST /v1/guests`: the owner invites somebody to look.

use std::{sync::Arc, time::Duration};

use axum::Json;
use http::StatusCode;
use pairing::{Invitation, Invited, Principal, ResourceId, Sight, marker::GuestManage};
use protocol::guests::{InvitationMade, NewInvitation};

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock::{self, timestamp},
    error::Failure,
    extract,
    peer::Peer,
    random,
    router::{App, Permitted},
    routes::link,
};

pub(crate) async fn invite(
    App(access): App<Arc<Access>>,
    Permitted(permit): Permitted<GuestManage>,
    peer: Peer,
    extract::Json(body): extract::Json<NewInvitation>,
) -> Result<(StatusCode, Json<Vec<InvitationMade>>), Failure> {
    let authority = access.link_authority().ok_or(Failure::NoListener)?;
    let count = body.count.unwrap_or(1);
    if !(1..=MOST_LINKS).contains(&count) {
        return Err(Failure::malformed(format!("1 to {MOST_LINKS} links at a time")));
    }
    if body.expires_in == 0 {
        return Err(Failure::malformed("a guest stays for at least a second"));
    }
    let sights = sights(&access, &body)?;
    let lasts = Duration::from_secs(body.expires_in);
    let mut all = Vec::new();
    for _ in 0..count {
        let wish = Invitation {
            sights: sights.clone(),
            lasts,
        };
        match one(&access, wish, permit.principal(), &peer, &body).await {
            Ok(invited) => all.push(invited),
            Err(failure) => {
                // Nobody knows the secrets of the others either: they must not be listed as if somebody could use them.
                withdraw(&access, &all);
                return Err(failure);
            }
        }
    }
    access.devices_changed.notify_one();
    let made = all.iter().map(|invited| InvitationMade {
        id: invited.id,
        url: link(
            &access,
            &authority,
            "guest",
            invited.id,
            invited.secret.reveal().as_str(),
        ),
        expires_at: timestamp(invited.expires_at),
    });
    Ok((StatusCode::CREATED, Json(made.collect())))
}

/// Each session once, from where it stands now on.
fn sights(access: &Access, body: &NewInvitation) -> Result<Vec<Sight>, Failure> {
    let mut sights: Vec<Sight> = Vec::new();
    for name in &body.sessions {
        let unknown = || Failure::NotFound("there is nothing of that id to look at");
        let resource: ResourceId = name.parse().map_err(|_| unknown())?;
        let stands_at = (access.stands_at)(&resource).ok_or_else(unknown)?;
        if sights.iter().all(|sight| sight.resource != resource) {
            let since = (!body.with_scrollback).then_some(stands_at);
            sights.push(Sight { resource, since });
        }
    }
    Ok(sights)
}

/// Without its row nobody is invited.
async fn one(
    access: &Access,
    wish: Invitation,
    by: &Principal,
    peer: &Peer,
    body: &NewInvitation,
) -> Result<Invited, Failure> {
    let now = clock::latest();
    let invited = access.guests().invite(wish, now, &mut random::rng())?;
    let row =
        AuditRow::new(clock::now(), name_of(by), peer, action::GUEST_INVITED, invited.id).detail(format!(
            "{}, until {}{}",
            body.sessions.join(" "),
            timestamp(invited.expires_at),
            if body.with_scrollback {
                ", with scrollback"
            } else {
                ""
            }
        ));
    if let Err(error) = access.store.append_audit(row).await {
        tracing::error!(%error, "an audit row could not be written");
        withdraw(access, std::slice::from_ref(&invited));
        return Err(Failure::StoreFailed);
    }
    Ok(invited)
}

fn withdraw(access: &Access, all: &[Invited]) {
    let (mut guests, now) = (access.guests(), clock::latest());
    for invited in all {
        let _ = guests.end(&Principal::Owner, invited.id, now);
    }
}

/// Links of one invitation: a class has so many, and a screen shows them.
const MOST_LINKS: u32 = 32;
