//! SPKI pins.

use std::{fmt, str::FromStr};

use base64ct::{Base64UrlUnpadded, Encoding};
use ring::digest;
use rustls::server::ParsedCertificate;
use rustls_pki_types::CertificateDer;

use crate::CertsError;

/// SHA-256 of a certificate's DER SubjectPublicKeyInfo, written `sha256/<base64url without padding>`.
///
/// It survives every new certificate under the same key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpkiPin([u8; 32]);

impl SpkiPin {
    /// The pin of a DER SubjectPublicKeyInfo.
    pub fn of_spki(spki: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, spki).as_ref());
        Self(bytes)
    }

    /// The pin of a DER certificate.
    ///
    /// # Errors
    /// When it is not a certificate.
    pub fn of_certificate(certificate: &CertificateDer<'_>) -> Result<Self, CertsError> {
        let parsed =
            ParsedCertificate::try_from(certificate).map_err(|_| CertsError::Parsing("the certificate"))?;
        Ok(Self::of_spki(parsed.subject_public_key_info().as_ref()))
    }

    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for SpkiPin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", Base64UrlUnpadded::encode_string(&self.0))
    }
}

impl fmt::Debug for SpkiPin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for SpkiPin {
    type Err = CertsError;

    fn from_str(text: &str) -> Result<Self, CertsError> {
        let mut bytes = [0; 32];
        text.strip_prefix(PREFIX)
            .and_then(|encoded| {
                Base64UrlUnpadded::decode(encoded, &mut bytes)
                    .ok()
                    .map(<[u8]>::len)
            })
            .filter(|length| *length == bytes.len())
            .map(|_| Self(bytes))
            .ok_or(CertsError::Parsing("the pin"))
    }
}

const PREFIX: &str = "sha256/";

#[cfg(test)]
mod tests {
    use super::SpkiPin;

    #[test]
    fn a_pin_reads_back_from_its_own_text() {
        let pin = SpkiPin::of_spki(b"key");
        assert_eq!(
            pin.to_string(),
            "sha256/LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM"
        );
        assert_eq!(pin.to_string().parse::<SpkiPin>().unwrap(), pin);
    }

    #[test]
    fn a_pin_of_another_hash_or_length_is_refused() {
        let text = SpkiPin::of_spki(b"key").to_string();
        assert!(text.replace("sha256/", "sha1/").parse::<SpkiPin>().is_err());
        assert!(text[..text.len() - 4].parse::<SpkiPin>().is_err());
        assert!(format!("{text}AAAA").parse::<SpkiPin>().is_err());
    }
}
