//! The key of a device, and what it commits to before showing it.

use core::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A P-256 public key as its 65-byte uncompressed point (SEC 1, 2.3.3). Whether the point is on the curve is found by
/// the [`VerifySignature`] that first uses it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 65]);

/// Bytes that cannot be an uncompressed P-256 point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key is a P-256 point of 65 bytes that begins with 04")]
pub struct MalformedKey;

/// 32 random bytes.
pub type Nonce = [u8; 32];

/// Checks ECDSA P-256 signatures with SHA-256, as r ‖ s (IEEE P1363). The embedder brings it.
pub trait VerifySignature {
    /// Whether `signature` over `message` is by the key.
    fn verify(&self, public_key: &[u8; 65], message: &[u8], signature: &[u8]) -> bool;
}

impl PublicKey {
    /// The key with this point.
    ///
    /// # Errors
    /// If the point is not marked as uncompressed.
    pub fn from_bytes(bytes: [u8; 65]) -> Result<Self, MalformedKey> {
        if bytes[0] == UNCOMPRESSED {
            Ok(Self(bytes))
        } else {
            Err(MalformedKey)
        }
    }

    /// The key with this point, if it is 65 bytes long.
    ///
    /// # Errors
    /// If the length is another, or the point is not marked as uncompressed.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, MalformedKey> {
        Self::from_bytes(bytes.try_into().map_err(|_| MalformedKey)?)
    }

    /// The point.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 65] {
        &self.0
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, a, b, c, d, ..] = self.0;
        write!(f, "PublicKey({a:02x}{b:02x}{c:02x}{d:02x}…)")
    }
}

/// SHA-256 of public key ‖ device nonce: what a device says before it sees the server's nonce, so that neither side
/// can choose its part to match a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commitment(pub [u8; 32]);

impl Commitment {
    /// The commitment to these two.
    #[must_use]
    pub fn to(public_key: &PublicKey, device_nonce: &Nonce) -> Self {
        let mut hash = Sha256::new();
        hash.update(public_key.0);
        hash.update(device_nonce);
        Self(hash.finalize().into())
    }

    /// Whether these two were meant.
    #[must_use]
    pub fn matches(&self, public_key: &PublicKey, device_nonce: &Nonce) -> bool {
        self.0.ct_eq(&Self::to(public_key, device_nonce).0).into()
    }
}

/// The first byte of an uncompressed point.
const UNCOMPRESSED: u8 = 4;

#[cfg(test)]
mod tests {
    use super::{Commitment, MalformedKey, PublicKey};
    use crate::testing::key;
    use alloc::format;

    #[test]
    fn only_sixty_five_bytes_that_begin_with_04_are_a_key() {
        let mut bytes = [9; 65];
        assert_eq!(PublicKey::from_bytes(bytes), Err(MalformedKey));
        bytes[0] = 4;
        assert_eq!(PublicKey::from_slice(&bytes).unwrap().as_bytes(), &bytes);
        assert_eq!(PublicKey::from_slice(&bytes[..64]), Err(MalformedKey));
        assert_eq!(PublicKey::from_slice(&[]), Err(MalformedKey));
    }

    #[test]
    fn a_commitment_matches_its_key_and_nonce_only() {
        let commitment = Commitment::to(&key(1), &[2; 32]);
        assert!(commitment.matches(&key(1), &[2; 32]));
        assert!(!commitment.matches(&key(2), &[2; 32]));
        assert!(!commitment.matches(&key(1), &[3; 32]));
    }

    #[test]
    fn the_commitment_is_sha_256_of_key_and_nonce_without_separators() {
        use sha2::{Digest, Sha256};
        let whole = [key(5).as_bytes().as_slice(), &[6; 32]].concat();
        assert_eq!(
            Commitment::to(&key(5), &[6; 32]).0,
            <[u8; 32]>::from(Sha256::digest(whole))
        );
    }

    #[test]
    fn debug_shows_the_beginning_of_a_key() {
        assert_eq!(format!("{:?}", key(0xab)), "PublicKey(abababab…)");
    }
}
