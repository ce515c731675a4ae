//! The bodies of the public lanes: what pairs, and what proves a key.

use pairing::{Audience, PublicKey};
use protocol::{
    Bytes64,
    access::ProofOfKey,
    pairing::{Exchange, NewRequest, Reveal},
};

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(proof) = serde_json::from_slice::<ProofOfKey>(bytes) {
        audience(&proof.audience);
        key(&proof.signature);
    }
    if let Ok(exchange) = serde_json::from_slice::<Exchange>(bytes) {
        audience(&exchange.audience);
    }
    if let Ok(reveal) = serde_json::from_slice::<Reveal>(bytes) {
        key(&reveal.public_key);
    }
    if let Ok(request) = serde_json::from_slice::<NewRequest>(bytes) {
        super::label::run(request.label.as_bytes());
        if let Some(offer) = request.offer {
            super::fragment::secret(offer.secret.expose());
        }
    }
    if let Some(text) = super::text(bytes) {
        audience(text);
    }
}

/// What is signed is compared byte by byte: it has one way of writing.
fn audience(text: &str) {
    if let Ok(audience) = text.parse::<Audience>() {
        assert_eq!(audience.to_string(), text);
    }
}

/// The uncompressed point and nothing else.
fn key(bytes: &Bytes64) {
    if let Ok(key) = PublicKey::from_slice(&bytes.0) {
        assert_eq!(key.as_bytes().as_slice(), bytes.0);
        assert_eq!((bytes.0.len(), bytes.0[0]), (65, 4));
    }
}
