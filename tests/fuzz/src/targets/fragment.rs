//! The fragment of an offer's link, as a device is shown it.

use certs::SpkiPin;
use pairing::OfferSecret;
use protocol::pairing::OfferProof;

pub(crate) fn run(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let Some((offer, pin)) = OfferProof::from_fragment(text) else {
        return;
    };
    let (id, shown) = (offer.id.to_string(), offer.secret.expose());
    assert_eq!(format!("{id}.{shown}.{pin}"), text);
    secret(shown);
    if let Ok(parsed) = pin.parse::<SpkiPin>() {
        assert_eq!(parsed.to_string(), pin);
    }
}

/// A secret is written in one way only.
pub(crate) fn secret(text: &str) {
    if let Ok(secret) = OfferSecret::parse(text) {
        assert_eq!(secret.reveal().as_str(), text);
    }
}
