//! The secrets of offers and invitations, which travel in a link's fragment.

use alloc::string::String;
use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use rand_core::CryptoRng;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::{GuestId, MalformedToken, OfferId, TokenHash, TokenKey};

/// The secret of one offer: 32 bytes, base64url without padding on the wire, erased on drop.
#[derive(ZeroizeOnDrop)]
pub struct OfferSecret([u8; 32]);

impl OfferSecret {
    /// A new random secret.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The secret in its wire form.
    ///
    /// # Errors
    /// [`MalformedToken::Body`] if the text is not base64url of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, MalformedToken> {
        let mut bytes = Zeroizing::new([0; 32]);
        match Base64UrlUnpadded::decode(text, bytes.as_mut_slice()) {
            Ok(decoded) if decoded.len() == 32 => Ok(Self(*bytes)),
            _ => Err(MalformedToken::Body),
        }
    }

    /// The wire form, for the one link that carries it.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        Zeroizing::new(Base64UrlUnpadded::encode_string(&self.0))
    }

    pub(crate) fn digest(&self, id: OfferId) -> SecretDigest {
        SecretDigest::of(b"transom/ofr/v1", id.as_bytes(), &self.0)
    }
}

/// The secret of one invitation, of the same form.
pub struct InviteSecret(OfferSecret);

impl InviteSecret {
    /// A new random secret.
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self(OfferSecret::generate(rng))
    }

    /// The secret in its wire form.
    ///
    /// # Errors
    /// [`MalformedToken::Body`] if the text is not base64url of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, MalformedToken> {
        OfferSecret::parse(text).map(Self)
    }

    /// The wire form, for the one link that carries it.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        self.0.reveal()
    }

    /// The hash to keep: HMAC-SHA256(key, "transom/inv/v1" ‖ id ‖ secret). Unlike an offer, an invitation outlives the daemon.
    pub(crate) fn hash(&self, id: GuestId, key: &TokenKey) -> TokenHash {
        TokenHash::from_bytes(key.hmac(&[b"transom/inv/v1", id.as_bytes(), &self.0.0]))
    }
}

impl fmt::Debug for InviteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InviteSecret([redacted])")
    }
}

impl fmt::Debug for OfferSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OfferSecret([redacted])")
    }
}

/// What memory keeps of an offer's secret. Plain SHA-256 is enough: it has 256 random bits and never meets a disk.
pub(crate) struct SecretDigest([u8; 32]);

impl SecretDigest {
    fn of(domain: &[u8], id: &[u8; 8], secret: &[u8; 32]) -> Self {
        let mut hash = Sha256::new();
        hash.update(domain);
        hash.update(id);
        hash.update(secret);
        Self(hash.finalize().into())
    }

    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::{InviteSecret, OfferSecret};
    use crate::testing::{SeededRng, token_key};
    use crate::{GuestId, GuestToken, MalformedToken, OfferId, TokenKey};
    use alloc::format;

    #[test]
    fn a_secret_reads_what_it_wrote() {
        let secret = OfferSecret::generate(&mut SeededRng::new(3));
        let wire = secret.reveal();
        assert_eq!(wire.len(), 43);
        assert_eq!(OfferSecret::parse(&wire).unwrap().0, secret.0);
    }

    #[test]
    fn short_long_padded_and_foreign_texts_are_refused() {
        let wire = OfferSecret::generate(&mut SeededRng::new(3)).reveal();
        for text in [
            "",
            &wire[1..],
            &format!("{}AA", *wire),
            &format!("{}=", *wire),
            &wire.replace(&wire[..1], "+"),
        ] {
            assert_eq!(OfferSecret::parse(text).unwrap_err(), MalformedToken::Body);
        }
    }

    #[test]
    fn the_digest_depends_on_the_offer_and_on_the_secret() {
        let (one, two) = (OfferSecret([1; 32]), OfferSecret([2; 32]));
        let (a, b) = (OfferId::from_bytes([1; 8]), OfferId::from_bytes([2; 8]));
        assert!(one.digest(a).matches(&OfferSecret([1; 32]).digest(a)));
        assert!(!one.digest(a).matches(&two.digest(a)));
        assert!(!one.digest(a).matches(&one.digest(b)));
    }

    #[test]
    fn the_hash_of_an_invitation_depends_on_key_guest_and_secret_and_is_none_of_a_token() {
        let invite = |n| InviteSecret(OfferSecret([n; 32]));
        let (a, b) = (GuestId::from_bytes([1; 8]), GuestId::from_bytes([2; 8]));
        let hash = invite(1).hash(a, &token_key());
        assert!(hash.matches(&invite(1).hash(a, &token_key())));
        for other in [
            invite(2).hash(a, &token_key()),
            invite(1).hash(b, &token_key()),
            invite(1).hash(a, &TokenKey::from_bytes([9; 32])),
        ] {
            assert!(!hash.matches(&other));
        }
        // Of the same random bytes.
        let secret = InviteSecret::generate(&mut SeededRng::new(3)).hash(a, &token_key());
        let token = GuestToken::generate(a, &mut SeededRng::new(3)).hash(&token_key());
        assert!(!secret.matches(&token));
    }

    #[test]
    fn debug_tells_nothing_of_the_secret() {
        assert_eq!(
            format!("{:?}", OfferSecret([0x41; 32])),
            "OfferSecret([redacted])"
        );
    }
}
