//! The key that makes a token this machine's own.

use base64ct::{Base64UrlUnpadded, Encoding};
use pairing::{Audience, DeviceId, PublicKey, RequestId};
use protocol::{Bytes64, WireSecret};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};

use crate::error::Error;

/// ECDSA P-256 with SHA-256; what it signs is r ‖ s.
pub(crate) struct DeviceKey(EcdsaKeyPair);

impl DeviceKey {
    /// Makes a key; gives back with it what reads it again: PKCS#8 in base64url.
    pub(crate) fn generate() -> Result<(Self, WireSecret), Error> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| Error::NoRandomness("no key could be made"))?;
        let text = WireSecret::new(Base64UrlUnpadded::encode_string(document.as_ref()));
        let key = Self::read(&text).expect("a key just made is valid");
        Ok((key, text))
    }

    /// The key of a text; `None` where it is none.
    pub(crate) fn read(text: &WireSecret) -> Option<Self> {
        let document = Base64UrlUnpadded::decode_vec(text.expose()).ok()?;
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &document, &SystemRandom::new());
        pair.ok().map(Self)
    }

    /// The public key.
    pub(crate) fn public(&self) -> PublicKey {
        PublicKey::from_slice(self.0.public_key().as_ref())
            .expect("ring's public keys are uncompressed points")
    }

    /// Signs for the exchange of a pairing request.
    pub(crate) fn sign_exchange(
        &self,
        id: RequestId,
        nonce: &str,
        audience: &Audience,
    ) -> Result<Bytes64, Error> {
        self.sign(&pairing::pair_text(id, nonce, audience))
    }

    /// Signs a challenge, as the proof that this machine holds the key.
    pub(crate) fn sign_proof(
        &self,
        challenge: &str,
        audience: &Audience,
        id: DeviceId,
    ) -> Result<Bytes64, Error> {
        self.sign(&pairing::proof_text(challenge, audience, id))
    }

    fn sign(&self, text: &str) -> Result<Bytes64, Error> {
        match self.0.sign(&SystemRandom::new(), text.as_bytes()) {
            Ok(signature) => Ok(signature.as_ref().into()),
            Err(_) => Err(Error::NoRandomness("nothing could be signed")),
        }
    }
}

impl std::fmt::Debug for DeviceKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("DeviceKey").field(&self.public()).finish()
    }
}

#[cfg(test)]
mod tests {
    use base64ct::{Base64UrlUnpadded, Encoding};
    use pairing::proof_text;
    use protocol::WireSecret;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::DeviceKey;

    /// Key and signature were made by another implementation (Node.js, IEEE P1363 encoding).
    #[test]
    fn a_proof_verifies_under_the_public_key_and_a_fixed_one_does_too() {
        let audience = "pin:sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
            .parse()
            .unwrap();
        let id = "dev_0123456789abcdef".parse().unwrap();
        let key = DeviceKey::read(&WireSecret::new(KEY)).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, *key.public().as_bytes());
        let text = proof_text("c", &audience, id);
        let fixed = Base64UrlUnpadded::decode_vec(SIGNATURE).unwrap();
        assert!(public.verify(text.as_bytes(), &fixed).is_ok());
        let ours = key.sign_proof("c", &audience, id).unwrap().0;
        assert_eq!(ours.len(), 64);
        assert!(public.verify(text.as_bytes(), &ours).is_ok());
        let other = proof_text("d", &audience, id);
        assert!(public.verify(other.as_bytes(), &ours).is_err());
    }

    #[test]
    fn a_key_reads_back_from_its_text_and_debug_tells_nothing_of_it() {
        let (key, text) = DeviceKey::generate().unwrap();
        assert_eq!(DeviceKey::read(&text).unwrap().public(), key.public());
        assert!(!format!("{key:?}{text:?}").contains(&text.expose()[..20]));
        assert!(DeviceKey::read(&WireSecret::new("AAAA")).is_none());
    }

    const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4VfUl0Pc2b0teVISWLnkRN0KBz-snhGLe4Lq4qa8F5ChRANCAASzljp_ZhrbLXc0ptGZ0al5bw6LabVbXl9-ily-dP4LTTxSEAUOUJmTsOne4wl7p6CkU6ruUPcsc7DLHJAhwsLA";
    const SIGNATURE: &str =
        "lsxquGKDB5FSPx4qX4uZ_wIo1ko6SUwZKE_E9OpihJN7caTIoTiz5gS1vtDhQqtB36A-AkImpUOjd77w0cz6nQ";
}
