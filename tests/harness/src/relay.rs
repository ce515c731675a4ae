//! A machine in the middle that ends TLS with a key of its own.

use std::{net::SocketAddr, time::SystemTime};

use certs::{Identity, Names, Resolver};
use rustls::pki_types::UnixTime;
use tokio::{io::copy_bidirectional, net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

use crate::{TestDaemon, raw};

/// Shows its own certificate to whoever comes, and passes all that they say on to the daemon, over TLS as well.
pub struct Relay {
    address: SocketAddr,
    pin: String,
    task: JoinHandle<()>,
}

impl Relay {
    /// Listens on a free port of loopback.
    ///
    /// # Panics
    /// Where there is no free port, or no key can be made.
    pub async fn to(daemon: &TestDaemon) -> Self {
        crate::device::install_crypto();
        let keys = tempfile::tempdir().expect("a folder can be made");
        let identity = Identity::load_or_create(&keys.path().join("keys")).expect("a key can be made");
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("it is later than 1970");
        let names = Names::new("0000000000000000");
        let certificate = identity
            .certificate(&names, UnixTime::since_unix_epoch(now))
            .expect("a certificate");
        let acceptor = TlsAcceptor::from(certs::server_config(Resolver::new(certificate)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (daemon, daemons_pin) = (daemon.address(), daemon.pin().to_owned());
        let task = tokio::spawn(async move {
            while let Ok((victim, _)) = listener.accept().await {
                let (acceptor, pin) = (acceptor.clone(), daemons_pin.clone());
                tokio::spawn(async move {
                    // A victim that checks the pin goes away here.
                    if let Ok(mut victim) = acceptor.accept(victim).await {
                        let mut daemon = raw::tls(daemon, &pin, &[]).await;
                        copy_bidirectional(&mut victim, &mut daemon).await.ok();
                    }
                });
            }
        });
        Self {
            address,
            pin: identity.pin().to_string(),
            task,
        }
    }

    /// Where victims connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The pin that they see.
    pub fn pin(&self) -> &str {
        &self.pin
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}
