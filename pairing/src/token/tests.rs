use super::{DeviceToken, MalformedToken, RequestSecret, Token, TokenHash, TokenKind};
use crate::testing::SeededRng;
use crate::{DeviceId, Fault, GuestId, OfferSecret, RequestId, TokenKey};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use proptest::prelude::{ProptestConfig, any};
use sha2::{Digest, Sha256};
use zeroize::ZeroizeOnDrop;

fn token() -> DeviceToken {
    DeviceToken::generate(
        DeviceId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8]),
        &mut SeededRng::new(9),
    )
}

/// The wire form of this body under this prefix, whatever it holds.
fn wire(prefix: &str, body: &[u8]) -> String {
    format!("{prefix}{}", bs58::encode(body).into_string())
}

/// A body as the contract has it: id, secret, and four bytes of a double SHA-256 over kind, id and secret.
fn body(kind: &str, id: [u8; 8], secret: [u8; 32]) -> Vec<u8> {
    let content = [id.as_slice(), &secret].concat();
    let sum = Sha256::digest(Sha256::digest([kind.as_bytes(), &content].concat()));
    [content.as_slice(), &sum[..4]].concat()
}

#[test]
fn a_token_reads_what_it_wrote() {
    let text = token().reveal();
    assert!(text.starts_with("tsm_dev_"));
    let read = DeviceToken::parse(&text).unwrap();
    assert_eq!((read.id(), read.secret), (token().id(), token().secret));
}

#[test]
fn the_wire_form_is_that_of_an_independent_writer() {
    let text = wire("tsm_req_", &body("req", [9; 8], [7; 32]));
    let read = RequestSecret::parse(&text).unwrap();
    assert_eq!(read.id(), RequestId::from_bytes([9; 8]));
    assert_eq!(read.reveal().as_str(), text);
}

#[test]
fn a_token_of_another_kind_is_refused() {
    let text = token().reveal();
    assert_eq!(RequestSecret::parse(&text).unwrap_err(), MalformedToken::Kind);
    assert_eq!(Token::<GuestId>::parse(&text).unwrap_err(), MalformedToken::Kind);
}

#[test]
fn a_token_renamed_to_another_kind_fails_its_checksum() {
    let renamed = token().reveal().replace("tsm_dev_", "tsm_req_");
    assert_eq!(
        RequestSecret::parse(&renamed).unwrap_err(),
        MalformedToken::Checksum
    );
}

#[test]
fn every_single_changed_character_is_noticed() {
    let text = token().reveal();
    for at in 8..text.len() {
        let other = if &text[at..=at] == "x" { "y" } else { "x" };
        let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert!(DeviceToken::parse(&changed).is_err(), "{at}");
    }
}

#[test]
fn cut_off_long_and_foreign_bodies_are_refused() {
    let text = token().reveal();
    let body = body("dev", [1; 8], [2; 32]);
    for bad in [
        "tsm_dev_".to_string(),
        text[..text.len() - 1].into(),
        format!("{}1", *text),
        format!("{}0", &text[..text.len() - 1]),
        format!("{}é", *text),
        wire("tsm_dev_", &body[..43]),
        wire("tsm_dev_", &[body.as_slice(), &[0]].concat()),
        format!("tsm_dev_{}", "z".repeat(100_000)),
    ] {
        assert!(matches!(
            DeviceToken::parse(&bad),
            Err(MalformedToken::Body | MalformedToken::Checksum)
        ));
    }
}

#[test]
fn an_id_and_secret_of_zeros_survive_base58() {
    let text = wire("tsm_dev_", &body("dev", [0; 8], [0; 32]));
    let read = DeviceToken::parse(&text).unwrap();
    assert_eq!(read.id(), DeviceId::from_bytes([0; 8]));
    assert_eq!(read.reveal().as_str(), text);
}

#[test]
fn the_prefix_tells_the_kind() {
    assert_eq!(TokenKind::of("tsm_dev_x"), Some(TokenKind::Device));
    assert_eq!(TokenKind::of("tsm_gst_x"), Some(TokenKind::Guest));
    assert_eq!(TokenKind::of("tsm_acc_x"), Some(TokenKind::Access));
    assert_eq!(TokenKind::of("tsm_req_"), Some(TokenKind::Request));
    for other in ["", "tsm_", "tsm_dev", "tsm_ofr_x", "TSM_dev_x", "dev_x"] {
        assert_eq!(TokenKind::of(other), None, "{other}");
    }
}

#[test]
fn the_hash_is_an_hmac_over_domain_id_and_secret() {
    let key = TokenKey::from_bytes([3; 32]);
    let token = token();
    let whole = [
        b"transom/dev/v1".as_slice(),
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &token.secret,
    ]
    .concat();
    assert_eq!(token.hash(&key).as_bytes(), &key.hmac(&[&whole]));
}

#[test]
fn hashes_of_other_keys_ids_secrets_and_kinds_do_not_match() {
    let (key, id, rng) = (
        TokenKey::from_bytes([3; 32]),
        DeviceId::from_bytes([1; 8]),
        SeededRng::new,
    );
    let hash = DeviceToken::generate(id, &mut rng(1)).hash(&key);
    let other_id = DeviceId::from_bytes([2; 8]);
    assert!(hash.matches(&DeviceToken::generate(id, &mut rng(1)).hash(&key)));
    assert!(!hash.matches(&DeviceToken::generate(id, &mut rng(1)).hash(&TokenKey::from_bytes([4; 32]))));
    assert!(!hash.matches(&DeviceToken::generate(other_id, &mut rng(1)).hash(&key)));
    assert!(!hash.matches(&DeviceToken::generate(id, &mut rng(2)).hash(&key)));
    assert!(!hash.matches(&RequestSecret::generate(RequestId::from_bytes([1; 8]), &mut rng(1)).hash(&key)));
}

#[test]
fn a_hash_goes_to_a_store_and_back() {
    let hash = token().hash(&TokenKey::from_bytes([3; 32]));
    assert!(TokenHash::from_bytes(*hash.as_bytes()).matches(&hash));
}

#[test]
fn debug_shows_the_id_and_nothing_of_the_secret() {
    assert_eq!(
        format!("{:?}", token()),
        "Token(dev_0102030405060708, [redacted])"
    );
    assert_eq!(
        format!("{:?}", token().hash(&TokenKey::from_bytes([3; 32]))),
        "TokenHash([redacted])"
    );
}

#[test]
fn a_malformed_token_is_named_without_being_quoted() {
    let error = DeviceToken::parse("tsm_dev_hunter2").unwrap_err();
    assert_eq!(
        (error.code(), error.fault()),
        ("malformed_token", Fault::Credential)
    );
    assert!(!error.to_string().contains("hunter2"));
}

#[test]
fn secrets_are_erased_when_dropped() {
    fn is_erased<T: ZeroizeOnDrop>() {}
    is_erased::<DeviceToken>();
    is_erased::<RequestSecret>();
    is_erased::<OfferSecret>();
    is_erased::<TokenKey>();
}

/// Compiles only if the type lacks the trait: with it there are two `probe`s, and the call is ambiguous.
macro_rules! lacks {
    ($type:ty: $($bound:path)*) => {$({
        trait Probe<A> {
            fn probe() {}
        }
        impl<T: ?Sized> Probe<()> for T {}
        struct WithBound;
        impl<T: ?Sized + $bound> Probe<WithBound> for T {}
        <$type as Probe<_>>::probe();
    })*};
}

#[test]
fn secrets_cannot_be_printed_serialised_copied_or_compared() {
    lacks!(DeviceToken: Display serde::Serialize Clone PartialEq);
    lacks!(RequestSecret: Display serde::Serialize Clone PartialEq);
    lacks!(OfferSecret: Display serde::Serialize Clone PartialEq);
    lacks!(TokenKey: Display serde::Serialize Clone PartialEq);
    lacks!(TokenHash: Display serde::Serialize PartialEq);
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_token_survives_the_wire(id in any::<[u8; 8]>(), secret in any::<[u8; 32]>()) {
        let token = DeviceToken { id: DeviceId::from_bytes(id), secret };
        let read = DeviceToken::parse(&token.reveal()).unwrap();
        assert_eq!((read.id(), read.secret), (token.id(), secret));
    }

    #[test]
    fn no_text_whatsoever_makes_parsing_panic(text in "(tsm_dev_)?.{0,70}") {
        let _ = DeviceToken::parse(&text);
    }
}
