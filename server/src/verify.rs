//! Checks the signatures of devices.

use pairing::VerifySignature;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

/// ECDSA P-256 with SHA-256 over r ‖ s, by ring; a point that is not on the curve verifies nothing.
pub(crate) struct P256;

impl VerifySignature for P256 {
    fn verify(&self, public_key: &[u8; 65], message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public_key)
            .verify(message, signature)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use pairing::VerifySignature;
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
    };

    use super::P256;

    fn signed() -> ([u8; 65], Vec<u8>) {
        let rng = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &rng).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &rng).unwrap();
        let signature = pair.sign(&rng, b"text").unwrap();
        (
            pair.public_key().as_ref().try_into().unwrap(),
            signature.as_ref().to_vec(),
        )
    }

    #[test]
    fn a_signature_verifies_under_its_key_and_text_only() {
        let (key, signature) = signed();
        assert_eq!(signature.len(), 64);
        assert!(P256.verify(&key, b"text", &signature));
        assert!(!P256.verify(&key, b"other", &signature));
        assert!(!P256.verify(&signed().0, b"text", &signature));
    }

    #[test]
    fn a_point_off_the_curve_and_a_cut_signature_verify_nothing() {
        let (key, signature) = signed();
        let mut off = [9; 65];
        off[0] = 4;
        assert!(!P256.verify(&off, b"text", &signature));
        assert!(!P256.verify(&key, b"text", &signature[..63]));
    }
}
