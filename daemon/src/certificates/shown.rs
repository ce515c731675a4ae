//! The certificates as the wire tells of them.

use certs::{Authority, Pair, Source, SpkiPin, UnixTime};
use jiff::Timestamp;
use protocol::certificates::{self as wire, Certificate, CertificateSource, Root};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};

use super::{Certificates, in_words};
use crate::config::PairFiles;

impl Certificates {
    /// All that is served; who knows the daemon by what is the access layer's to say.
    pub(crate) fn show(&self) -> wire::Certificates {
        let held = self.held();
        let leaf = Certificate {
            source: CertificateSource::Identity,
            names: in_words(&held.names),
            issuer: None,
            pin: held.identity.pin().to_string(),
            sha256: sha256(&held.leaf.key),
            not_before: timestamp(held.leaf.not_before()),
            not_after: timestamp(held.leaf.not_after),
            renews_at: Some(timestamp(held.leaf.renews_at())),
            file: None,
            pem: certs::pem_of(&held.leaf.key.cert[0]),
        };
        let others = SOURCES.iter().filter_map(|(source, named)| {
            let pair = self.resolver.from_source(*source)?;
            let files = held.pair.as_ref().filter(|_| *source == Source::Own);
            Some(other(*named, &pair, files))
        });
        wire::Certificates {
            pin: held.identity.pin().to_string(),
            certificates: std::iter::once(leaf).chain(others).collect(),
            root: held.authority.as_ref().map(root),
            next_pin: None,
            devices: Vec::new(),
        }
    }
}

fn root(authority: &Authority) -> Root {
    Root {
        pem: authority.root_pem(),
        sha256: certs::hex(&authority.root_sha256()),
        names: in_words(authority.names()),
        not_after: timestamp(authority.not_after()),
        url: None,
    }
}

fn other(source: CertificateSource, pair: &Pair, files: Option<&PairFiles>) -> Certificate {
    Certificate {
        source,
        names: in_words(&pair.names),
        issuer: Some(pair.issuer.clone()),
        pin: SpkiPin::of_certificate(&pair.key.cert[0])
            .map(|pin| pin.to_string())
            .unwrap_or_default(),
        sha256: sha256(&pair.key),
        not_before: timestamp(pair.not_before),
        not_after: timestamp(pair.not_after),
        renews_at: None,
        file: files.map(|files| files.certificate.display().to_string()),
        pem: certs::pem_of(&pair.key.cert[0]),
    }
}

fn sha256(key: &CertifiedKey) -> String {
    certs::hex(&Sha256::digest(&key.cert[0]))
}

/// A time of a certificate as the wire tells it.
pub(crate) fn timestamp(at: UnixTime) -> Timestamp {
    let seconds = i64::try_from(at.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

const SOURCES: [(Source, CertificateSource); 3] = [
    (Source::Own, CertificateSource::Own),
    (Source::Tailnet, CertificateSource::Tailnet),
    (Source::Trusted, CertificateSource::Trusted),
];
