use alloc::vec::Vec;
use core::time::Duration;

use super::{Guests, Invitation, Invited, Joined, Sight};
use crate::devices::{ProofCheck, ShownProof};
use crate::marker::{Any, DeviceList, Manage, Note, OwnRecord, Write};
use crate::testing::{HashSignatures, SeededRng, at, device, key, sign, token_key};
use crate::{
    AccessToken, Audience, AuthError, Authenticated, Devices, EndGuestError, Generation, GuestEnd, GuestId,
    GuestPhase, GuestToken, Holders, InviteError, InviteSecret, JoinError, KeyHolder, Place, Principal,
    ProofError, Proofs, ResourceId, Role, TailnetIdentity, UnixMillis, View, guest_text, proof_text,
};

const HOUR: Duration = Duration::from_secs(3600);
const PLACE: Place<'static> = Place {
    generation: Generation(1),
    tailnet: None,
};

struct World {
    guests: Guests,
    /// What the tailnet says of whoever comes.
    who: Option<TailnetIdentity>,
    proofs: Proofs,
    rng: SeededRng,
}

fn world() -> World {
    let mut rng = SeededRng::new(1);
    World {
        guests: Guests::new(),
        who: None,
        proofs: Proofs::new(&mut rng),
        rng,
    }
}

fn resource(n: u8) -> ResourceId {
    alloc::format!("ses_{n:016}").parse().unwrap()
}

fn audience() -> Audience {
    "origin:https://localhost:7300".parse().unwrap()
}

impl World {
    /// Invites to the first resource from mark 100 on.
    fn invite(&mut self, now: UnixMillis) -> Invited {
        self.invite_by_login(None, now)
    }

    fn invite_by_login(&mut self, login: Option<&str>, now: UnixMillis) -> Invited {
        let wish = Invitation {
            sights: [Sight {
                resource: resource(1),
                since: Some(100),
            }]
            .into(),
            login: login.map(|login| login.parse().unwrap()),
            lasts: HOUR,
        };
        self.guests
            .invite(wish, &token_key(), now, &mut self.rng)
            .unwrap()
    }

    /// Shows the link with the key that differs by `n`.
    fn join_with(
        &mut self,
        id: GuestId,
        secret: &InviteSecret,
        n: u8,
        now: UnixMillis,
    ) -> Result<Joined, JoinError> {
        let opened = self.guests.open(id, secret, &token_key(), now);
        let holder = opened.map_err(|refused| refused.error)?;
        let challenge = self.proofs.challenge(Generation(1), now, &mut self.rng);
        let open = self.proofs.open(challenge.as_str(), Generation(1), now).unwrap();
        let text = guest_text(challenge.as_str(), &audience(), id);
        let shown = ShownProof {
            audience: &audience(),
            signature: &sign(key(n).as_bytes(), text.as_bytes()),
        };
        let proof = holder.prove(key(n), open, shown, check(&|_| true))?;
        self.guests.join(
            proof,
            ("198.51.100.7", self.who.as_ref()),
            &token_key(),
            now,
            &mut self.rng,
        )
    }

    fn join(&mut self, invited: &Invited, n: u8, now: UnixMillis) -> Result<Joined, JoinError> {
        self.join_with(invited.record.id, &invited.secret, n, now)
    }

    /// Proves the guest's key, and asks who it is by the access token of that.
    fn access(&mut self, token: &GuestToken, n: u8, now: UnixMillis) -> Result<Authenticated, AuthError> {
        let holder = self.guests.authenticate(token, &token_key(), now)?;
        let challenge = self.proofs.challenge(Generation(1), now, &mut self.rng);
        let open = self.proofs.open(challenge.as_str(), Generation(1), now).unwrap();
        let text = proof_text(challenge.as_str(), &audience(), token.id());
        let shown = ShownProof {
            audience: &audience(),
            signature: &sign(key(n).as_bytes(), text.as_bytes()),
        };
        let place = Place {
            tailnet: self.who.as_ref(),
            ..PLACE
        };
        let proof = match holder.prove(open, shown, check(&|_| true), &place) {
            Err(ProofError::Auth(refused)) => return Err(refused),
            proof => proof.unwrap(),
        };
        let granted = self.proofs.claim(proof, now).unwrap().grant(&mut self.rng);
        self.ask(&granted.token, now)
    }

    /// Asks by an access token who it is.
    fn ask(&mut self, token: &AccessToken, now: UnixMillis) -> Result<Authenticated, AuthError> {
        let devices = Devices::new(HOUR);
        let holders = (&devices, &self.guests);
        let place = Place {
            tailnet: self.who.as_ref(),
            ..PLACE
        };
        self.proofs
            .authenticate(token, &holders, &place, now)
            .and_then(|(_, found)| found)
    }

    fn phase(&self, id: GuestId, now: UnixMillis) -> GuestPhase {
        self.guests.get(id).unwrap().phase(now)
    }
}

fn check<'a>(accepts: &'a dyn Fn(&Audience) -> bool) -> ProofCheck<'a> {
    ProofCheck {
        verifier: &HashSignatures,
        accepts,
    }
}

#[test]
fn a_link_makes_a_guest_of_the_first_key_and_is_refused_to_the_second() {
    let mut world = world();
    let invited = world.invite(at(0));
    assert_eq!(world.phase(invited.record.id, at(0)), GuestPhase::Invited);
    world.join(&invited, 1, at(1)).unwrap();
    assert_eq!(world.join(&invited, 2, at(2)).unwrap_err(), JoinError::Used);
    let record = world.guests.get(invited.record.id).unwrap();
    assert_eq!(record.phase(at(3)), GuestPhase::Joined);
    let joined = record.joined.as_ref().unwrap();
    assert_eq!((joined.at, joined.from.as_str()), (at(1), "198.51.100.7"));
    let refused = record.refused.as_ref().unwrap();
    assert_eq!((refused.count, refused.at), (1, at(2)));
}

#[test]
fn the_same_key_gets_another_token_after_a_lost_answer_and_the_former_is_dead() {
    let mut world = world();
    let invited = world.invite(at(0));
    let lost = world.join(&invited, 1, at(1)).unwrap();
    let kept = world.join(&invited, 1, at(2)).unwrap();
    assert!(!lost.authenticated.is_current());
    assert_eq!(
        world.access(&lost.token, 1, at(3)).unwrap_err(),
        AuthError::Unknown
    );
    assert!(world.access(&kept.token, 1, at(3)).is_ok());
    assert_eq!(world.guests.get(invited.record.id).unwrap().refused, None);
}

#[test]
fn a_guest_looks_at_what_was_named_from_its_mark_on_and_does_nothing_else() {
    let mut world = world();
    let invited = world.invite(at(0));
    let token = world.join(&invited, 1, at(1)).unwrap().token;
    let guest = world.access(&token, 1, at(2)).unwrap();
    assert_eq!(guest.principal(), &Principal::Guest(invited.record.id));
    let permit = guest.permit::<View>(None).unwrap();
    assert!(permit.covers(&resource(1)) && !permit.covers(&resource(2)));
    assert_eq!(permit.since(&resource(1)), Some(100));
    assert!(guest.permit::<View>(Some(resource(1))).is_ok());
    assert!(guest.permit::<View>(Some(resource(2))).is_err());
    assert!(guest.permit::<Any>(None).is_ok() && guest.permit::<OwnRecord>(None).is_ok());
    assert!(guest.permit::<Write>(Some(resource(1))).is_err());
    assert!(guest.permit::<Manage>(Some(resource(1))).is_err());
    assert!(guest.permit::<Note>(Some(resource(1))).is_err());
    assert!(guest.permit::<DeviceList>(None).is_err());
}

#[test]
fn the_token_alone_opens_nothing_and_neither_does_another_key() {
    let mut world = world();
    let invited = world.invite(at(0));
    let token = world.join(&invited, 1, at(1)).unwrap().token;
    let holder = world.guests.authenticate(&token, &token_key(), at(2)).unwrap();
    assert_eq!(holder.as_bearer(None).unwrap_err(), AuthError::ProofRequired);
    let holder = world.guests.authenticate(&token, &token_key(), at(2)).unwrap();
    let challenge = world.proofs.challenge(Generation(1), at(2), &mut world.rng);
    let open = world
        .proofs
        .open(challenge.as_str(), Generation(1), at(2))
        .unwrap();
    let text = proof_text(challenge.as_str(), &audience(), invited.record.id);
    let shown = ShownProof {
        audience: &audience(),
        signature: &sign(key(2).as_bytes(), text.as_bytes()),
    };
    assert!(holder.prove(open, shown, check(&|_| true), &PLACE).is_err());
}

#[test]
fn a_link_is_exchanged_for_a_signature_over_this_daemon_only() {
    let mut world = world();
    let invited = world.invite(at(0));
    for (accepts, by, expected) in [
        (false, 1, JoinError::WrongAudience),
        (true, 2, JoinError::BadSignature),
    ] {
        let holder = world
            .guests
            .open(invited.record.id, &invited.secret, &token_key(), at(1))
            .unwrap();
        let challenge = world.proofs.challenge(Generation(1), at(1), &mut world.rng);
        let open = world
            .proofs
            .open(challenge.as_str(), Generation(1), at(1))
            .unwrap();
        let text = guest_text(challenge.as_str(), &audience(), invited.record.id);
        let shown = ShownProof {
            audience: &audience(),
            signature: &sign(key(by).as_bytes(), text.as_bytes()),
        };
        let proven = holder.prove(key(1), open, shown, check(&|_| accepts));
        assert_eq!(proven.unwrap_err(), expected);
    }
    assert_eq!(world.phase(invited.record.id, at(1)), GuestPhase::Invited);
}

#[test]
fn a_guest_ends_at_its_second_whatever_it_holds() {
    let mut world = world();
    let invited = world.invite(at(0));
    let token = world.join(&invited, 1, at(1)).unwrap().token;
    let guest = world.access(&token, 1, at(3599)).unwrap();
    assert_eq!(world.guests.next_expiry(), Some(at(3600)));
    assert!(world.guests.expire(at(3599)).is_empty());
    assert_eq!(
        world.access(&token, 1, at(3600)).unwrap_err(),
        AuthError::Expired,
        "also before anybody has swept"
    );
    let ended: Vec<_> = world
        .guests
        .expire(at(3600))
        .iter()
        .map(|ended| ended.record.id)
        .collect();
    assert_eq!(ended, [invited.record.id]);
    assert!(!guest.is_current());
    assert!(world.guests.expire(at(3601)).is_empty());
    assert_eq!(world.guests.next_expiry(), None);
    assert_eq!(world.access(&token, 1, at(3601)).unwrap_err(), AuthError::Expired);
    assert_eq!(world.join(&invited, 1, at(3601)).unwrap_err(), JoinError::Expired);
}

#[test]
fn who_may_end_a_guest_is_the_owner_a_device_that_may_revoke_and_the_guest() {
    let mut may = device(1);
    may.can_revoke = true;
    may.role = Role::Viewer;
    let other = Principal::Guest(GuestId::from_bytes([9; 8]));
    let inside = Principal::Session(resource(1));
    for (by, expected) in [
        (Principal::Owner, Ok(GuestEnd::Revoked)),
        (may.principal(), Ok(GuestEnd::Revoked)),
        (device(2).principal(), Err(EndGuestError::NotPermitted)),
        (other, Err(EndGuestError::NotPermitted)),
        (inside, Err(EndGuestError::NotPermitted)),
        (Principal::Nobody, Err(EndGuestError::NotPermitted)),
    ] {
        let mut world = world();
        let invited = world.invite(at(0));
        let token = world.join(&invited, 1, at(1)).unwrap().token;
        let guest = world.access(&token, 1, at(2)).unwrap();
        let ended = world.guests.end(&by, invited.record.id, at(3)).map(|_| ());
        assert_eq!(ended, expected.map(|_| ()), "{by:?}");
        assert_eq!(guest.is_current(), expected.is_err(), "{by:?}");
        if let Ok(cause) = expected {
            assert_eq!(world.phase(invited.record.id, at(3)), GuestPhase::Ended(cause));
            assert_eq!(world.access(&token, 1, at(4)).unwrap_err(), AuthError::Revoked);
            assert_eq!(
                world
                    .guests
                    .end(&Principal::Owner, invited.record.id, at(4))
                    .unwrap_err(),
                EndGuestError::UnknownGuest
            );
        }
    }
}

#[test]
fn a_guest_leaves_by_itself_and_its_link_opens_nothing_more() {
    let mut world = world();
    let invited = world.invite(at(0));
    world.join(&invited, 1, at(1)).unwrap();
    world
        .guests
        .end(&Principal::Guest(invited.record.id), invited.record.id, at(2))
        .unwrap();
    assert_eq!(
        world.phase(invited.record.id, at(2)),
        GuestPhase::Ended(GuestEnd::Left)
    );
    assert_eq!(world.join(&invited, 1, at(3)).unwrap_err(), JoinError::Ended);
}

#[test]
fn five_wrong_secrets_burn_an_invitation_and_none_ends_a_guest() {
    let mut world = world();
    let (open, used) = (world.invite(at(0)), world.invite(at(0)));
    let token = world.join(&used, 1, at(1)).unwrap().token;
    let wrong = InviteSecret::generate(&mut world.rng);
    for _ in 0..4 {
        let refused = world.guests.open(open.record.id, &wrong, &token_key(), at(2));
        assert!(refused.unwrap_err().burned.is_none());
    }
    let refused = world.guests.open(open.record.id, &wrong, &token_key(), at(2));
    let burned = refused.unwrap_err().burned.unwrap();
    assert_eq!(burned.record.ended, Some((GuestEnd::Burned, at(2))));
    for _ in 0..5 {
        for id in [open.record.id, used.record.id] {
            assert_eq!(
                world.join_with(id, &wrong, 2, at(2)).unwrap_err(),
                JoinError::Unknown
            );
        }
    }
    assert_eq!(
        world.phase(open.record.id, at(2)),
        GuestPhase::Ended(GuestEnd::Burned)
    );
    assert_eq!(world.join(&open, 2, at(3)).unwrap_err(), JoinError::Burned);
    assert!(world.access(&token, 1, at(3)).is_ok());
}

#[test]
fn everybody_ends_at_once_when_every_way_in_is_closed() {
    let mut world = world();
    let (open, used) = (world.invite(at(0)), world.invite(at(0)));
    let joined = world.join(&used, 1, at(1)).unwrap();
    assert_eq!(world.guests.end_all(at(2)).len(), 2);
    assert!(!joined.authenticated.is_current());
    assert_eq!(world.join(&open, 1, at(3)).unwrap_err(), JoinError::Ended);
}

#[test]
fn an_invitation_to_nothing_or_for_too_long_or_one_too_many_is_refused() {
    let mut world = world();
    let mut invite = |sights: Vec<Sight>, lasts| {
        let wish = Invitation {
            sights,
            login: None,
            lasts,
        };
        world
            .guests
            .invite(wish, &token_key(), at(0), &mut world.rng)
            .map(|_| ())
    };
    let one = || {
        [Sight {
            resource: resource(1),
            since: None,
        }]
        .into()
    };
    assert_eq!(invite(Vec::new(), HOUR), Err(InviteError::Nothing));
    assert_eq!(
        invite(one(), crate::GUEST + Duration::from_millis(1)),
        Err(InviteError::TooLong)
    );
    for _ in 0..crate::limits::MAX_GUESTS {
        assert_eq!(invite(one(), HOUR), Ok(()));
    }
    assert_eq!(invite(one(), HOUR), Err(InviteError::TooMany));
}

#[test]
fn of_the_ended_the_owner_is_shown_those_that_were_invited_last() {
    let mut world = world();
    let lives = world.invite(at(0)).record.id;
    let mut ended = Vec::new();
    for _ in 0..crate::limits::SHOWN_ENDED_GUESTS + 3 {
        let id = world.invite(at(0)).record.id;
        world.guests.end(&Principal::Owner, id, at(0)).unwrap();
        ended.push(id);
    }
    let shown: Vec<_> = world.guests.shown().map(|record| record.id).collect();
    assert_eq!(shown[0], lives);
    assert_eq!(shown[1..], ended[3..]);
}

#[test]
fn an_ended_guest_is_told_so_for_ninety_days() {
    const DAY: i64 = 24 * 3600;
    let mut world = world();
    let invited = world.invite(at(0));
    let token = world.join(&invited, 1, at(1)).unwrap().token;
    let ended = world.guests.end(&Principal::Owner, invited.record.id, at(2));
    assert_eq!(ended.unwrap().record.ended, Some((GuestEnd::Revoked, at(2))));
    world.invite(at(90 * DAY));
    assert_eq!(
        world.access(&token, 1, at(90 * DAY)).unwrap_err(),
        AuthError::Revoked
    );
    world.invite(at(90 * DAY + 3));
    assert_eq!(
        world.access(&token, 1, at(90 * DAY + 3)).unwrap_err(),
        AuthError::Unknown
    );
}

#[test]
fn guests_come_back_from_their_records_as_they_were() {
    let mut world = world();
    let (open, used, over) = (world.invite(at(0)), world.invite(at(0)), world.invite(at(0)));
    let token = world.join(&used, 1, at(1)).unwrap().token;
    let ended = world.join(&over, 1, at(1)).unwrap().token;
    world
        .guests
        .end(&Principal::Owner, over.record.id, at(2))
        .unwrap();
    let records: Vec<_> = world.guests.shown().cloned().collect();
    world.guests = Guests::load(records);
    let guest = world.access(&token, 1, at(3)).unwrap();
    assert_eq!(guest.permit::<View>(None).unwrap().since(&resource(1)), Some(100));
    assert_eq!(world.join(&used, 2, at(3)).unwrap_err(), JoinError::Used);
    assert_eq!(world.access(&ended, 1, at(3)).unwrap_err(), AuthError::Revoked);
    assert_eq!(world.join(&over, 1, at(3)).unwrap_err(), JoinError::Ended);
    assert!(world.join(&open, 3, at(3)).is_ok());
    assert_eq!(world.guests.next_expiry(), Some(at(3600)));
}

#[test]
fn an_end_that_was_not_stored_can_be_made_again_as_it_was() {
    let mut world = world();
    let id = world.invite(at(0)).record.id;
    let end = |world: &mut World, now| world.guests.end(&Principal::Owner, id, now);
    end(&mut world, at(1)).unwrap();
    world.guests.end_was_not_stored(id);
    let again = end(&mut world, at(2)).unwrap();
    assert_eq!(again.record.ended, Some((GuestEnd::Revoked, at(1))));
    assert_eq!(end(&mut world, at(3)).unwrap_err(), EndGuestError::UnknownGuest);
}

#[test]
fn an_invitation_that_nobody_was_told_of_leaves_nothing() {
    let mut world = world();
    let invited = world.invite(at(0));
    world.guests.withdraw(invited.record.id);
    assert!(world.guests.get(invited.record.id).is_none());
    assert_eq!(world.join(&invited, 1, at(1)).unwrap_err(), JoinError::Unknown);
}

fn user(name: &str) -> TailnetIdentity {
    TailnetIdentity {
        user_id: name.into(),
        user: name.into(),
        node_id: alloc::format!("node of {name}"),
        node: "laptop".into(),
        tags: [].into(),
    }
}

#[test]
fn a_link_for_a_login_opens_to_that_user_alone_and_so_does_what_came_of_it() {
    let mut world = world();
    let invited = world.invite_by_login(Some("alice@example.com"), at(0));
    assert_eq!(
        world.join(&invited, 1, at(1)).unwrap_err(),
        JoinError::LoginUnknown
    );
    world.who = Some(user("mallory@example.com"));
    assert_eq!(world.join(&invited, 1, at(1)).unwrap_err(), JoinError::WrongLogin);
    let refused = world.guests.get(invited.record.id).unwrap().refused.clone();
    assert_eq!(refused.unwrap().count, 2, "the owner is shown who tried");
    world.who = Some(user("Alice@example.com"));
    let token = world.join(&invited, 1, at(2)).unwrap().token;
    assert!(world.access(&token, 1, at(3)).is_ok());
    world.who = Some(user("mallory@example.com"));
    assert_eq!(world.access(&token, 1, at(4)).unwrap_err(), AuthError::WrongLogin);
    world.who = None;
    assert_eq!(
        world.access(&token, 1, at(5)).unwrap_err(),
        AuthError::LoginUnknown
    );
}

#[test]
fn the_access_token_of_a_guest_by_login_is_good_for_that_user_alone() {
    let mut world = world();
    let invited = world.invite_by_login(Some("alice@example.com"), at(0));
    world.who = Some(user("alice@example.com"));
    let token = world.join(&invited, 1, at(1)).unwrap().token;
    let holder = world.guests.authenticate(&token, &token_key(), at(2)).unwrap();
    let challenge = world.proofs.challenge(Generation(1), at(2), &mut world.rng);
    let open = world
        .proofs
        .open(challenge.as_str(), Generation(1), at(2))
        .unwrap();
    let text = proof_text(challenge.as_str(), &audience(), token.id());
    let shown = ShownProof {
        audience: &audience(),
        signature: &sign(key(1).as_bytes(), text.as_bytes()),
    };
    let place = Place {
        tailnet: world.who.as_ref(),
        ..PLACE
    };
    let proof = holder.prove(open, shown, check(&|_| true), &place).unwrap();
    let granted = world.proofs.claim(proof, at(2)).unwrap();
    let access = granted.grant(&mut world.rng).token;
    assert!(world.ask(&access, at(3)).is_ok());
    let elsewhere = TailnetIdentity {
        node_id: "another".into(),
        ..user("alice@example.com")
    };
    for (who, refused) in [
        (Some(user("mallory@example.com")), AuthError::WrongLogin),
        (None, AuthError::LoginUnknown),
        (Some(elsewhere), AuthError::AccessEnded),
    ] {
        world.who = who;
        assert_eq!(world.ask(&access, at(4)).unwrap_err(), refused);
    }
}

#[test]
fn the_way_in_by_login_is_open_to_the_invited_from_the_invitation_to_the_end() {
    let mut world = world();
    let (alice, bob) = (user("alice@example.com"), user("bob@example.com"));
    assert!(!world.guests.has_lane(&alice, at(0)));
    let invited = world.invite_by_login(Some("alice@example.com"), at(0));
    world.invite(at(0));
    assert!(world.guests.has_lane(&alice, at(0)) && !world.guests.has_lane(&bob, at(0)));
    world.who = Some(alice.clone());
    world.join(&invited, 1, at(1)).unwrap();
    assert!(world.guests.has_lane(&alice, at(3599)));
    assert!(!world.guests.has_lane(&alice, at(3600)));
    world
        .guests
        .end(&Principal::Owner, invited.record.id, at(2))
        .unwrap();
    assert!(!world.guests.has_lane(&alice, at(2)));
}

#[test]
fn devices_alone_admit_no_guest() {
    let mut world = world();
    let invited = world.invite(at(0));
    let holder = KeyHolder::Guest(invited.record.id);
    let admitted = Holders::admit(&Devices::new(HOUR), holder, None, at(0));
    assert_eq!(admitted, Err(AuthError::Unknown));
}
