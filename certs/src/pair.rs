//! A certificate that somebody else issued, with its key: checked whole before anything is served with it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::{Names, files, files::FileError, leaf::is_due};

/// A chain of certificates with the key of its first one.
#[derive(Debug)]
pub struct Pair {
    /// What TLS serves.
    pub key: Arc<CertifiedKey>,
    /// The names and addresses that it is for; a host may be a wildcard.
    pub names: Names,
    /// Who issued it, as its certificate says.
    pub issuer: String,
    /// The beginning of its validity.
    pub not_before: UnixTime,
    /// The end of its validity.
    pub not_after: UnixTime,
}

/// Why a pair cannot be served: a sentence without its subject, which is the file or source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// There is no certificate in PEM.
    #[error("holds no certificate in PEM")]
    NoCertificate,
    /// There is no private key in PEM.
    #[error("holds no private key in PEM; one with a passphrase cannot be used")]
    NoKey,
    /// One of the certificates cannot be read.
    #[error("holds a certificate that cannot be parsed")]
    Unreadable,
    /// The key is of another certificate, or of a kind that TLS 1.3 does not take.
    #[error("does not belong to the key: {0}")]
    KeyMismatch(String),
    /// A certificate is not issued by the one that follows it.
    #[error("is out of order: each certificate must be issued by the one that follows it")]
    Order,
    /// It is over.
    #[error("has expired")]
    Expired,
    /// It is not good before this.
    #[error("is not valid yet")]
    Early(UnixTime),
    /// It is no server's.
    #[error("is not for servers")]
    NotForServers,
    /// It names nobody.
    #[error("names no host and no address")]
    Nameless,
}

/// Why the files of a pair cannot be used: a sentence.
#[derive(Debug, thiserror::Error)]
pub enum PairFilesError {
    /// One of them cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// What one of them holds cannot be served.
    #[error("{} {why}", path.display())]
    Pair {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong with it.
        why: PairError,
    },
}

impl PairFilesError {
    /// Whether nothing is wrong with them but the time: they were good, or will be.
    pub fn is_of_time(&self) -> bool {
        matches!(
            self,
            Self::Pair {
                why: PairError::Expired | PairError::Early(_),
                ..
            }
        )
    }

    /// From when on they can be used, where they cannot before.
    pub fn begins(&self) -> Option<UnixTime> {
        match self {
            Self::Pair {
                why: PairError::Early(begins),
                ..
            } => Some(*begins),
            Self::Pair { .. } | Self::File(_) => None,
        }
    }
}

impl Pair {
    /// Reads a chain and a key from files in PEM, and checks that they can be served at this time.
    ///
    /// # Errors
    /// When one cannot be read, or [`PairError`].
    pub fn read(certificate: &Path, key: &Path, now: UnixTime) -> Result<Self, PairFilesError> {
        let chain = files::read_foreign(certificate, false)?;
        let secret = files::read_foreign(key, true)?;
        Self::from_pem(&chain, &secret, now).map_err(|why| {
            let path = match why {
                PairError::NoKey => key.to_owned(),
                _ => certificate.to_owned(),
            };
            PairFilesError::Pair { path, why }
        })
    }

    /// Reads a chain and a key in PEM, and checks that they can be served at this time.
    ///
    /// # Errors
    /// [`PairError`] at the first thing that is wrong.
    pub fn from_pem(chain: &[u8], key: &[u8], now: UnixTime) -> Result<Self, PairError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, _>>()
            .map_err(|_| PairError::Unreadable)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| PairError::NoKey)?;
        Self::from_der(chain, key, now)
    }

    /// The same for what is not in PEM.
    ///
    /// # Errors
    /// As [`Pair::from_pem`].
    pub fn from_der(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        now: UnixTime,
    ) -> Result<Self, PairError> {
        let parsed = chain
            .iter()
            .map(|der| X509Certificate::from_der(der).map(|(_, certificate)| certificate))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| PairError::Unreadable)?;
        let leaf = parsed.first().ok_or(PairError::NoCertificate)?;
        let is_issued = |pair: &[X509Certificate<'_>]| pair[0].issuer() == pair[1].subject();
        if !parsed.windows(2).all(is_issued) {
            return Err(PairError::Order);
        }
        let usage = leaf.extended_key_usage().map_err(|_| PairError::Unreadable)?;
        if usage.is_some_and(|usage| !usage.value.server_auth && !usage.value.any) {
            return Err(PairError::NotForServers);
        }
        let [not_before, not_after] =
            [leaf.validity().not_before, leaf.validity().not_after].map(|time| unix(time.timestamp()));
        if now < not_before {
            return Err(PairError::Early(not_before));
        }
        if now > not_after {
            return Err(PairError::Expired);
        }
        let names = names_of(leaf)?;
        let issuer = leaf.issuer().to_string();
        let provider = rustls::crypto::ring::default_provider();
        let key = CertifiedKey::from_der(chain, key, &provider)
            .map_err(|error| PairError::KeyMismatch(error.to_string()))?;
        Ok(Self {
            key: Arc::new(key),
            names,
            issuer,
            not_before,
            not_after,
        })
    }

    /// Whether it can still be served.
    pub fn is_good(&self, now: UnixTime) -> bool {
        now <= self.not_after
    }

    /// Whether another should be in its place by now: 30 days before its end.
    pub fn is_due(&self, now: UnixTime) -> bool {
        is_due(self.not_after, now)
    }
}

/// The names and addresses that a certificate is for.
pub(crate) fn names_of(leaf: &X509Certificate<'_>) -> Result<Names, PairError> {
    let alternatives = leaf
        .subject_alternative_name()
        .map_err(|_| PairError::Unreadable)?;
    let listed = alternatives
        .iter()
        .flat_map(|extension| &extension.value.general_names);
    let names = listed.fold(Names::default(), |names, name| match name {
        GeneralName::DNSName(host) => names.host(host),
        GeneralName::IPAddress(bytes) => match address(bytes) {
            Some(address) => names.address(address),
            None => names,
        },
        _ => names,
    });
    match names.is_empty() {
        true => Err(PairError::Nameless),
        false => Ok(names),
    }
}

/// The address of so many bytes, of either version.
pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(bytes).into());
    }
    <[u8; 16]>::try_from(bytes)
        .ok()
        .map(|bytes| Ipv6Addr::from(bytes).into())
}

pub(crate) fn unix(seconds: i64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds.max(0).cast_unsigned()))
}

#[cfg(test)]
pub(crate) mod tests;
