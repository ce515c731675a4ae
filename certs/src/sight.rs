//! What a certificate that somebody shows, or keeps in a file, says of itself.

use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{
    Names, PairError, SpkiPin,
    pair::{names_of, unix},
};

/// A server's certificate as it is read by who is shown it. Nothing vouches for any of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The names and addresses that it is for; a host may be a wildcard.
    pub names: Names,
    /// Who issued it, as it says.
    pub issuer: String,
    /// The beginning of its validity.
    pub not_before: UnixTime,
    /// The end of its validity.
    pub not_after: UnixTime,
    /// The pin of its key.
    pub pin: SpkiPin,
}

impl Sight {
    /// Reads a certificate.
    ///
    /// # Errors
    /// When it cannot be parsed, or names nobody.
    pub fn of(certificate: &CertificateDer<'_>) -> Result<Self, PairError> {
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| PairError::Unreadable)?;
        let [not_before, not_after] =
            [parsed.validity().not_before, parsed.validity().not_after].map(|time| unix(time.timestamp()));
        Ok(Self {
            names: names_of(&parsed)?,
            issuer: parsed.issuer().to_string(),
            not_before,
            not_after,
            pin: SpkiPin::of_certificate(certificate).map_err(|_| PairError::Unreadable)?,
        })
    }

    /// Reads the first certificate in a text in PEM, whatever stands before it (RFC 7468).
    ///
    /// # Errors
    /// When there is none, or as [`Sight::of`].
    pub fn of_pem(text: &[u8]) -> Result<Self, PairError> {
        let certificate = CertificateDer::from_pem_slice(text).map_err(|_| PairError::NoCertificate)?;
        Self::of(&certificate)
    }

    /// Whether it is for the name or address.
    pub fn is_for(&self, host: &str) -> bool {
        match host.parse() {
            Ok(address) => self.names.has_address(address),
            Err(_) => self.names.has_host(host),
        }
    }

    /// What is wrong with its dates at this time, as the rest of a sentence that begins with it.
    ///
    /// # Errors
    /// [`PairError::Early`] or [`PairError::Expired`].
    pub fn check_dates(&self, now: UnixTime) -> Result<(), PairError> {
        match now {
            now if now < self.not_before => Err(PairError::Early(self.not_before)),
            now if now > self.not_after => Err(PairError::Expired),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls_pki_types::UnixTime;

    use super::Sight;
    use crate::{Identity, Names, PairError, pem_of};

    const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));

    #[test]
    fn a_leaf_is_seen_with_its_names_dates_and_pin() {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::load_or_create(&home.path().join("keys")).unwrap();
        let names = Names::new("0011223344556677").host("desk.example");
        let leaf = identity.certificate(&names, NOW).unwrap();
        let sight = Sight::of(&leaf.key.cert[0]).unwrap();
        assert_eq!((&sight.names, sight.pin), (&names, identity.pin()));
        assert_eq!(sight.not_after, leaf.not_after);
        for (host, is_named) in [
            ("desk.example", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("other.example", false),
            ("127.0.0.2", false),
        ] {
            assert_eq!(sight.is_for(host), is_named, "{host}");
        }
        let after =
            |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(NOW.as_secs() + days * 86_400));
        let before = UnixTime::since_unix_epoch(Duration::from_secs(NOW.as_secs() - 2 * 86_400));
        assert_eq!(sight.check_dates(NOW), Ok(()));
        assert_eq!(sight.check_dates(before), Err(PairError::Early(sight.not_before)));
        assert_eq!(sight.check_dates(after(400)), Err(PairError::Expired));
        let text = format!("something before\n{}", pem_of(&leaf.key.cert[0]));
        assert_eq!(Sight::of_pem(text.as_bytes()), Ok(sight));
        assert_eq!(Sight::of_pem(b"nothing"), Err(PairError::NoCertificate));
    }
}
