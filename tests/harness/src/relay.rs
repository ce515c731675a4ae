//! A machine in the middle that ends TLS with a key of its own.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use certs::{Identity, Names, Resolver};
use rustls::pki_types::UnixTime;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, split},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::{TestDaemon, raw};

/// Shows its own certificate to whoever comes, and passes all that they say on to the daemon, over TLS as well.
pub struct Relay {
    address: SocketAddr,
    pin: String,
    heard: Heard,
    task: JoinHandle<()>,
}

/// What victims said, in plain.
type Heard = Arc<Mutex<Vec<u8>>>;

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
        let heard = Heard::default();
        let ears = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            while let Ok((victim, _)) = listener.accept().await {
                let (acceptor, pin, heard) = (acceptor.clone(), daemons_pin.clone(), Arc::clone(&ears));
                tokio::spawn(async move {
                    // A victim that checks the pin goes away here.
                    if let Ok(victim) = acceptor.accept(victim).await {
                        let (mut from_victim, mut to_victim) = split(victim);
                        let (mut from_daemon, mut to_daemon) = split(raw::tls(daemon, &pin, &[]).await);
                        tokio::select! {
                            () = listen(&mut from_victim, &mut to_daemon, &heard) => {}
                            _ = copy(&mut from_daemon, &mut to_victim) => {}
                        }
                    }
                });
            }
        });
        Self {
            address,
            pin: identity.pin().to_string(),
            heard,
            task,
        }
    }

    /// Where victims connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All that they said to it.
    pub fn heard(&self) -> String {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&heard).into_owned()
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

/// Passes on what a victim says, and remembers it.
async fn listen(
    victim: &mut (impl AsyncRead + Unpin),
    daemon: &mut (impl AsyncWrite + Unpin),
    heard: &Heard,
) {
    let mut piece = [0; 4096];
    while let Ok(bytes @ 1..) = victim.read(&mut piece).await {
        heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(&piece[..bytes]);
        if daemon.write_all(&piece[..bytes]).await.is_err() {
            return;
        }
    }
}
