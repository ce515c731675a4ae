//! A listener as somebody who comes sees it: a connection, a handshake, and the certificate that is shown.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use ::client::{Place, install_crypto};
use certs::{IDENTITY_SERVER_NAME, SpkiPin};
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{net::TcpSocket, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::failure::Failure;

/// Where a listener is reached from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Door {
    /// Where it was bound.
    pub(crate) at: SocketAddr,
}

impl Door {
    /// The listener that is bound there.
    pub(crate) fn at(at: SocketAddr) -> Self {
        Self { at }
    }

    /// An address of it that this machine can call.
    pub(crate) fn reached(self) -> SocketAddr {
        let ip = match self.at.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.at.port())
    }

    /// What it shows to who asks for this name or address. Whoever shows it has the key; nothing else is checked.
    ///
    /// # Errors
    /// What kept it from being seen.
    pub(crate) async fn shown(self, host: &str) -> Result<CertificateDer<'static>, Failure> {
        let refused = |error: &io::Error| Failure::connecting(&self.place(), error);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| refused(&io::Error::from(io::ErrorKind::InvalidInput)))?;
        let stream = self.shake_hands(name, certs::dangerous_first_use_config()).await;
        let stream = stream.map_err(|error| refused(&error))?;
        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let shown = shown.map(|shown| shown.clone().into_owned());
        shown.ok_or_else(|| refused(&io::Error::from(io::ErrorKind::InvalidData)))
    }

    /// Checks that the holder of this key is there, as a native client does.
    ///
    /// # Errors
    /// Who is there instead, or why nobody is.
    pub(crate) async fn check_pin(self, pin: SpkiPin) -> Result<(), Failure> {
        let name = ServerName::try_from(IDENTITY_SERVER_NAME).expect("a constant name parses");
        let done = self.shake_hands(name, certs::client_config(pin)).await;
        done.map(drop)
            .map_err(|error| Failure::connecting(&self.place(), &error))
    }

    fn place(self) -> Place {
        Place::unnamed(self.reached())
    }

    async fn shake_hands(
        self,
        name: ServerName<'static>,
        mut config: ClientConfig,
    ) -> io::Result<TlsStream<tokio::net::TcpStream>> {
        install_crypto();
        let to = self.reached();
        let socket = match to {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // As this machine itself, whose addresses the daemon knows, and not as whom the kernel would choose.
        socket.bind(SocketAddr::new(to.ip(), 0))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let connector = TlsConnector::from(Arc::new(config));
        let shaken = async { connector.connect(name, socket.connect(to).await?).await };
        timeout(PATIENCE, shaken)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

/// How long a listener of this machine may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
