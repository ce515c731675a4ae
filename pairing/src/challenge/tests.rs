use super::{Challenge, Generation, LENGTH, Nonce, OpenChallenge, Spent};
use crate::error::ChallengeError;
use crate::limits::SPENT_PER_DEVICE;
use crate::testing::{SeededRng, at, token_key};
use crate::{DeviceId, KeyHolder, TokenKey, UnixMillis};
use alloc::format;
use alloc::string::String;
use base64ct::{Base64UrlUnpadded, Encoding};
use core::time::Duration;

const ONE: Generation = Generation(1);

fn made(ends: UnixMillis) -> Challenge {
    Challenge::issue(&token_key(), ONE, ends, &mut SeededRng::new(1))
}

fn read(text: &str, now: UnixMillis) -> Result<OpenChallenge, ChallengeError> {
    OpenChallenge::read(text, &token_key(), ONE, now)
}

#[test]
fn a_challenge_can_be_proven_until_its_end() {
    let challenge = made(at(60));
    assert_eq!(challenge.as_str().len(), 75);
    assert!(read(challenge.as_str(), at(0)).is_ok());
    assert!(read(challenge.as_str(), at(59)).is_ok());
    assert_eq!(
        read(challenge.as_str(), at(60)).unwrap_err(),
        ChallengeError::Expired
    );
}

#[test]
fn another_generation_and_another_run_of_the_daemon_know_nothing_of_it() {
    let challenge = made(at(60));
    let two = OpenChallenge::read(challenge.as_str(), &token_key(), Generation(2), at(0));
    assert_eq!(two.unwrap_err(), ChallengeError::Foreign);
    let other = OpenChallenge::read(challenge.as_str(), &TokenKey::from_bytes([1; 32]), ONE, at(0));
    assert_eq!(other.unwrap_err(), ChallengeError::Foreign);
}

#[test]
fn a_challenge_that_was_changed_anywhere_is_foreign() {
    let challenge = made(at(60));
    let mut bytes = [0; LENGTH];
    Base64UrlUnpadded::decode(challenge.as_str(), &mut bytes).unwrap();
    for at_byte in 0..LENGTH {
        let mut changed = bytes;
        changed[at_byte] ^= 1;
        let text = Base64UrlUnpadded::encode_string(&changed);
        assert_eq!(
            read(&text, at(0)).unwrap_err(),
            ChallengeError::Foreign,
            "{at_byte}"
        );
    }
    let text = challenge.as_str();
    for text in [
        "",
        &text[1..],
        &format!("{text}A"),
        &format!("{text}="),
        "nonsense",
    ] {
        assert_eq!(read(text, at(0)).unwrap_err(), ChallengeError::Foreign, "{text}");
    }
}

fn id(n: u8) -> KeyHolder {
    DeviceId::from_bytes([n; 8]).into()
}

fn open(nonce: Nonce, ends: UnixMillis) -> OpenChallenge {
    OpenChallenge {
        text: String::new(),
        nonce,
        ends,
        generation: ONE,
    }
}

fn use_up(
    spent: &mut Spent,
    holder: KeyHolder,
    challenge: &OpenChallenge,
    now: UnixMillis,
) -> Result<(), ChallengeError> {
    spent.check(holder, challenge, now)?;
    spent.spend(holder, challenge);
    Ok(())
}

#[test]
fn a_used_challenge_is_used_for_every_device_until_it_is_over() {
    let mut spent = Spent::default();
    assert_eq!(use_up(&mut spent, id(1), &open([7; 16], at(60)), at(0)), Ok(()));
    for device in [id(1), id(2)] {
        assert_eq!(
            use_up(&mut spent, device, &open([7; 16], at(60)), at(1)),
            Err(ChallengeError::Used)
        );
    }
    spent.sweep(at(59));
    assert_eq!(spent.len(), 1);
    spent.sweep(at(60));
    assert_eq!(spent.len(), 0);
}

#[test]
fn a_device_that_proves_without_end_waits_alone_and_until_the_first_is_over() {
    let mut spent = Spent::default();
    let nonce = |n: usize| (n as u128).to_be_bytes();
    for n in 0..SPENT_PER_DEVICE {
        assert_eq!(use_up(&mut spent, id(1), &open(nonce(n), at(60)), at(0)), Ok(()));
    }
    let refused = use_up(&mut spent, id(1), &open(nonce(SPENT_PER_DEVICE), at(90)), at(20));
    let retry_after = Duration::from_secs(40);
    assert_eq!(refused, Err(ChallengeError::TooMany { retry_after }));
    assert_eq!(
        use_up(&mut spent, id(2), &open(nonce(SPENT_PER_DEVICE), at(90)), at(20)),
        Ok(())
    );
    assert_eq!(
        use_up(
            &mut spent,
            id(1),
            &open(nonce(SPENT_PER_DEVICE + 1), at(90)),
            at(60)
        ),
        Ok(())
    );
}
