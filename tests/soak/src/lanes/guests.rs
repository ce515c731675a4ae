//! Guests: links that are opened, shared, forgotten, ended, and end by themselves.

use std::sync::Arc;

use harness::{Chance, DeviceKey, Guest, Invitation, Unattached};
use protocol::{
    access::{PrincipalKind, WhoAmI},
    attach::Mode,
    guests::{GuestEnded, NewInvitation},
    sessions::Session,
};

use crate::{
    lanes::people::{is_out, nothing_after},
    world::{Fault, Outcome, World, good, must, pause},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nobody opens the link.
    Unopened,
    /// The owner ends the guest.
    Ended,
    /// The guest leaves.
    Left,
    /// Its second comes.
    Expired,
}

/// Acts until the storm is over.
pub(crate) async fn run(world: Arc<World>, counted: Vec<Session>, mut chance: Chance) -> Outcome<()> {
    while !world.is_over() {
        let [which, end, looks, rest] = [1 << 20, 4, 1_500, 2_000].map(|limit| chance.below(limit));
        let end =
            [End::Unopened, End::Ended, End::Left, End::Expired][usize::try_from(end).unwrap_or_default()];
        let which = usize::try_from(which).unwrap_or_default() % counted.len();
        let (named, other) = (&counted[which], &counted[(which + 1) % counted.len()]);
        let turn = world.turns.read().await;
        world.tell("guests", format!("{end:?} of {} after {looks} ms", named.name));
        let done = world.attempt(visit(&world, named, other, end, looks)).await;
        match done {
            Ok(()) | Err(Fault::Disturbed) => {}
            Err(fault) => return Err(fault),
        }
        drop(turn);
        pause(rest).await;
    }
    Ok(())
}

/// A guest from its invitation to its end.
async fn visit(world: &World, named: &Session, other: &Session, end: End, looks: u64) -> Outcome<()> {
    let wish = NewInvitation {
        sessions: vec![named.id.clone()],
        expires_in: if end == End::Expired { 2 } else { 3_600 },
        count: None,
        with_scrollback: false,
        login: None,
    };
    let invitation = Invitation::by(&world.owner, &wish).await.remove(0);
    world.row("guest_invited", invitation.id);
    world.count("guests invited");
    if end == End::Unopened {
        return finish(world, invitation.id).await.map(drop);
    }
    let opened = invitation.open_at(world.address, DeviceKey::generate()).await;
    let guest = match opened {
        Ok(guest) => guest,
        // Two seconds may be over on a busy machine.
        Err(_) if end == End::Expired => return Ok(()),
        Err(answer) => {
            return Err(Fault::Unexpected(format!(
                "a link was answered {} {}",
                answer.status, answer.body
            )));
        }
    };
    world.row("guest_joined", invitation.id);
    let again = invitation.open_at(world.address, DeviceKey::generate()).await;
    must(again.is_err(), || {
        format!("the link of {} opened twice", invitation.id)
    })?;
    if end != End::Expired {
        sees_only(world, &guest, named, other).await?;
    }
    let attached = guest.reach(&named.id, Mode::View, "screen").await;
    let attached = match attached {
        Ok(attached) => attached,
        Err(Unattached::Refused(answer)) if end == End::Expired && answer.status == 401 => return Ok(()),
        Err(why) => return Err(Fault::Unexpected(format!("a guest could not look: {why:?}"))),
    };
    pause(looks).await;
    let last = match end {
        End::Left => {
            good(guest.delete("/v1/guests/self").await, "leave")?;
            world.row("guest_left", invitation.id);
            end_of(world, named).await?
        }
        End::Expired => u64::MAX,
        End::Unopened | End::Ended => {
            finish(world, invitation.id).await?;
            end_of(world, named).await?
        }
    };
    nothing_after(world, attached, last).await?;
    if end == End::Expired {
        // A kill may have closed the stream before.
        pause(2_000).await;
    }
    is_out(world, &guest).await
}

/// Has the owner end a guest.
async fn finish(world: &World, id: pairing::GuestId) -> Outcome<GuestEnded> {
    let ended = world
        .ask("DELETE", &format!("/v1/guests/{id}"), None::<&()>)
        .await?;
    world.row("guest_ended", id);
    Ok(ended)
}

async fn end_of(world: &World, session: &Session) -> Outcome<u64> {
    let session: Session = world.get(&format!("/v1/sessions/{}", session.id)).await?;
    Ok(session.end)
}

/// Asserts that a guest is one, and sees its session and nothing else.
async fn sees_only(world: &World, guest: &Guest, named: &Session, other: &Session) -> Outcome<()> {
    let who: WhoAmI = good(guest.get("/v1/whoami").await, "whoami of a guest")?.ok();
    must(who.principal == PrincipalKind::Guest, || {
        format!("a guest is {who:?}")
    })?;
    let list: Vec<Session> = good(guest.get("/v1/sessions").await, "sessions of a guest")?.ok();
    must(list.len() == 1 && list[0].id == named.id, || {
        let names: Vec<&str> = list.iter().map(|one| one.name.as_str()).collect();
        format!("a guest of {} sees {names:?}", named.name)
    })?;
    for path in [
        format!("/v1/sessions/{}", other.id),
        "/v1/devices".to_owned(),
        "/v1/guests".to_owned(),
    ] {
        let answer = guest.get(&path).await;
        must(matches!(answer.status, 403 | 404), || {
            format!("a guest was answered {} at {path}", answer.status)
        })?;
    }
    world.count("guests, each of whom saw its session alone");
    Ok(())
}
