//! HTTPS with one pinned key: requests and WebSockets, without any credential.

use std::{io, sync::Arc, time::Duration};

use certs::{IDENTITY_SERVER_NAME, ProvenPin, SpkiPin};
use reqwest::{
    Method, RequestBuilder, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header,
    redirect::Policy,
};
use rustls::{ClientConfig, pki_types::ServerName};
use serde::de::DeserializeOwned;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::tungstenite::handshake::client::Request;

use crate::{
    address::Address,
    error::{Error, MayPass},
    place::Place,
    tunnel::Tunnel,
    way::{self, WebSocket},
};

/// A client of whoever holds the pin's key at an address. It always asks for the identity's name, so it is answered with the
/// identity's certificate, whatever else is served there.
#[derive(Clone, Debug)]
pub struct Https {
    place: Place,
    address: Address,
    pin: SpkiPin,
    next: Option<SpkiPin>,
    proven: ProvenPin,
    http: reqwest::Client,
    /// What the address is the near end of.
    tunnel: Option<Arc<dyn Tunnel>>,
}

impl Https {
    /// A client of the daemon with this pin at an address, by a name for errors; nothing is connected yet.
    ///
    /// # Errors
    /// No client can be made.
    pub fn to(name: &str, address: &Address, pin: SpkiPin) -> Result<Self, Error> {
        Self::with_next(name, address, pin, None)
    }

    /// The same, of a daemon that has announced which pin comes next.
    ///
    /// # Errors
    /// No client can be made.
    pub fn with_next(
        name: &str,
        address: &Address,
        pin: SpkiPin,
        next: Option<SpkiPin>,
    ) -> Result<Self, Error> {
        let place = Place::Remote {
            name: name.to_owned(),
            address: address.to_string(),
        };
        Self::at(place, address, (pin, next), None)
    }

    /// A client through a tunnel, whose near end is at the address; nothing is connected yet.
    ///
    /// # Errors
    /// No client can be made.
    pub fn through(
        place: Place,
        tunnel: Arc<dyn Tunnel>,
        address: &Address,
        pin: SpkiPin,
        next: Option<SpkiPin>,
    ) -> Result<Self, Error> {
        Self::at(place, address, (pin, next), Some(tunnel))
    }

    fn at(
        place: Place,
        address: &Address,
        (pin, next): (SpkiPin, Option<SpkiPin>),
        tunnel: Option<Arc<dyn Tunnel>>,
    ) -> Result<Self, Error> {
        way::install_crypto();
        let proven = ProvenPin::default();
        let config = certs::client_config_with_next(pin, next, proven.clone());
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(http1(config))
            .dns_resolver(Arc::new(Everywhere(address.clone())))
            .no_proxy()
            .redirect(Policy::none())
            .http1_only()
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(|error| way::no_client(&error))?;
        Ok(Self {
            place,
            address: address.clone(),
            pin,
            next,
            proven,
            http,
            tunnel,
        })
    }

    /// Where it leads, for errors.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The key that is there, or must be as long as nothing was connected.
    pub fn pin(&self) -> SpkiPin {
        self.proven.last().unwrap_or(self.pin)
    }

    /// A request of the API, not yet sent.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!(
            "https://{IDENTITY_SERVER_NAME}:{}{}{path}",
            self.address.port,
            protocol::API
        );
        // TLS asks for the identity, HTTP for the host by which the daemon knows itself.
        self.http
            .request(method, url)
            .header(header::HOST, self.address.to_string())
    }

    /// Sends a request, and gives back its answer, whatever that says.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        self.ready().await?;
        match request.send().await {
            Ok(response) => Ok(response),
            Err(error) => Err(self.explained(way::broken(&self.place, &error)).await),
        }
    }

    /// Opens a WebSocket of the API as the bearer of a token.
    ///
    /// # Errors
    /// What kept the connection from being made, or the daemon's refusal.
    pub(crate) async fn upgrade(&self, path: &str, bearer: &str) -> Result<WebSocket, Error> {
        self.ready().await?;
        let config = certs::client_config_with_next(self.pin, self.next, self.proven.clone());
        let stream = match connect(&self.address, config).await {
            Ok(stream) => stream,
            Err(error) => return Err(self.explained(Error::connecting(&self.place, &error)).await),
        };
        let request = Request::builder()
            .uri(format!("wss://{}{}{path}", self.address, protocol::API))
            .header("host", self.address.to_string())
            .header("authorization", format!("Bearer {bearer}"));
        way::upgrade(Box::new(stream), request, &self.place).await
    }

    /// Asks for a value that is told to anybody.
    ///
    /// # Errors
    /// Why there is no answer, the daemon's refusal, or that its answer is not understood.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let response = self.send(self.request(Method::GET, path)).await?;
        let body = way::done(response, &self.place).await?.bytes().await;
        let body = body.map_err(|error| way::broken(&self.place, &error))?;
        way::understood(&body)
    }

    async fn ready(&self) -> Result<(), Error> {
        match &self.tunnel {
            Some(tunnel) => tunnel.ready().await.map_err(Error::Tunnel),
            None => Ok(()),
        }
    }

    /// The error, in the tunnel's words where that knows better.
    async fn explained(&self, error: Error) -> Error {
        match &self.tunnel {
            Some(tunnel) if error.is_about_the_link() => {
                tunnel.not_carried().await.map_or(error, Error::Tunnel)
            }
            Some(_) | None => error,
        }
    }
}

/// The pin that is shown at an address; whoever shows it is told nothing.
///
/// # Errors
/// What kept it from being seen.
pub async fn first_sight(address: &Address) -> Result<SpkiPin, Error> {
    way::install_crypto();
    let place = Place::unnamed(address);
    let stream = connect(address, certs::dangerous_first_use_config())
        .await
        .map_err(|error| Error::connecting(&place, &error))?;
    certs::seen_pin(stream.get_ref().1)
        .map_err(|_| Error::connecting(&place, &io::Error::from(io::ErrorKind::InvalidData)))
}

async fn connect(address: &Address, config: ClientConfig) -> io::Result<TlsStream<TcpStream>> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let stream = timeout(CONNECT, TcpStream::connect((address.host.as_str(), address.port)))
        .await
        .map_err(late)?
        .map_err(absent)?;
    // A key press must not wait for the next.
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(IDENTITY_SERVER_NAME).expect("a constant name parses");
    let connector = TlsConnector::from(Arc::new(http1(config)));
    timeout(CONNECT, connector.connect(name, stream))
        .await
        .map_err(late)?
}

/// WebSockets are HTTP/1.1, and a command asks little else.
fn http1(mut config: ClientConfig) -> ClientConfig {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Takes the identity's name to the daemon's own address.
struct Everywhere(Address);

impl Resolve for Everywhere {
    fn resolve(&self, _identity: Name) -> Resolving {
        let Address { host, port } = self.0.clone();
        Box::pin(async move {
            let found: Vec<_> = lookup_host((host, port)).await.map_err(absent)?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A name that no resolver knows has no kind of its own.
fn absent(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => io::Error::new(io::ErrorKind::NotFound, error),
    }
}

/// How long a connection may take to be made, and its handshake.
const CONNECT: Duration = Duration::from_secs(8);
/// How long a connection is kept for the next request: far shorter than the daemon keeps one that says nothing, so that none
/// is used at the moment in which it is closed.
const IDLE: Duration = Duration::from_secs(2);
