//! The identity key and the certificates made with it.

use std::{path::Path, sync::Arc, time::Duration};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData, SerialNumber, date_time_ymd,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use zeroize::Zeroizing;

use crate::{CertsError, Names, SpkiPin, files};

/// The daemon's long-lived private key under its pin: P-256, made once.
pub struct Identity {
    key: KeyPair,
}

/// A certificate with the key that it was made for, and when it ends.
#[derive(Clone)]
pub struct Certified {
    /// What TLS serves.
    pub key: Arc<CertifiedKey>,
    /// The end of its validity.
    pub not_after: UnixTime,
}

impl Identity {
    /// Reads `identity.pem` in a directory of keys, or makes it on first use; the directory is made 0700 where there is none.
    ///
    /// # Errors
    /// When directory or file have the wrong owner, mode or kind, or the file holds no P-256 key.
    pub fn load_or_create(keys: &Path) -> Result<Self, CertsError> {
        files::directory(keys)?;
        Self::read_or_create(&keys.join(KEY_FILE))
    }

    /// Reads `identity.pem` in a directory of keys, and makes nothing; none where there is none.
    ///
    /// # Errors
    /// As [`Identity::load_or_create`].
    pub fn load(keys: &Path) -> Result<Option<Self>, CertsError> {
        Self::read(&keys.join(KEY_FILE))
    }

    /// The key that comes next, if one was made.
    ///
    /// # Errors
    /// As [`Identity::load_or_create`].
    pub fn load_next(keys: &Path) -> Result<Option<Self>, CertsError> {
        Self::read(&keys.join(NEXT_FILE))
    }

    /// The key that comes next, made on first use. Nothing is served with it before [`Identity::rotate`].
    ///
    /// # Errors
    /// As [`Identity::load_or_create`].
    pub fn make_next(keys: &Path) -> Result<Self, CertsError> {
        Self::read_or_create(&keys.join(NEXT_FILE))
    }

    /// Puts the key that comes next, made now where there is none, in the place of this one, in one step: after a crash it is the
    /// former or the next, and never neither.
    ///
    /// # Errors
    /// As [`Identity::load_or_create`].
    pub fn rotate(keys: &Path) -> Result<Self, CertsError> {
        let next = Self::make_next(keys)?;
        files::supersede(&keys.join(NEXT_FILE), &keys.join(KEY_FILE))?;
        Ok(next)
    }

    fn read_or_create(path: &Path) -> Result<Self, CertsError> {
        if let Some(identity) = Self::read(path)? {
            return Ok(identity);
        }
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(making)?;
        files::create(path, Zeroizing::new(key.serialize_pem()).as_bytes())?;
        Ok(Self { key })
    }

    fn read(path: &Path) -> Result<Option<Self>, CertsError> {
        let Some(pem) = files::read(path)? else {
            return Ok(None);
        };
        let refused = || CertsError::Key {
            path: path.to_owned(),
        };
        let pem = std::str::from_utf8(&pem).map_err(|_| refused())?;
        let key =
            KeyPair::from_pkcs8_pem_and_sign_algo(pem, &PKCS_ECDSA_P256_SHA256).map_err(|_| refused())?;
        Ok(Some(Self { key }))
    }

    /// The pin of the key.
    pub fn pin(&self) -> SpkiPin {
        SpkiPin::of_spki(&self.key.subject_public_key_info())
    }

    /// Makes a self-signed leaf for the names: from a day before `now`, for 396 days, for servers only.
    ///
    /// # Errors
    /// When a name cannot stand in a certificate.
    pub fn certificate(&self, names: &Names, now: UnixTime) -> Result<Certified, CertsError> {
        let not_before = now.as_secs().saturating_sub(HEAD_START.as_secs());
        let not_after = not_before + LIFE.as_secs();
        let mut params = Self::leaf_params(names)?;
        params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_before);
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(not_after);
        let certificate = params.self_signed(&self.key).map_err(making)?;
        let not_after = UnixTime::since_unix_epoch(Duration::from_secs(not_after));
        self.with_leaf(certificate.der().clone(), not_after)
    }

    /// A server's certificate for the names, but for its time.
    pub(crate) fn leaf_params(names: &Names) -> Result<CertificateParams, CertsError> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names.subject_alternatives()?;
        params.distinguished_name = distinguished_name();
        params.serial_number = Some(serial_number()?);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(params)
    }

    pub(crate) fn key(&self) -> &KeyPair {
        &self.key
    }

    pub(crate) fn secret(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialized_der().to_vec()))
    }

    pub(crate) fn with_leaf(
        &self,
        leaf: CertificateDer<'static>,
        not_after: UnixTime,
    ) -> Result<Certified, CertsError> {
        Ok(Certified {
            key: Arc::new(self.certified(leaf)?),
            not_after,
        })
    }

    fn certified(&self, certificate: CertificateDer<'static>) -> Result<CertifiedKey, CertsError> {
        let signer = rustls::crypto::ring::sign::any_ecdsa_type(&self.secret()).map_err(making)?;
        Ok(CertifiedKey::new(vec![certificate], signer))
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Identity").field(&self.pin()).finish()
    }
}

fn distinguished_name() -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "Transom");
    name
}

/// Random, since browsers refuse a second certificate of the same issuer and number.
pub(crate) fn serial_number() -> Result<SerialNumber, CertsError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(making)?;
    // Positive and without a leading zero byte, as DER wants it (RFC 5280 section 4.1.2.2).
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

pub(crate) fn making(error: impl std::fmt::Display) -> CertsError {
    CertsError::Making(error.to_string())
}

const KEY_FILE: &str = "identity.pem";
const NEXT_FILE: &str = "next.pem";

/// A device whose clock is up to a day behind still accepts a new certificate.
pub(crate) const HEAD_START: Duration = Duration::from_secs(24 * 60 * 60);

/// A day below the 397 that Apple and the browsers accept, so that counting the last second does not matter.
pub(crate) const LIFE: Duration = Duration::from_secs(396 * 24 * 60 * 60);

#[cfg(test)]
mod tests;
