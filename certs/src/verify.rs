//! How a native client checks the daemon: by its pin alone.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::{CertsError, SpkiPin};

/// Accepts exactly the certificates under one key, whatever their names, dates and issuer; the handshake's signature must be
/// of that key.
#[derive(Debug)]
pub struct PinVerifier {
    /// None where any key is accepted: somebody looks at it for the first time.
    pin: Option<SpkiPin>,
    /// Accepted as well: what the other end announced that it would show next.
    next: Option<SpkiPin>,
    proven: ProvenPin,
    provider: Arc<CryptoProvider>,
}

/// The pin whose key the other end has proven last; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct ProvenPin(Arc<Mutex<Option<SpkiPin>>>);

impl ProvenPin {
    /// Which, if there was a handshake.
    pub fn last(&self) -> Option<SpkiPin> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, pin: SpkiPin) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(pin);
    }
}

/// The certificate's key is another than the one that was pinned: inside of [`CertificateError::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the certificate's key has the pin {seen}, not {expected}")]
pub struct WrongPin {
    /// What was pinned.
    pub expected: SpkiPin,
    /// What was shown.
    pub seen: SpkiPin,
}

impl PinVerifier {
    /// Accepts certificates with this pin.
    pub fn new(pin: SpkiPin) -> Self {
        Self::with(Some(pin), None, ProvenPin::default())
    }

    fn with(pin: Option<SpkiPin>, next: Option<SpkiPin>, proven: ProvenPin) -> Self {
        Self {
            pin,
            next,
            proven,
            provider: Arc::new(rustls::crypto::ring::default_provider()),
        }
    }
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let seen = SpkiPin::of_certificate(end_entity).map_err(|_| CertificateError::BadEncoding)?;
        match self.pin {
            Some(expected) if expected != seen && self.next != Some(seen) => {
                let wrong = WrongPin { expected, seen };
                Err(CertificateError::Other(OtherError(Arc::new(wrong))).into())
            }
            Some(_) | None => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let valid = verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )?;
        // Not before: a certificate can be copied, its key cannot.
        if let Ok(pin) = SpkiPin::of_certificate(certificate) {
            self.proven.note(pin);
        }
        Ok(valid)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A client's configuration that trusts one pin: TLS 1.3 only, resumption off; ALPN is the caller's.
pub fn client_config(pin: SpkiPin) -> ClientConfig {
    config(PinVerifier::new(pin))
}

/// The same, but it trusts the pin that was announced to come next, too; `proven` says which it was.
pub fn client_config_with_next(pin: SpkiPin, next: Option<SpkiPin>, proven: ProvenPin) -> ClientConfig {
    config(PinVerifier::with(Some(pin), next, proven))
}

/// The same, but it trusts any key that the other end can prove: to see the pin of somebody who was never met, and to say
/// nothing to them before a person has agreed to it.
pub fn dangerous_first_use_config() -> ClientConfig {
    config(PinVerifier::with(None, None, ProvenPin::default()))
}

/// The pin that the other end proved in its handshake.
///
/// # Errors
/// When there was no handshake, or its certificate cannot be read.
pub fn seen_pin(connection: &rustls::ClientConnection) -> Result<SpkiPin, CertsError> {
    let certificate = connection.peer_certificates().and_then(<[_]>::first);
    SpkiPin::of_certificate(certificate.ok_or(CertsError::Parsing("the certificate"))?)
}

fn config(verifier: PinVerifier) -> ClientConfig {
    let mut config = ClientConfig::builder_with_provider(verifier.provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has cipher suites of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc, time::Duration};

    use rustls::{CertificateError, ClientConfig, ClientConnection, Error, ServerConnection};
    use rustls_pki_types::{ServerName, UnixTime};

    use super::{
        ProvenPin, WrongPin, client_config, client_config_with_next, dangerous_first_use_config, seen_pin,
    };
    use crate::{IDENTITY_SERVER_NAME, Identity, Names, Resolver, SpkiPin, server_config};

    const NOW: UnixTime = UnixTime::since_unix_epoch(Duration::from_secs(1_795_000_000));

    struct Daemon {
        _home: tempfile::TempDir,
        identity: Identity,
        resolver: Arc<Resolver>,
    }

    fn daemon() -> Daemon {
        let home = tempfile::tempdir().unwrap();
        let identity = Identity::load_or_create(&home.path().join("keys")).unwrap();
        let resolver = Resolver::new(
            identity
                .certificate(&Names::new("0011223344556677"), NOW)
                .unwrap(),
        );
        Daemon {
            _home: home,
            identity,
            resolver,
        }
    }

    /// Passes bytes to and fro in memory until both sides are content or one refuses.
    fn shake_hands(daemon: &Daemon, pin: SpkiPin) -> Result<ClientConnection, rustls::Error> {
        shake_hands_by(daemon, client_config(pin))
    }

    fn shake_hands_by(daemon: &Daemon, mut config: ClientConfig) -> Result<ClientConnection, rustls::Error> {
        let name = ServerName::try_from(IDENTITY_SERVER_NAME).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let mut client = ClientConnection::new(Arc::new(config), name)?;
        let mut server = ServerConnection::new(server_config(daemon.resolver.clone()))?;
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut io::Cursor::new(wire)).unwrap();
            server.process_new_packets()?;
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            client.read_tls(&mut io::Cursor::new(wire)).unwrap();
            client.process_new_packets()?;
        }
        Ok(client)
    }

    #[test]
    fn the_right_pin_is_accepted() {
        let daemon = daemon();
        let client = shake_hands(&daemon, daemon.identity.pin()).unwrap();
        assert_eq!(client.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        assert_eq!(client.alpn_protocol(), Some(&b"h2"[..]));
    }

    #[test]
    fn the_pin_that_comes_next_is_accepted_where_it_was_announced_and_only_its_proof_counts() {
        let (daemon, thief) = (daemon(), self::daemon());
        let (former, next) = (thief.identity.pin(), daemon.identity.pin());
        let proven = ProvenPin::default();
        let config = |next| client_config_with_next(former, next, proven.clone());
        let stolen = rustls::sign::CertifiedKey::new(
            daemon.resolver.current().cert.clone(),
            thief.resolver.current().key.clone(),
        );
        let honest = thief.resolver.current();
        thief.resolver.swap(crate::Certified {
            key: Arc::new(stolen),
            not_after: NOW,
        });
        assert!(shake_hands_by(&thief, config(Some(next))).is_err());
        assert_eq!(proven.last(), None);
        assert!(shake_hands_by(&daemon, config(None)).is_err());
        shake_hands_by(&daemon, config(Some(next))).unwrap();
        assert_eq!(proven.last(), Some(next));
        thief.resolver.swap(crate::Certified {
            key: honest,
            not_after: NOW,
        });
        shake_hands_by(&thief, config(Some(next))).unwrap();
        assert_eq!(
            proven.last(),
            Some(former),
            "until it comes, the former is as good"
        );
    }

    #[test]
    fn another_pin_is_refused_and_both_are_told() {
        let (daemon, expected) = (daemon(), self::daemon().identity.pin());
        let refused = shake_hands(&daemon, expected).unwrap_err();
        let Error::InvalidCertificate(CertificateError::Other(why)) = refused else {
            panic!("{refused}")
        };
        let seen = daemon.identity.pin();
        assert_eq!(why.0.downcast_ref(), Some(&WrongPin { expected, seen }));
    }

    #[test]
    fn at_first_sight_any_key_is_seen_if_it_is_proven() {
        let (daemon, thief) = (daemon(), self::daemon());
        let client = shake_hands_by(&daemon, dangerous_first_use_config()).unwrap();
        assert_eq!(seen_pin(&client).unwrap(), daemon.identity.pin());
        let stolen = daemon.resolver.current().cert.clone();
        let signer = thief.resolver.current().key.clone();
        let key = Arc::new(rustls::sign::CertifiedKey::new(stolen, signer));
        thief.resolver.swap(crate::Certified { key, not_after: NOW });
        assert!(shake_hands_by(&thief, dangerous_first_use_config()).is_err());
    }

    #[test]
    fn a_copied_certificate_without_its_key_is_refused() {
        let (daemon, thief) = (daemon(), self::daemon());
        let stolen = daemon.resolver.current().cert.clone();
        let signer = thief.resolver.current().key.clone();
        let key = Arc::new(rustls::sign::CertifiedKey::new(stolen, signer));
        thief.resolver.swap(crate::Certified { key, not_after: NOW });
        assert!(shake_hands(&thief, daemon.identity.pin()).is_err());
    }

    #[test]
    fn a_swapped_certificate_under_the_same_key_keeps_the_pin() {
        let daemon = daemon();
        let names = Names::new("0011223344556677").host("box.example");
        daemon
            .resolver
            .swap(daemon.identity.certificate(&names, NOW).unwrap());
        let client = shake_hands(&daemon, daemon.identity.pin()).unwrap();
        assert_eq!(
            client.peer_certificates().unwrap()[0],
            daemon.resolver.current().cert[0]
        );
    }
}
