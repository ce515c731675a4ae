//! How a native client checks the daemon: by its pin alone.

use std::sync::Arc;

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::SpkiPin;

/// Accepts exactly the certificates under one key, whatever their names, dates and issuer; the handshake's signature must be
/// of that key.
#[derive(Debug)]
pub struct PinVerifier {
    pin: SpkiPin,
    provider: Arc<CryptoProvider>,
}

impl PinVerifier {
    /// Accepts certificates with this pin.
    pub fn new(pin: SpkiPin) -> Self {
        Self {
            pin,
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
        match SpkiPin::of_certificate(end_entity) {
            Ok(pin) if pin == self.pin => Ok(ServerCertVerified::assertion()),
            Ok(_) => Err(CertificateError::ApplicationVerificationFailure.into()),
            Err(_) => Err(CertificateError::BadEncoding.into()),
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
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A client's configuration that trusts one pin: TLS 1.3 only, resumption off; ALPN is the caller's.
pub fn client_config(pin: SpkiPin) -> ClientConfig {
    let verifier = PinVerifier::new(pin);
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

    use rustls::{ClientConnection, ServerConnection};
    use rustls_pki_types::{ServerName, UnixTime};

    use super::client_config;
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
        let name = ServerName::try_from(IDENTITY_SERVER_NAME).unwrap();
        let mut config = client_config(pin);
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
    fn another_pin_is_refused() {
        let refused = shake_hands(&daemon(), daemon().identity.pin()).unwrap_err();
        assert!(
            matches!(refused, rustls::Error::InvalidCertificate(_)),
            "{refused}"
        );
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
