mod model;

use super::{Devices, SEEN_EVERY};
use crate::marker::{View, Write};
use crate::testing::{SeededRng, at, device, token, token_key};
use crate::{
    AuthError, Authenticated, Device, DeviceId, DeviceToken, EndCause, Fault, PrefixError, Principal,
    RevokeError, Role,
};
use crate::{TokenKey, Tombstone, UnixMillis, UnknownDevice};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

const IDLE: Duration = Duration::from_secs(90 * 86_400);
const DAY: i64 = 86_400;

fn id(n: u8) -> DeviceId {
    DeviceId::from_bytes([n; 8])
}

fn with(devices: impl IntoIterator<Item = Device>) -> Devices {
    Devices::load(devices, [], IDLE)
}

fn revoker(n: u8) -> Device {
    Device {
        can_revoke: true,
        ..device(n)
    }
}

fn authenticate(devices: &Devices, n: u8, now: UnixMillis) -> Result<Principal, AuthError> {
    whole(devices, n, now).map(|who| who.principal().clone())
}

/// As whom a proof of the device's key would authenticate.
fn whole(devices: &Devices, n: u8, now: UnixMillis) -> Result<Authenticated, AuthError> {
    let holder = devices.authenticate(&token(n), &token_key(), now)?;
    Ok(holder.authenticated)
}

#[test]
fn a_device_is_known_by_its_token() {
    let devices = with([device(1), device(2)]);
    assert_eq!(authenticate(&devices, 1, at(0)), Ok(device(1).principal()));
    assert_eq!(authenticate(&devices, 2, at(0)), Ok(device(2).principal()));
}

#[test]
fn what_was_authenticated_ends_for_all_and_their_trust_stays() {
    let mut devices = with([device(1), device(2)]);
    let before = whole(&devices, 1, at(0)).unwrap();
    let standings = devices.end_authentications();
    assert_eq!(standings.len(), 2);
    assert!(!before.is_current() && standings.iter().all(|standing| standing.is_quiet()));
    let after = whole(&devices, 1, at(0)).unwrap();
    assert!(after.is_current());
}

#[test]
fn an_unknown_id_a_wrong_secret_and_another_key_answer_alike() {
    let devices = with([device(1)]);
    let guess = DeviceToken::generate(id(1), &mut SeededRng::new(99));
    assert_eq!(
        devices.authenticate(&guess, &token_key(), at(0)).unwrap_err(),
        AuthError::Unknown
    );
    assert_eq!(authenticate(&devices, 3, at(0)), Err(AuthError::Unknown));
    let other_key = TokenKey::from_bytes([1; 32]);
    assert_eq!(
        devices.authenticate(&token(1), &other_key, at(0)).unwrap_err(),
        AuthError::Unknown
    );
}

#[test]
fn a_token_named_after_another_device_opens_neither() {
    let mut stranger = device(1);
    stranger.token_hash = token(2).hash(&token_key());
    assert_eq!(authenticate(&with([stranger]), 1, at(0)), Err(AuthError::Unknown));
}

#[test]
fn a_revoked_device_is_told_so_and_others_live_on() {
    let mut devices = with([device(1), device(2)]);
    let revoked = devices.revoke(&Principal::Owner, id(1), at(5)).unwrap();
    assert_eq!(
        (
            revoked.device.id,
            revoked.tombstone.cause,
            revoked.tombstone.ended
        ),
        (id(1), EndCause::Revoked, at(5))
    );
    assert_eq!(authenticate(&devices, 1, at(6)), Err(AuthError::Revoked));
    assert_eq!(authenticate(&devices, 2, at(6)), Ok(device(2).principal()));
    assert!(devices.get(id(1)).is_none());
}

#[test]
fn only_who_knows_the_secret_is_told_that_it_was_revoked() {
    let mut devices = with([device(1)]);
    devices.revoke(&Principal::Owner, id(1), at(5)).unwrap();
    let guess = DeviceToken::generate(id(1), &mut SeededRng::new(99));
    assert_eq!(
        devices.authenticate(&guess, &token_key(), at(6)).unwrap_err(),
        AuthError::Unknown
    );
}

#[test]
fn a_revocation_ends_every_permit_of_the_device_and_no_other() {
    let mut devices = with([
        Device {
            role: Role::Operator,
            ..device(1)
        },
        device(2),
    ]);
    let one = whole(&devices, 1, at(0)).unwrap();
    let permit = one.permit::<Write>(None).unwrap();
    let other = whole(&devices, 2, at(0)).unwrap().permit::<View>(None).unwrap();
    let hold = permit.hold().unwrap();
    let revoked = devices.revoke(&Principal::Owner, id(1), at(1)).unwrap();
    assert!(!permit.is_current() && permit.hold().is_none() && other.is_current());
    assert!(!revoked.standing.is_quiet());
    drop(hold);
    assert!(revoked.standing.is_quiet());
}

#[test]
fn a_revoked_device_does_not_come_back_by_being_added_or_loaded() {
    let mut devices = with([device(1)]);
    let tombstone = devices.revoke(&Principal::Owner, id(1), at(5)).unwrap().tombstone;
    assert!(!devices.add(device(1)));
    assert_eq!(authenticate(&devices, 1, at(6)), Err(AuthError::Revoked));
    let reloaded = Devices::load([device(1)], [tombstone], IDLE);
    assert_eq!(authenticate(&reloaded, 1, at(6)), Err(AuthError::Revoked));
}

#[test]
fn adding_a_device_twice_keeps_the_first() {
    let mut devices = with([]);
    assert!(devices.add(device(1)));
    let before = whole(&devices, 1, at(0)).unwrap();
    assert!(!devices.add(device(1)));
    devices.revoke(&Principal::Owner, id(1), at(1)).unwrap();
    assert!(!before.is_current());
}

#[test]
fn revoking_what_is_not_there_says_so() {
    let mut devices = with([device(1)]);
    assert_eq!(
        devices.revoke(&Principal::Owner, id(9), at(0)).unwrap_err(),
        RevokeError::UnknownDevice
    );
    devices.revoke(&Principal::Owner, id(1), at(0)).unwrap();
    assert_eq!(
        devices.revoke(&Principal::Owner, id(1), at(0)).unwrap_err(),
        RevokeError::UnknownDevice
    );
}

#[test]
fn can_revoke_ends_itself_and_devices_that_lack_it() {
    let by = revoker(1).principal();
    let devices = with([revoker(1), revoker(2), device(3)]);
    assert_eq!(devices.may_revoke(&by, id(1)), Ok(()));
    assert_eq!(devices.may_revoke(&by, id(3)), Ok(()));
    assert_eq!(devices.may_revoke(&by, id(2)), Err(RevokeError::NotPermitted));
    assert_eq!(devices.may_revoke(&by, id(9)), Err(RevokeError::UnknownDevice));
    assert_eq!(devices.may_revoke(&Principal::Owner, id(2)), Ok(()));
}

#[test]
fn a_device_without_the_grant_ends_only_itself_and_learns_of_no_other() {
    let by = Device {
        role: Role::Operator,
        ..device(1)
    }
    .principal();
    let devices = with([device(1), device(2)]);
    assert_eq!(devices.may_revoke(&by, id(1)), Ok(()));
    assert_eq!(devices.may_revoke(&by, id(2)), Err(RevokeError::NotPermitted));
    assert_eq!(devices.may_revoke(&by, id(9)), Err(RevokeError::NotPermitted));
}

#[test]
fn sessions_guests_and_nobody_end_no_device() {
    let devices = with([device(1)]);
    let session = Principal::Session("ses_1".parse().unwrap());
    let guest = Principal::Guest(crate::GuestId::from_bytes([1; 8]));
    for by in [session, guest, Principal::Nobody] {
        assert_eq!(devices.may_revoke(&by, id(1)), Err(RevokeError::NotPermitted));
    }
}

#[test]
fn a_refused_revocation_changes_nothing() {
    let mut devices = with([revoker(1), revoker(2)]);
    let held = whole(&devices, 2, at(0)).unwrap();
    assert!(devices.revoke(&revoker(1).principal(), id(2), at(1)).is_err());
    assert!(held.is_current());
}

#[test]
fn an_expired_device_is_told_so_before_and_after_it_was_cleared_away() {
    let mut devices = with([Device {
        expires_at: Some(at(10)),
        ..device(1)
    }]);
    assert!(authenticate(&devices, 1, at(9)).is_ok());
    assert_eq!(authenticate(&devices, 1, at(10)), Err(AuthError::Expired));
    let over = devices.expire(at(10));
    assert_eq!(
        over.iter().map(|over| over.tombstone.cause).collect::<Vec<_>>(),
        [EndCause::Expired]
    );
    assert_eq!(authenticate(&devices, 1, at(11)), Err(AuthError::Expired));
}

#[test]
fn expiry_ends_what_is_over_and_nothing_else() {
    let mut devices = with([
        Device {
            expires_at: Some(at(10)),
            ..device(1)
        },
        device(2),
    ]);
    let one = whole(&devices, 1, at(0)).unwrap();
    assert_eq!(devices.next_expiry(), Some(at(10)));
    assert!(devices.expire(at(9)).is_empty());
    assert!(one.is_current());
    assert_eq!(devices.expire(at(10)).len(), 1);
    assert!(!one.is_current());
    assert_eq!(devices.next_expiry(), Some(at(0).plus(IDLE)));
}

#[test]
fn a_device_not_seen_for_ninety_days_expires_and_one_that_is_seen_does_not() {
    let mut devices = with([device(1)]);
    devices.touch(id(1), "10.0.0.1", at(50 * DAY));
    assert!(authenticate(&devices, 1, at(139 * DAY)).is_ok());
    assert_eq!(authenticate(&devices, 1, at(140 * DAY)), Err(AuthError::Expired));
}

#[test]
fn being_seen_is_worth_a_row_once_a_minute() {
    let mut devices = with([device(1)]);
    let seen = devices.touch(id(1), "10.0.0.1", at(0)).unwrap();
    assert_eq!(
        (seen.last_seen, seen.last_address.as_deref()),
        (Some(at(0)), Some("10.0.0.1"))
    );
    assert!(devices.touch(id(1), "10.0.0.2", at(59)).is_none());
    let seen = devices.touch(id(1), "10.0.0.2", at(0).plus(SEEN_EVERY)).unwrap();
    assert_eq!(seen.last_address.as_deref(), Some("10.0.0.2"));
    assert!(devices.touch(id(9), "10.0.0.2", at(0)).is_none());
    let set_back = devices.touch(id(1), "10.0.0.3", at(-3_600)).unwrap();
    assert_eq!(
        set_back.last_seen,
        Some(at(-3_600)),
        "it does not wait for a clock"
    );
    let mut short = Devices::load([device(1)], [], Duration::from_secs(40));
    short.touch(id(1), "10.0.0.1", at(0)).unwrap();
    assert!(short.touch(id(1), "10.0.0.1", at(9)).is_none());
    assert!(
        short.touch(id(1), "10.0.0.1", at(10)).is_some(),
        "it must not end in use"
    );
}

#[test]
fn a_tombstone_speaks_for_ninety_days_and_is_then_forgotten() {
    let mut devices = with([device(1)]);
    devices.revoke(&Principal::Owner, id(1), at(0)).unwrap();
    assert_eq!(authenticate(&devices, 1, at(90 * DAY)), Err(AuthError::Revoked));
    assert_eq!(
        authenticate(&devices, 1, at(90 * DAY + 1)),
        Err(AuthError::Unknown)
    );
    assert!(devices.forget_old(at(90 * DAY)).is_empty());
    assert_eq!(devices.forget_old(at(90 * DAY + 1)), [id(1)]);
    assert!(devices.forget_old(at(90 * DAY + 1)).is_empty());
}

#[test]
fn a_new_role_ends_former_authentications_and_holds_from_then_on() {
    let mut devices = with([Device {
        role: Role::Operator,
        ..device(1)
    }]);
    let before = whole(&devices, 1, at(0)).unwrap();
    assert_eq!(devices.set_role(id(1), Role::Viewer).unwrap().role, Role::Viewer);
    assert!(!before.is_current());
    let after = devices.renew(id(1), at(1)).unwrap();
    assert!(after.permit::<View>(None).is_ok());
    assert!(after.permit::<Write>(None).is_err());
}

#[test]
fn the_same_role_again_ends_nothing() {
    let mut devices = with([device(1)]);
    let before = whole(&devices, 1, at(0)).unwrap();
    devices.set_role(id(1), Role::Viewer).unwrap();
    assert!(before.is_current());
    assert_eq!(devices.set_role(id(9), Role::Viewer).unwrap_err(), UnknownDevice);
}

#[test]
fn a_renewal_says_why_there_is_none() {
    let mut devices = with([
        device(1),
        Device {
            expires_at: Some(at(10)),
            ..device(2)
        },
    ]);
    assert!(devices.renew(id(1), at(0)).is_ok());
    assert_eq!(devices.renew(id(9), at(0)).unwrap_err(), AuthError::Unknown);
    devices.revoke(&Principal::Owner, id(1), at(1)).unwrap();
    assert_eq!(devices.renew(id(1), at(2)).unwrap_err(), AuthError::Revoked);
    assert_eq!(devices.renew(id(2), at(10)).unwrap_err(), AuthError::Expired);
    devices.expire(at(10));
    assert_eq!(devices.renew(id(2), at(10)).unwrap_err(), AuthError::Expired);
}

#[test]
fn a_new_name_changes_the_name_alone() {
    let mut devices = with([device(1)]);
    let held = whole(&devices, 1, at(0)).unwrap();
    let renamed = devices.rename(id(1), "tablet".parse().unwrap()).unwrap();
    assert_eq!(renamed.label.to_string(), "tablet");
    assert!(held.is_current());
    assert_eq!(
        devices.rename(id(9), "x".parse().unwrap()).unwrap_err(),
        UnknownDevice
    );
}

#[test]
fn a_unique_beginning_of_an_id_finds_its_device() {
    let devices = with([device(0x11), device(0x22)]);
    assert_eq!(devices.find("1"), Ok(id(0x11)));
    assert_eq!(devices.find("dev_22"), Ok(id(0x22)));
    assert_eq!(devices.find(&id(0x22).to_string()), Ok(id(0x22)));
}

#[test]
fn an_unclear_or_unknown_beginning_finds_none() {
    let (one, two) = (
        DeviceId::from_bytes([1, 0, 0, 0, 0, 0, 0, 1]),
        DeviceId::from_bytes([1, 0, 0, 0, 0, 0, 0, 2]),
    );
    let devices = with([Device { id: one, ..device(1) }, Device { id: two, ..device(2) }]);
    assert_eq!(devices.find("01"), Err(PrefixError::Ambiguous(vec![one, two])));
    for prefix in ["", "dev_", "f", "req_01"] {
        assert_eq!(devices.find(prefix), Err(PrefixError::NoMatch), "{prefix}");
    }
}

#[test]
fn the_list_has_every_living_device() {
    let mut devices = with([device(2), device(1), device(3)]);
    devices.revoke(&Principal::Owner, id(2), at(0)).unwrap();
    assert_eq!(
        devices.iter().map(|device| device.id).collect::<Vec<_>>(),
        [id(1), id(3)]
    );
}

#[test]
fn errors_have_stable_codes_and_say_who_is_at_fault() {
    assert_eq!(AuthError::Unknown.code(), "unknown_token");
    assert_eq!(
        (AuthError::Revoked.code(), AuthError::Expired.code()),
        ("revoked", "expired")
    );
    assert_eq!(AuthError::Revoked.fault(), Fault::Credential);
    assert_eq!(
        (
            RevokeError::NotPermitted.code(),
            RevokeError::NotPermitted.fault()
        ),
        ("not_permitted", Fault::Permission)
    );
    assert_eq!(
        (
            RevokeError::UnknownDevice.code(),
            RevokeError::UnknownDevice.fault()
        ),
        ("unknown_device", Fault::Unknown)
    );
    assert_eq!(
        (UnknownDevice.code(), UnknownDevice.fault()),
        ("unknown_device", Fault::Unknown)
    );
    let ambiguous = PrefixError::Ambiguous(vec![id(1), id(2)]);
    assert_eq!(
        (ambiguous.code(), ambiguous.fault()),
        ("ambiguous_device", Fault::Malformed)
    );
    assert_eq!(
        (PrefixError::NoMatch.code(), PrefixError::NoMatch.fault()),
        ("unknown_device", Fault::Unknown)
    );
    assert_eq!(ambiguous.to_string(), "2 devices' ids begin so");
}

#[test]
fn a_store_with_a_tombstone_alone_still_tells_its_token() {
    let tombstone = Tombstone {
        id: id(1),
        token_hash: token(1).hash(&token_key()),
        cause: EndCause::Expired,
        ended: at(0),
    };
    let devices = Devices::load([], [tombstone], IDLE);
    assert_eq!(authenticate(&devices, 1, at(1)), Err(AuthError::Expired));
}

#[test]
fn an_end_that_was_not_stored_is_made_again_as_it_was_and_by_whoever_might_make_it_first() {
    let mut devices = with([device(1), revoker(2), revoker(3)]);
    let first = devices.revoke(&Principal::Owner, id(3), at(1)).unwrap();
    devices.end_was_not_stored(first);
    for weak in [device(1).principal(), revoker(2).principal()] {
        let refused = devices.revoke(&weak, id(3), at(2)).unwrap_err();
        assert_eq!(refused, RevokeError::NotPermitted);
    }
    let again = devices.revoke(&Principal::Owner, id(3), at(2)).unwrap();
    assert_eq!(
        (again.tombstone.cause, again.tombstone.ended),
        (EndCause::Revoked, at(1))
    );
    assert_eq!(
        devices.revoke(&Principal::Owner, id(3), at(3)).unwrap_err(),
        RevokeError::UnknownDevice
    );
    devices.end_was_not_stored(again);
    assert_eq!(authenticate(&devices, 3, at(4)), Err(AuthError::Revoked));
    assert_eq!(devices.take_unstored().len(), 1);
    assert!(devices.take_unstored().is_empty());
}
