//! The TLS configuration of the daemon's listeners, and which certificate whoever comes is shown.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    server::{ClientHello, NoServerSessionStorage, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::{Certified, IDENTITY_SERVER_NAME, Pair};

/// Chooses the certificate for a handshake by the name that is asked for; each can be swapped while connections come in.
///
/// Who asks for [`IDENTITY_SERVER_NAME`] gets the identity's own leaf, and so does everybody for whose name or address there is
/// no other.
#[derive(Debug)]
pub struct Resolver {
    served: ArcSwap<Served>,
}

/// Where a certificate besides the identity's own leaf comes from. Of two for the same name the former here is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The user's own pair of files.
    Own,
    /// The local tailscaled, for the MagicDNS name.
    Tailnet,
    /// The authority that the user's own devices were told to trust.
    Trusted,
}

#[derive(Clone, Debug)]
struct Served {
    leaf: Arc<CertifiedKey>,
    others: BTreeMap<Source, Arc<Pair>>,
}

impl Resolver {
    /// Serves this certificate, whatever name is asked for.
    pub fn new(certified: Certified) -> Arc<Self> {
        Arc::new(Self {
            served: ArcSwap::from_pointee(Served {
                leaf: certified.key,
                others: BTreeMap::new(),
            }),
        })
    }

    /// Serves another leaf of the identity's from the next handshake on.
    pub fn swap(&self, certified: Certified) {
        self.change(|served| served.leaf = Arc::clone(&certified.key));
    }

    /// Serves the pair for its own names from the next handshake on, in the place of what came from that source before; none
    /// stops that.
    pub fn serve(&self, source: Source, pair: Option<Arc<Pair>>) {
        self.change(|served| {
            match &pair {
                Some(pair) => served.others.insert(source, Arc::clone(pair)),
                None => served.others.remove(&source),
            };
        });
    }

    /// The identity's leaf that is served now.
    pub fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.served.load().leaf)
    }

    /// The pair from a source that is served now.
    pub fn from_source(&self, source: Source) -> Option<Arc<Pair>> {
        self.served.load().others.get(&source).cloned()
    }

    /// What is shown to who asks for the name, or, without one, came to the address.
    fn choose(&self, name: Option<&str>, address: Option<IpAddr>) -> Arc<CertifiedKey> {
        let served = self.served.load();
        if name == Some(IDENTITY_SERVER_NAME) {
            return Arc::clone(&served.leaf);
        }
        let is_for = |pair: &&Arc<Pair>| match (name, address) {
            (Some(name), _) => pair.names.has_host(name),
            (None, Some(address)) => pair.names.has_address(address),
            (None, None) => false,
        };
        let other = served.others.values().find(is_for);
        other.map_or_else(|| Arc::clone(&served.leaf), |pair| Arc::clone(&pair.key))
    }

    fn change(&self, change: impl Fn(&mut Served)) {
        self.served.rcu(|served| {
            let mut served = Served::clone(served);
            change(&mut served);
            served
        });
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.choose(hello.server_name(), None))
    }
}

/// The resolver for a listener at one address: whoever comes to that sends no name.
#[derive(Debug)]
struct AtAddress {
    resolver: Arc<Resolver>,
    address: IpAddr,
}

impl ResolvesServerCert for AtAddress {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let address = self.address.to_canonical();
        Some(self.resolver.choose(hello.server_name(), Some(address)))
    }
}

/// TLS 1.3 only, `h2` and `http/1.1`, no early data and no resumption: every handshake shows the current certificate.
pub fn server_config(resolver: Arc<Resolver>) -> Arc<ServerConfig> {
    config(resolver)
}

/// The same for a listener that is bound to one address.
pub fn server_config_at(resolver: Arc<Resolver>, address: IpAddr) -> Arc<ServerConfig> {
    config(Arc::new(AtAddress { resolver, address }))
}

fn config(resolver: Arc<dyn ResolvesServerCert>) -> Arc<ServerConfig> {
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

#[cfg(test)]
mod tests;
