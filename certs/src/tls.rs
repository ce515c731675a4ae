//! The TLS configuration of the daemon's listeners.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    server::{ClientHello, NoServerSessionStorage, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::Certified;

/// Serves one certificate, which can be swapped while connections come in.
#[derive(Debug)]
pub struct Resolver {
    current: ArcSwap<CertifiedKey>,
}

impl Resolver {
    /// Serves this certificate, whatever name is asked for.
    pub fn new(certified: Certified) -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwap::new(certified.key),
        })
    }

    /// Serves another certificate from the next handshake on.
    pub fn swap(&self, certified: Certified) {
        self.current.store(certified.key);
    }

    /// What is served now.
    pub fn current(&self) -> Arc<CertifiedKey> {
        self.current.load_full()
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

/// TLS 1.3 only, `h2` and `http/1.1`, no early data and no resumption: every handshake shows the current certificate.
pub fn server_config(resolver: Arc<Resolver>) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has cipher suites of TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Arc::new(config)
}
