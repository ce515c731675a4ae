//! The texts that a device signs.

use alloc::format;
use alloc::string::String;
use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use rand_core::CryptoRng;

use crate::{Audience, GuestId, KeyHolder, RequestId};

/// What a device must sign to exchange its request: made at the approval, base64url of 32 random bytes on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeNonce(String);

impl ExchangeNonce {
    pub(crate) fn generate(rng: &mut impl CryptoRng) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(Base64UrlUnpadded::encode_string(&bytes))
    }

    /// The wire form, which is also what enters the signed text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExchangeNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is signed to exchange a request for a token: four lines joined by `\n`.
#[must_use]
pub fn pair_text(request_id: RequestId, exchange_nonce: &str, audience: &Audience) -> String {
    format!("transom-pair-v1\n{request_id}\n{exchange_nonce}\n{audience}")
}

/// What is signed to prove possession of a device's or guest's key: four lines joined by `\n`.
#[must_use]
pub fn proof_text(challenge: &str, audience: &Audience, holder: impl Into<KeyHolder>) -> String {
    format!("transom-proof-v1\n{challenge}\n{audience}\n{}", holder.into())
}

/// What is signed to exchange an invitation for a guest's token: four lines joined by `\n`.
#[must_use]
pub fn guest_text(challenge: &str, audience: &Audience, guest: GuestId) -> String {
    format!("transom-guest-v1\n{challenge}\n{audience}\n{guest}")
}

#[cfg(test)]
mod tests {
    use super::{ExchangeNonce, pair_text, proof_text};
    use crate::testing::SeededRng;
    use crate::{DeviceId, RequestId};
    use alloc::string::ToString;

    #[test]
    fn the_signed_text_is_four_lines() {
        let audience = "origin:https://localhost:7300".parse().unwrap();
        let text = pair_text(RequestId::from_bytes([0xab; 8]), "n0nce", &audience);
        assert_eq!(
            text,
            "transom-pair-v1\nreq_abababababababab\nn0nce\norigin:https://localhost:7300"
        );
    }

    #[test]
    fn the_text_of_a_proof_is_four_lines_and_names_the_device_last() {
        let audience = "origin:https://localhost:7300".parse().unwrap();
        assert_eq!(
            proof_text("ch4llenge", &audience, DeviceId::from_bytes([0xcd; 8])),
            "transom-proof-v1\nch4llenge\norigin:https://localhost:7300\ndev_cdcdcdcdcdcdcdcd"
        );
    }

    #[test]
    fn a_nonce_is_43_characters_of_base64url_and_never_the_same() {
        let mut rng = SeededRng::new(4);
        let (one, two) = (
            ExchangeNonce::generate(&mut rng),
            ExchangeNonce::generate(&mut rng),
        );
        assert_eq!(one.as_str().len(), 43);
        assert_eq!(one.to_string(), one.as_str());
        assert_ne!(one, two);
    }
}
