//! What the tests of this crate share: a reproducible generator, a stand-in for signatures, and moments.

use alloc::vec::Vec;
use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use sha2::{Digest, Sha256};

use crate::{Device, DeviceId, DeviceToken, PublicKey, Role, TokenKey, UnixMillis, VerifySignature};

/// A reproducible generator: SHA-256 of seed and counter. Only for tests.
pub(crate) struct SeededRng {
    seed: u64,
    counter: u64,
}

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, counter: 0 }
    }

    fn block(&mut self) -> [u8; 32] {
        self.counter += 1;
        let mut hash = Sha256::new();
        hash.update(self.seed.to_be_bytes());
        hash.update(self.counter.to_be_bytes());
        hash.finalize().into()
    }
}

impl TryRng for SeededRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| word as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_be_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), Infallible> {
        for chunk in target.chunks_mut(32) {
            chunk.copy_from_slice(&self.block()[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for SeededRng {}

/// Takes as a signature the hash of key and message.
pub(crate) struct HashSignatures;

impl VerifySignature for HashSignatures {
    fn verify(&self, public_key: &[u8; 65], message: &[u8], signature: &[u8]) -> bool {
        signature == sign(public_key, message)
    }
}

/// What [`HashSignatures`] takes as the signature of this key.
pub(crate) fn sign(public_key: &[u8; 65], message: &[u8]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(public_key);
    hash.update(message);
    hash.finalize().to_vec()
}

/// A public key that differs by `n`.
pub(crate) fn key(n: u8) -> PublicKey {
    let mut bytes = [n; 65];
    bytes[0] = 4;
    PublicKey::from_bytes(bytes).unwrap()
}

/// The moment `seconds` after an arbitrary start.
pub(crate) fn at(seconds: i64) -> UnixMillis {
    UnixMillis(1_790_000_000_000 + seconds * 1_000)
}

/// A viewer that differs by `n`, whose token is that of [`token`], made at the start.
pub(crate) fn device(n: u8) -> Device {
    Device {
        id: DeviceId::from_bytes([n; 8]),
        label: "phone".parse().unwrap(),
        public_key: Some(key(n)),
        role: Role::Viewer,
        can_revoke: false,
        any_path: false,
        token_hash: token(n).hash(&token_key()),
        created: at(0),
        approved_from: "127.0.0.1".into(),
        tailnet: None,
        expires_at: None,
        last_seen: None,
        last_address: None,
    }
}

/// The token of [`device`].
pub(crate) fn token(n: u8) -> DeviceToken {
    DeviceToken::generate(DeviceId::from_bytes([n; 8]), &mut SeededRng::new(u64::from(n)))
}

/// The one key of all tests.
pub(crate) fn token_key() -> TokenKey {
    TokenKey::from_bytes([0x5a; 32])
}
