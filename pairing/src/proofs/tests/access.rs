//! What an access token opens, and for how long.

use super::{World, id, node, own, place, signed};
use crate::limits::ACCESS_PER_DEVICE;
use crate::marker::{View, Write};
use crate::proofs::Place;
use crate::testing::at;
use crate::{
    AccessToken, AuthError, Device, Generation, Permit, Principal, Role, TailnetIdentity, UnixMillis,
};

fn shown(world: &World, token: &AccessToken, place: &Place<'_>, now: UnixMillis) -> Result<(), AuthError> {
    world.opened(token, place, now).map(|_| ())
}

#[test]
fn it_ends_by_the_daemons_clock_after_fifteen_minutes() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    assert_eq!(shown(&world, &token, &place(None), at(899)), Ok(()));
    assert_eq!(
        shown(&world, &token, &place(None), at(900)),
        Err(AuthError::AccessEnded)
    );
    // A clock that was set back does not lengthen it.
    assert_eq!(
        shown(&world, &token, &place(None), at(-1)),
        Err(AuthError::AccessEnded)
    );
}

#[test]
fn what_was_permitted_by_it_outlives_it() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    let who = world.opened(&token, &place(None), at(0)).unwrap();
    let permit: Permit<View> = who.permit(None).unwrap();
    assert_eq!(
        shown(&world, &token, &place(None), at(2_000)),
        Err(AuthError::AccessEnded)
    );
    world.granted(1, at(2_000));
    assert!(permit.is_current());
    world.devices.revoke(&Principal::Owner, id(1), at(2_001)).unwrap();
    assert!(!permit.is_current());
}

#[test]
fn a_guess_and_a_token_of_another_run_answer_as_one_that_is_over() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    let guess = AccessToken::generate(token.id(), &mut world.rng);
    assert_eq!(
        shown(&world, &guess, &place(None), at(0)),
        Err(AuthError::AccessEnded)
    );
    assert_eq!(
        shown(&World::new(), &token, &place(None), at(0)),
        Err(AuthError::AccessEnded)
    );
}

#[test]
fn it_is_good_on_the_generation_that_made_it_only() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    let other = Place {
        generation: Generation(2),
        tailnet: None,
    };
    assert_eq!(shown(&world, &token, &other, at(0)), Err(AuthError::AccessEnded));
}

#[test]
fn that_of_a_revoked_device_says_so_until_it_would_have_ended() {
    let mut world = World::new();
    let (lost, kept) = (world.granted(1, at(0)).token, world.granted(2, at(0)).token);
    world.devices.revoke(&Principal::Owner, id(1), at(1)).unwrap();
    assert_eq!(
        shown(&world, &lost, &place(None), at(899)),
        Err(AuthError::Revoked)
    );
    assert_eq!(
        shown(&world, &lost, &place(None), at(900)),
        Err(AuthError::AccessEnded)
    );
    assert_eq!(shown(&world, &kept, &place(None), at(899)), Ok(()));
}

#[test]
fn it_ends_with_the_devices_time() {
    let mut world = World::new();
    world.devices.add(Device {
        expires_at: Some(at(10)),
        ..crate::testing::device(6)
    });
    let token = world.granted(6, at(0)).token;
    assert_eq!(shown(&world, &token, &place(None), at(9)), Ok(()));
    assert_eq!(
        shown(&world, &token, &place(None), at(10)),
        Err(AuthError::Expired)
    );
}

#[test]
fn it_ends_with_the_role_that_it_was_made_under() {
    let mut world = World::new();
    world.devices.set_role(id(1), Role::Operator).unwrap();
    let token = world.granted(1, at(0)).token;
    world.devices.set_role(id(1), Role::Viewer).unwrap();
    assert_eq!(
        shown(&world, &token, &place(None), at(1)),
        Err(AuthError::AccessEnded)
    );
    let renewed = world.granted(1, at(1)).token;
    let who = world.opened(&renewed, &place(None), at(1)).unwrap();
    assert!(who.permit::<Write>(None).is_err());
}

#[test]
fn it_ends_in_a_lock_down_and_the_trust_behind_it_stays() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    world.devices.end_authentications();
    assert_eq!(
        shown(&world, &token, &place(None), at(1)),
        Err(AuthError::AccessEnded)
    );
    let renewed = world.granted(1, at(1)).token;
    assert_eq!(shown(&world, &renewed, &place(None), at(1)), Ok(()));
}

/// The token of device 3, which is bound to node `n3`, and proves its key from there.
fn of_bound(world: &mut World, from: &TailnetIdentity) -> AccessToken {
    let challenge = world.challenge(at(0));
    let signature = signed(3, challenge.as_str(), &own(), 3);
    let place = place(Some(from));
    world
        .show(3, challenge.as_str(), &own(), &signature, &place, at(0))
        .unwrap()
        .token
}

#[test]
fn that_of_a_bound_device_is_good_from_its_node_only() {
    let mut world = World::new();
    let token = of_bound(&mut world, &node("n3"));
    assert_eq!(shown(&world, &token, &place(Some(&node("n3"))), at(1)), Ok(()));
    assert_eq!(
        shown(&world, &token, &place(Some(&node("n4"))), at(1)),
        Err(AuthError::WrongNode)
    );
    assert_eq!(
        shown(&world, &token, &place(None), at(1)),
        Err(AuthError::NodeUnknown)
    );
    // The device is untouched.
    assert_eq!(shown(&world, &token, &place(Some(&node("n3"))), at(2)), Ok(()));
}

#[test]
fn the_oldest_ends_where_a_device_has_as_many_as_it_may_and_others_keep_theirs() {
    let mut world = World::new();
    let other = world.granted(2, at(0)).token;
    let oldest = world.granted(1, at(0)).token;
    let second = world.granted(1, at(0)).token;
    for _ in 0..ACCESS_PER_DEVICE - 1 {
        world.granted(1, at(1));
    }
    assert_eq!(
        shown(&world, &oldest, &place(None), at(1)),
        Err(AuthError::AccessEnded)
    );
    for kept in [second, other] {
        assert_eq!(shown(&world, &kept, &place(None), at(1)), Ok(()));
    }
}

#[test]
fn what_is_over_is_not_kept() {
    let mut world = World::new();
    world.granted(1, at(0));
    world.granted(2, at(0));
    assert_eq!((world.proofs.tokens.len(), world.proofs.spent.len()), (2, 2));
    world.granted(1, at(1_000));
    assert_eq!((world.proofs.tokens.len(), world.proofs.spent.len()), (1, 1));
}
