//! The key under which tokens are hashed.

use alloc::string::String;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use zeroize::ZeroizeOnDrop;

/// The HMAC key of token hashes, 32 bytes. It lives in a file of its own, apart from the hashes.
#[derive(ZeroizeOnDrop)]
pub struct TokenKey([u8; 32]);

/// Which [`TokenKey`] hashes were made under: 16 hex digits that say nothing about the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenKeyId(String);

impl TokenKey {
    /// A new random key.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The key with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the key's own file and nothing else.
    #[must_use]
    pub const fn dangerous_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The id to keep beside the hashes: the first 8 bytes of SHA-256 of the key, as hex.
    #[must_use]
    pub fn id(&self) -> TokenKeyId {
        let digest: [u8; 32] = Sha256::digest(self.0).into();
        let (first, _) = digest.split_first_chunk().expect("SHA-256 has more than 8 bytes");
        TokenKeyId(alloc::format!("{:016x}", u64::from_be_bytes(*first)))
    }

    pub(crate) fn hmac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey([redacted])")
    }
}

impl TokenKeyId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::TokenKey;
    use crate::testing::SeededRng;
    use alloc::format;
    use alloc::string::{String, ToString};

    #[test]
    fn the_id_is_the_beginning_of_the_keys_hash() {
        // `head -c 32 /dev/zero | sha256sum`
        let id = TokenKey::from_bytes([0; 32]).id();
        assert_eq!(id.to_string(), "66687aadf862bd77");
        assert_eq!(id.as_str(), "66687aadf862bd77");
    }

    #[test]
    fn different_keys_have_different_ids_and_hashes() {
        let mut rng = SeededRng::new(1);
        let (one, two) = (TokenKey::generate(&mut rng), TokenKey::generate(&mut rng));
        assert_ne!(one.id(), two.id());
        assert_ne!(one.hmac(&[b"x"]), two.hmac(&[b"x"]));
    }

    #[test]
    fn the_hmac_is_hmac_sha_256_over_the_parts_in_order() {
        // `printf Hi | openssl dgst -sha256 -mac hmac -macopt hexkey:0b0b…` with 32 bytes of 0b.
        let hmac = TokenKey::from_bytes([0x0b; 32]).hmac(&[b"H", b"i"]);
        let hex: String = hmac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "24676e364a1b780c310e2a82bf7717b3cdef64661e9c0b2ba5a53d44606d4a90"
        );
    }

    #[test]
    fn debug_tells_nothing_of_the_key() {
        assert_eq!(
            format!("{:?}", TokenKey::from_bytes([0x41; 32])),
            "TokenKey([redacted])"
        );
    }
}
