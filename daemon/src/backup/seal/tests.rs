use std::io::{Cursor, Read, Write};

use base64ct::{Base64, Encoding};
use zeroize::ZeroizeOnDrop;

use super::{FileKey, Passphrase, Sealing, Source, TAG};
use crate::backup::BackupError;

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.to_owned().into()).unwrap()
}

/// Sealed with so little work that it takes no time.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut sealing = Sealing::Encrypted(Box::new(
        Sealing::encrypted(&passphrase("a"), 4, &mut file).unwrap(),
    ));
    sealing.write_all(bytes).unwrap();
    sealing.finish().unwrap();
    file
}

fn opened(file: &[u8], secret: &str) -> Result<Vec<u8>, BackupError> {
    let source = Source::open(Box::new(Cursor::new(file.to_vec())))?;
    assert!(source.is_encrypted());
    let mut bytes = Vec::new();
    let read = source.unseal(Some(&passphrase(secret)))?.read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(super::unread)
}

#[test]
fn what_was_sealed_is_opened_whatever_its_length() {
    const CHUNK: usize = 64 << 10;
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7] {
        let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let file = sealed(&bytes);
        assert!(opened(&file, "a").unwrap() == bytes, "{length}");
        assert!(matches!(opened(&file, "b"), Err(BackupError::WrongPassphrase)));
    }
}

#[test]
fn no_bit_of_it_can_be_another_and_no_byte_can_be_missing_or_too_many() {
    let file = sealed(b"what is in it");
    for at in 22..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 4;
        assert!(opened(&changed, "a").is_err(), "byte {at}");
        assert!(opened(&file[..at], "a").is_err(), "cut off at {at}");
    }
    assert!(opened(&[&file[..], b"x"].concat(), "a").is_err());
}

#[test]
fn passphrase_and_file_key_are_wiped_when_they_are_dropped() {
    fn is_wiped(_: &impl ZeroizeOnDrop) {}
    is_wiped(&passphrase("a").0);
    is_wiped(&FileKey::random().unwrap().0);
}

#[test]
fn chunks_can_be_neither_left_out_nor_exchanged() {
    const SEALED: usize = (64 << 10) + TAG;
    let file = sealed(&vec![7; 3 << 16]);
    let begin = file.len() - 3 * SEALED;
    let (head, chunks) = file.split_at(begin);
    let with = |order: &[usize]| {
        let chunk = |at: &usize| &chunks[at * SEALED..(at + 1) * SEALED];
        let chunks = order.iter().flat_map(chunk).copied();
        opened(&head.iter().copied().chain(chunks).collect::<Vec<_>>(), "a")
    };
    assert!(with(&[0, 1, 2]).is_ok());
    for order in [
        &[0, 1][..],
        &[0, 2],
        &[1, 0, 2],
        &[0, 1, 1],
        &[2],
        &[],
        &[0, 1, 2, 2],
    ] {
        assert!(with(order).is_err(), "{order:?}");
    }
}

#[test]
fn a_file_of_the_tool_age_is_opened() {
    let file = Base64::decode_vec(OF_THE_TOOL).unwrap();
    assert_eq!(opened(&file, "correct horse").unwrap(), b"by age 1.1.1\n");
}

#[test]
fn what_is_no_backup_or_for_a_key_or_takes_too_much_work_is_told_apart() {
    let refused = |text: &str| match Source::open(Box::new(Cursor::new(text.as_bytes().to_vec()))) {
        Ok(source) => source.unseal(Some(&passphrase("a"))).map(drop).unwrap_err(),
        Err(error) => error,
    };
    let key = "age-encryption.org/v1\n-> X25519 abc\nbody\n--- mac\n";
    let (salt, body) = ("A".repeat(22), "A".repeat(43));
    let head = |work: &str| format!("age-encryption.org/v1\n-> scrypt {salt} {work}\n{body}\n--- {body}\n");
    for (text, code) in [
        ("hello", "no_backup"),
        (key, "encrypted_for_a_key"),
        ("age-encryption.org/v1\n-> scr", "damaged"),
        ("age-encryption.org/v2\n-> scrypt a 1\nb\n--- c\n", "damaged"),
        (&head("23"), "damaged"),
        (&head("04"), "damaged"),
        (&head("0"), "damaged"),
        (&head("4"), "wrong_passphrase"),
    ] {
        assert_eq!(refused(text).code(), code, "{text}");
    }
}

/// `age -p`, version 1.1.1 of Debian 12, with `correct horse`.
const OF_THE_TOOL: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBIc0hsOXZMWk1mSjBwejhVSzNRMDVRIDE4ClcvZnBiUXJ4Vjhzc1REVnhaZ3A0ZjdFUG\
    F6TEQvY21hUTZINEkzL0VTTzgKLS0tIE1GYXBXN0ZjZ2NRZXE5Y1dtMHM0bnZHdUxzWDRwOUNGZ2pUaVJJcmJxd00KtWAIGog8N/aG/BJXNlMj\
    6Ydy3LO1dKtR8kMWXGw9+LLnHVkb8dOV7VM7VSrV";
