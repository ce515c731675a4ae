//! What an access token opens, and for how long.

use super::{World, id, node, own, place, signed};
use crate::limits::ACCESS_PER_DEVICE;
use crate::marker::{View, Write};
use crate::proofs::Place;
use crate::testing::at;
use crate::{
    AccessToken, AuthError, ChallengeError, Clocks, Device, Generation, Latest, Permit, Principal,
    ProofError, Role, TailnetIdentity, UnixMillis,
};
use core::time::Duration;

fn shown(
    world: &mut World,
    token: &AccessToken,
    place: &Place<'_>,
    now: UnixMillis,
) -> Result<(), AuthError> {
    world.opened(token, place, now).map(|_| ())
}

#[test]
fn it_ends_by_the_daemons_clock_after_fifteen_minutes() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    assert_eq!(shown(&mut world, &token, &place(None), at(899)), Ok(()));
    assert_eq!(
        shown(&mut world, &token, &place(None), at(900)),
        Err(AuthError::AccessEnded)
    );
}

/// What the wall says and how long the machine has run, both in seconds.
fn read(wall: i64, boot: u64) -> Clocks {
    Clocks {
        wall: at(wall),
        boot: Duration::from_secs(boot),
    }
}

#[test]
fn a_wall_clock_that_is_set_back_in_mid_life_does_not_lengthen_it() {
    let (mut world, mut clock) = (World::new(), Latest::new());
    let token = world.granted(1, clock.at(read(0, 10_000))).token;
    let mut is_open = |now| world.opened(&token, &place(None), clock.at(now)).is_ok();
    assert!(is_open(read(600, 10_600)));
    assert!(is_open(read(-3_000, 10_601)), "and does not shorten it");
    assert!(is_open(read(-2_702, 10_899)));
    assert!(!is_open(read(-2_701, 10_900)));
}

#[test]
fn a_wall_clock_that_is_set_forward_ends_it_and_set_back_again_does_not_revive_it() {
    let (mut world, mut clock) = (World::new(), Latest::new());
    let mut at = |wall, boot| clock.at(read(wall, boot));
    let token = world.granted(1, at(0, 10_000)).token;
    for now in [at(900, 10_001), at(2, 10_002)] {
        assert!(world.opened(&token, &place(None), now).is_err());
    }
    let fresh = world.granted(1, at(3, 10_003)).token;
    assert!(world.opened(&fresh, &place(None), at(902, 10_902)).is_ok());
    assert!(world.opened(&fresh, &place(None), at(903, 10_903)).is_err());
}

#[test]
fn no_set_clock_makes_a_used_challenge_good_again() {
    let (mut world, mut clock) = (World::new(), Latest::new());
    let mut at = |wall, boot| clock.at(read(wall, boot));
    let challenge = world.challenge(at(0, 10_000));
    assert!(world.prove(1, challenge.as_str(), at(1, 10_001)).is_ok());
    // Far ahead, what is over is forgotten; then back to where it was good.
    world.granted(2, at(100_000, 10_002));
    for now in [at(2, 10_003), at(-9_000, 10_004)] {
        let again = world.prove(1, challenge.as_str(), now).unwrap_err();
        assert_eq!(again, ProofError::Challenge(ChallengeError::Expired));
    }
}

#[test]
fn a_renewal_that_was_read_earlier_ends_no_token_of_a_later_one() {
    let mut world = World::new();
    let challenges = [world.challenge(at(0)), world.challenge(at(0))];
    let later = world.prove(1, challenges[0].as_str(), at(2)).unwrap().token;
    let earlier = world.prove(1, challenges[1].as_str(), at(1)).unwrap().token;
    for token in [&later, &earlier] {
        for second in [1, 2, 3] {
            assert_eq!(shown(&mut world, token, &place(None), at(second)), Ok(()));
        }
    }
}

#[test]
fn a_challenge_that_runs_out_while_its_signature_is_checked_gives_nothing() {
    let mut world = World::new();
    let challenge = world.challenge(at(0));
    let opened = world
        .proofs
        .open(challenge.as_str(), Generation(1), at(59))
        .unwrap();
    let proof = world.proof_of(1, opened);
    let late = world.proofs.claim(proof, at(60)).unwrap_err();
    assert_eq!(late, ChallengeError::Expired);
}

#[test]
fn a_proof_that_was_claimed_and_dropped_can_be_shown_again() {
    let mut world = World::new();
    let challenge = world.challenge(at(0));
    let opened = world
        .proofs
        .open(challenge.as_str(), Generation(1), at(0))
        .unwrap();
    let proof = world.proof_of(1, opened);
    drop(world.proofs.claim(proof, at(0)).unwrap());
    assert!(world.prove(1, challenge.as_str(), at(1)).is_ok());
}

#[test]
fn what_was_permitted_by_it_outlives_it() {
    let mut world = World::new();
    let token = world.granted(1, at(0)).token;
    let who = world.opened(&token, &place(None), at(0)).unwrap();
    let permit: Permit<View> = who.permit(None).unwrap();
    assert_eq!(
        shown(&mut world, &token, &place(None), at(2_000)),
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
        shown(&mut world, &guess, &place(None), at(0)),
        Err(AuthError::AccessEnded)
    );
    assert_eq!(
        shown(&mut World::new(), &token, &place(None), at(0)),
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
    assert_eq!(
        shown(&mut world, &token, &other, at(0)),
        Err(AuthError::AccessEnded)
    );
}

#[test]
fn that_of_a_revoked_device_says_so_until_it_would_have_ended() {
    let mut world = World::new();
    let (lost, kept) = (world.granted(1, at(0)).token, world.granted(2, at(0)).token);
    world.devices.revoke(&Principal::Owner, id(1), at(1)).unwrap();
    assert_eq!(
        shown(&mut world, &lost, &place(None), at(899)),
        Err(AuthError::Revoked)
    );
    assert_eq!(shown(&mut world, &kept, &place(None), at(899)), Ok(()));
    assert_eq!(
        shown(&mut world, &lost, &place(None), at(900)),
        Err(AuthError::AccessEnded)
    );
}

#[test]
fn it_ends_with_the_devices_time() {
    let mut world = World::new();
    world.devices.add(Device {
        expires_at: Some(at(10)),
        ..crate::testing::device(6)
    });
    let token = world.granted(6, at(0)).token;
    assert_eq!(shown(&mut world, &token, &place(None), at(9)), Ok(()));
    assert_eq!(
        shown(&mut world, &token, &place(None), at(10)),
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
        shown(&mut world, &token, &place(None), at(1)),
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
        shown(&mut world, &token, &place(None), at(1)),
        Err(AuthError::AccessEnded)
    );
    let renewed = world.granted(1, at(1)).token;
    assert_eq!(shown(&mut world, &renewed, &place(None), at(1)), Ok(()));
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
    assert_eq!(
        shown(&mut world, &token, &place(Some(&node("n3"))), at(1)),
        Ok(())
    );
    assert_eq!(
        shown(&mut world, &token, &place(Some(&node("n4"))), at(1)),
        Err(AuthError::WrongNode)
    );
    assert_eq!(
        shown(&mut world, &token, &place(None), at(1)),
        Err(AuthError::NodeUnknown)
    );
    // The device is untouched.
    assert_eq!(
        shown(&mut world, &token, &place(Some(&node("n3"))), at(2)),
        Ok(())
    );
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
        shown(&mut world, &oldest, &place(None), at(1)),
        Err(AuthError::AccessEnded)
    );
    for kept in [second, other] {
        assert_eq!(shown(&mut world, &kept, &place(None), at(1)), Ok(()));
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
