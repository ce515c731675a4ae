use super::{CODES, CodeInput, MalformedCode, PairingCode, UNIFORM};
use crate::testing::key;
use crate::{Fault, RequestId};
use alloc::string::ToString;
use proptest::prelude::{ProptestConfig, any};
use sha2::{Digest, Sha256};

const PIN: &str = "sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

fn code(request: u8, key_byte: u8, device: u8, server: u8, pin: &str) -> PairingCode {
    PairingCode::compute(&CodeInput {
        request_id: RequestId::from_bytes([request; 8]),
        public_key: &key(key_byte),
        device_nonce: &[device; 32],
        server_nonce: &[server; 32],
        pin,
    })
}

#[test]
fn a_code_is_six_digits_with_leading_zeros() {
    assert_eq!(PairingCode(27).to_string(), "000027");
    assert_eq!(PairingCode(27).grouped(), "000-027");
    assert_eq!(PairingCode(493_027).to_string(), "493027");
    assert_eq!(PairingCode(493_027).grouped(), "493-027");
}

#[test]
fn plain_and_grouped_digits_are_read() {
    assert_eq!("493027".parse(), Ok(PairingCode(493_027)));
    assert_eq!("493-027".parse(), Ok(PairingCode(493_027)));
    assert_eq!("000000".parse(), Ok(PairingCode(0)));
}

#[test]
fn other_texts_are_no_code() {
    for text in [
        "",
        "49302",
        "4930270",
        "4930-27",
        "49-3027",
        "493--27",
        "+93027",
        "493 027",
        "49302a",
        "٤٩٣٠٢٧",
    ] {
        assert_eq!(text.parse::<PairingCode>(), Err(MalformedCode), "{text}");
    }
    assert_eq!(
        (MalformedCode.code(), MalformedCode.fault()),
        ("malformed_code", Fault::Malformed)
    );
}

#[test]
fn the_code_is_that_of_an_independent_writer() {
    let key = key(2);
    let whole = [
        b"transom-code-v1req_0101010101010101",
        key.as_bytes().as_slice(),
        &[3; 32],
        &[4; 32],
        PIN.as_bytes(),
    ];
    let digest = Sha256::digest(whole.concat());
    let word = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    assert!(word < UNIFORM, "this input needs no second word");
    assert_eq!(code(1, 2, 3, 4, PIN), PairingCode(word % 1_000_000));
}

#[test]
fn the_code_is_pinned_for_the_other_implementations() {
    assert_eq!(code(1, 2, 3, 4, PIN).to_string(), "710355");
}

#[test]
fn every_part_of_the_input_changes_the_code() {
    let code_of = code(1, 2, 3, 4, PIN);
    assert_eq!(code_of, code(1, 2, 3, 4, PIN));
    assert_ne!(code_of, code(9, 2, 3, 4, PIN));
    assert_ne!(code_of, code(1, 9, 3, 4, PIN));
    assert_ne!(code_of, code(1, 2, 9, 4, PIN));
    assert_ne!(code_of, code(1, 2, 3, 9, PIN));
    assert_ne!(code_of, code(1, 2, 3, 4, "sha256/other"));
}

#[test]
fn words_that_would_favour_low_codes_are_skipped() {
    let mut digest = [0xff; 32];
    assert_eq!(PairingCode::from_digest(&digest), None);
    digest[28..].copy_from_slice(&1_234_567_u32.to_be_bytes());
    assert_eq!(PairingCode::from_digest(&digest), Some(PairingCode(234_567)));
    digest[..4].copy_from_slice(&UNIFORM.to_be_bytes());
    assert_eq!(PairingCode::from_digest(&digest), Some(PairingCode(234_567)));
    digest[..4].copy_from_slice(&(UNIFORM - 1).to_be_bytes());
    assert_eq!(PairingCode::from_digest(&digest), Some(PairingCode(999_999)));
}

#[test]
fn every_code_stands_for_equally_many_words() {
    const { assert!(UNIFORM.is_multiple_of(CODES)) };
    const { assert!(u32::MAX - UNIFORM < CODES) };
}

proptest::proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_code_is_read_as_it_is_written(number in 0..CODES) {
        let code = PairingCode(number);
        assert_eq!(code.to_string().parse(), Ok(code));
        assert_eq!(code.grouped().parse(), Ok(code));
    }

    #[test]
    fn every_digest_gives_a_code_of_six_digits(digest in any::<[u8; 32]>()) {
        if let Some(code) = PairingCode::from_digest(&digest) {
            assert_eq!(code.to_string().len(), 6);
        }
    }

    #[test]
    fn no_text_whatsoever_makes_parsing_panic(text in ".{0,10}") {
        let _ = text.parse::<PairingCode>();
    }
}
