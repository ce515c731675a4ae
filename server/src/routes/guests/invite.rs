//! `POST /v1/guests`: the owner invites somebody to look.

use std::{sync::Arc, time::Duration};

use axum::Json;
use http::StatusCode;
use pairing::{
    Invitation, InviteError, Invited, Login, MalformedLogin, ResourceId, Sight, marker::GuestManage,
};
use protocol::guests::{InvitationMade, NewInvitation};

use crate::{
    access::Access,
    audit::{AuditRow, action},
    authenticate::name_of,
    clock::{self, shown},
    error::{Failure, Uninvited},
    extract,
    operation::{Operation, problems},
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
    let count = body.count.unwrap_or(1);
    if !(1..=MOST_LINKS).contains(&count) {
        return Err(Failure::malformed(format!("1 to {MOST_LINKS} links at a time")));
    }
    if body.expires_in == 0 {
        return Err(Failure::malformed("a guest stays for at least a second"));
    }
    let login = login(&access, &body)?;
    let wish = Invitation {
        sights: sights(&access, &body)?,
        login,
        lasts: Duration::from_secs(body.expires_in),
    };
    if access.looks_locked_down().await {
        return Err(Failure::LockedDown);
    }
    let (authority, all) = invite_all(&access, &wish, count)?;
    access.devices_changed.notify_one();
    let by = name_of(permit.principal());
    let row = |invited: &Invited| {
        let id = invited.record.id;
        let row = AuditRow::new(clock::now(), &by, &peer, action::GUEST_INVITED, id);
        row.detail(detail(&body, invited))
    };
    let stored = all.iter().map(|invited| (invited.record.clone(), row(invited)));
    // Without its record and its row nobody is invited.
    if let Err(error) = access.store.invite_guests(stored.collect()).await {
        tracing::error!(%error, "invitations could not be stored");
        withdraw(&access, &all);
        return Err(Failure::StoreFailed);
    }
    let made = all.iter().map(|invited| made(&access, &authority, invited));
    Ok((StatusCode::CREATED, Json(made.collect())))
}

/// As many invitations, or none, and host and port that their links begin with.
fn invite_all(access: &Access, wish: &Invitation, count: u32) -> Result<(String, Vec<Invited>), Failure> {
    let now = clock::latest();
    let mut guests = access.guests();
    // Compared under the lock under which a lock-down ends whoever was invited.
    if access.is_locked_down() {
        return Err(Failure::LockedDown);
    }
    let authority = access.link_authority().ok_or(Failure::NoListener)?;
    let mut all: Vec<Invited> = Vec::new();
    for _ in 0..count {
        match guests.invite(wish.clone(), &access.token_key, now, &mut random::rng()) {
            Ok(invited) => all.push(invited),
            Err(refused) => {
                all.iter().for_each(|invited| guests.withdraw(invited.record.id));
                return Err(refused.into());
            }
        }
    }
    Ok((authority, all))
}

fn made(access: &Access, authority: &str, invited: &Invited) -> InvitationMade {
    let (id, secret) = (invited.record.id, invited.secret.reveal());
    InvitationMade {
        id,
        url: link(access, authority, "guest", id, secret.as_str()),
        expires_at: shown(invited.record.expires_at),
    }
}

fn detail(body: &NewInvitation, invited: &Invited) -> String {
    let scrollback = if body.with_scrollback {
        ", with scrollback"
    } else {
        ""
    };
    let login = invited.record.login.as_ref();
    let login = login.map_or_else(String::new, |login| format!(", for {login}"));
    let until = shown(invited.record.expires_at);
    format!("{}{login}, until {until}{scrollback}", body.sessions.join(" "))
}

/// Whom the link is for, where the daemon can know who comes.
fn login(access: &Access, body: &NewInvitation) -> Result<Option<Login>, Failure> {
    let Some(login) = &body.login else {
        return Ok(None);
    };
    let login: Login = login
        .parse()
        .map_err(|malformed: MalformedLogin| Failure::malformed(malformed.to_string()))?;
    match access.who_is.knows_logins() {
        true => Ok(Some(login)),
        false => Err(Failure::Uninvited(Uninvited::NoTailnet)),
    }
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

/// Nobody knows their secrets: they must not be listed as if somebody could use them.
fn withdraw(access: &Access, all: &[Invited]) {
    let mut guests = access.guests();
    all.iter().for_each(|invited| guests.withdraw(invited.record.id));
}

/// Links of one invitation: a class has so many, and a screen shows them.
const MOST_LINKS: u32 = 32;

pub(in crate::routes) const INVITE: Operation = Operation::new(
    "invite_guests",
    "Invites somebody to look at sessions: each link is for one browser, once.",
)
.takes::<NewInvitation>()
.gives::<Vec<InvitationMade>>(201)
.fails(|| {
    let mut all = problems([InviteError::TooMany, InviteError::Nothing, InviteError::TooLong]);
    all.extend(problems([
        Failure::NotFound("there is nothing of that id to look at"),
        Failure::Uninvited(Uninvited::NoTailnet),
        Failure::LockedDown,
        Failure::NoListener,
        Failure::StoreFailed,
    ]));
    all
});
