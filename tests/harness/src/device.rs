//! A paired device, over TLS with the identity pin.

use std::{net::SocketAddr, sync::Arc};

use pairing::DeviceId;
use protocol::attach::Mode;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::Serialize;

use crate::{Answer, Attached, DeviceKey, EventReader, TestDaemon, Unattached, within};

/// A client that trusts one pin and nothing else.
#[derive(Clone, Debug)]
pub struct TlsClient {
    client: reqwest::Client,
    address: SocketAddr,
    pin: String,
}

impl TlsClient {
    /// Speaks to the address if its certificate has the pin.
    ///
    /// # Panics
    /// Where the pin is malformed.
    pub fn new(address: SocketAddr, pin: &str) -> Self {
        Self::offering(&[], address, pin)
    }

    /// The same over HTTP/2.
    pub fn http2(address: SocketAddr, pin: &str) -> Self {
        Self::offering(&[b"h2"], address, pin)
    }

    fn offering(protocols: &[&[u8]], address: SocketAddr, pin: &str) -> Self {
        install_crypto();
        let mut config = certs::client_config(pin.parse().expect("a pin"));
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .no_proxy()
            .dns_resolver(Arc::new(Everywhere(address)))
            .build();
        Self {
            client: client.expect("the TLS configuration is rustls'"),
            address,
            pin: pin.to_owned(),
        }
    }

    /// A read at the same address under another name, not yet sent.
    pub fn at(&self, authority: &str, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("https://{authority}{path}"))
    }

    /// Sends a request with or without a bearer.
    pub async fn get(&self, path: &str, bearer: Option<&str>) -> Answer {
        self.request("GET", path, bearer, None::<&()>).await
    }

    /// Posts a body.
    pub async fn post(&self, path: &str, bearer: Option<&str>, body: &impl Serialize) -> Answer {
        self.request("POST", path, bearer, Some(body)).await
    }

    /// Sends any request.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        bearer: Option<&str>,
        body: Option<&impl Serialize>,
    ) -> Answer {
        let response = within(path, self.build(method, path, bearer, body).send()).await;
        let response = response.unwrap_or_else(|error| panic!("{path}: {error:?}"));
        within(path, Answer::read(response))
            .await
            .unwrap_or_else(|error| panic!("{path}: {error:?}"))
    }

    /// A request, not yet sent.
    pub fn build(
        &self,
        method: &str,
        path: &str,
        bearer: Option<&str>,
        body: Option<&impl Serialize>,
    ) -> reqwest::RequestBuilder {
        let method = method.parse().expect("tests use real methods");
        let mut request = self
            .client
            .request(method, format!("https://{}{path}", self.address));
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request
    }
}

/// Takes every name to one address.
struct Everywhere(SocketAddr);

impl Resolve for Everywhere {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses: Addrs = Box::new(std::iter::once(self.0));
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// A paired device.
pub struct Device {
    client: TlsClient,
    id: DeviceId,
    token: String,
    key: DeviceKey,
}

impl Device {
    pub(crate) fn new(client: TlsClient, id: DeviceId, token: String, key: DeviceKey) -> Self {
        Self {
            client,
            id,
            token,
            key,
        }
    }

    /// Its id.
    pub fn id(&self) -> DeviceId {
        self.id
    }

    /// Its token, for tests about tokens.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its key.
    pub fn key(&self) -> &DeviceKey {
        &self.key
    }

    /// Speaks to the daemon at the address it has now, after a restart.
    pub fn follow(&mut self, daemon: &TestDaemon) {
        self.client = TlsClient::new(daemon.address(), &self.client.pin);
    }

    /// Goes by another way to the same daemon, through a proxy for example.
    pub fn go_by(&mut self, address: SocketAddr) {
        self.client = TlsClient::new(address, &self.client.pin);
    }

    /// The same device with connections of its own.
    pub fn client(&self) -> TlsClient {
        TlsClient::new(self.client.address, &self.client.pin)
    }

    /// Reads a resource.
    pub async fn get(&self, path: &str) -> Answer {
        self.client.get(path, Some(&self.token)).await
    }

    /// Posts a body.
    pub async fn post(&self, path: &str, body: &impl Serialize) -> Answer {
        self.client.post(path, Some(&self.token), body).await
    }

    /// Deletes a resource.
    pub async fn delete(&self, path: &str) -> Answer {
        self.client
            .request("DELETE", path, Some(&self.token), None::<&()>)
            .await
    }

    /// Attaches; the token travels in the header, as a native client sends it.
    pub async fn attach(&self, session: &str, mode: Mode, from: &str) -> Attached {
        self.try_attach(session, mode, from)
            .await
            .unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Attaches, or gives the answer that refused it.
    pub async fn try_attach(&self, session: &str, mode: Mode, from: &str) -> Result<Attached, Answer> {
        let reached = self.reach(session, mode, from).await;
        reached.map_err(Unattached::answer)
    }

    /// Attaches to a session of a daemon that may be away; more of the query may follow `from`.
    ///
    /// # Errors
    /// Its answer, or that there is none.
    pub async fn reach(&self, session: &str, mode: Mode, from: &str) -> Result<Attached, Unattached> {
        Attached::over_tls(
            self.client.address,
            &self.client.pin,
            Some(&self.token),
            None,
            session,
            mode,
            from,
        )
        .await
    }

    /// Attaches as a browser does: the token travels in the first frame.
    pub async fn attach_like_a_browser(&self, session: &str, mode: Mode, from: &str) -> Attached {
        let first = Some(self.token.as_str());
        let attached = Attached::over_tls(
            self.client.address,
            &self.client.pin,
            None,
            first,
            session,
            mode,
            from,
        )
        .await;
        attached.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Attaches as a browser does, with any text as its first frame.
    pub async fn attach_with_first_frame(&self, session: &str, first: &str) -> Attached {
        let TlsClient { address, pin, .. } = &self.client;
        let attached =
            Attached::over_tls(*address, pin, None, Some(first), session, Mode::View, "screen").await;
        attached.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Looks as the page of an origin does, which asks at this host.
    pub async fn look_from_page(&self, host: &str, origin: &str, session: &str) -> Result<Attached, Answer> {
        let attached = Attached::from_page(
            self.client.address,
            &self.client.pin,
            &self.token,
            (host, origin),
            session,
        )
        .await;
        attached.map_err(Unattached::answer)
    }

    /// Follows the events.
    pub async fn events(&self, after: Option<u64>) -> EventReader {
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let request = self.client.build(
            "GET",
            &format!("/v1/events{query}"),
            Some(&self.token),
            None::<&()>,
        );
        EventReader::new(
            within("the event stream", request.send())
                .await
                .expect("the daemon answers"),
        )
    }
}

/// Makes ring the process's provider; doing it again changes nothing.
pub(crate) fn install_crypto() {
    rustls::crypto::ring::default_provider().install_default().ok();
}
