//! A paired device, over TLS with the identity pin.

use std::{net::SocketAddr, sync::Arc};

use pairing::{DeviceId, KeyHolder};
use protocol::{
    Bytes64,
    access::{ProofOfKey, Proven},
    attach::Mode,
};
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

    /// Looks at a session, with the token in the header, or in the first frame as a page has it.
    ///
    /// # Errors
    /// The answer that refused it.
    pub async fn look(
        &self,
        bearer: Option<&str>,
        first_frame: Option<&str>,
        session: &str,
    ) -> Result<Attached, Answer> {
        let Self { address, pin, .. } = self;
        let attached =
            Attached::over_tls(*address, pin, bearer, first_frame, session, Mode::View, "screen").await;
        attached.map_err(Unattached::answer)
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
        let mut answer = self.try_request(method, path, bearer, body).await;
        if method == "GET" && answer.is_err() {
            // The daemon may have closed a kept connection just then: clients ask once more, on a new one.
            answer = self.try_request(method, path, bearer, body).await;
        }
        answer.unwrap_or_else(|error| panic!("{path}: {error:?}"))
    }

    /// The same of a daemon that may be away.
    async fn try_request(
        &self,
        method: &str,
        path: &str,
        bearer: Option<&str>,
        body: Option<&impl Serialize>,
    ) -> Result<Answer, Unattached> {
        let response = within(path, self.build(method, path, bearer, body).send()).await?;
        Ok(within(path, Answer::read(response)).await?)
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

/// A paired device: it proves its key when it must, and its requests carry access tokens.
pub struct Device {
    client: TlsClient,
    holder: KeyHolder,
    token: String,
    key: DeviceKey,
    /// The last answer to a proof.
    proven: tokio::sync::Mutex<Option<Proven>>,
}

impl Device {
    pub(crate) fn new(
        client: TlsClient,
        holder: impl Into<KeyHolder>,
        token: String,
        key: DeviceKey,
    ) -> Self {
        Self {
            client,
            holder: holder.into(),
            token,
            key,
            proven: tokio::sync::Mutex::default(),
        }
    }

    /// Its id.
    ///
    /// # Panics
    /// Of a guest.
    pub fn id(&self) -> DeviceId {
        self.holder.device_id().expect("a device has a device's id")
    }

    /// Its device token, which opens nothing without its key.
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

    /// A challenge, as every refusal carries one.
    pub async fn challenge(&self) -> String {
        challenge_of(&self.client().get("/v1/whoami", None).await)
    }

    /// The proof of this device's key over a challenge, for the pin that it knows.
    pub fn proof(&self, challenge: &str) -> ProofOfKey {
        self.proof_for(challenge, &format!("pin:{}", self.client.pin), self.holder)
    }

    /// The same for any audience, and in the name of anybody.
    pub fn proof_for(&self, challenge: &str, audience: &str, holder: impl Into<KeyHolder>) -> ProofOfKey {
        let parsed = audience.parse().expect("an audience");
        ProofOfKey {
            challenge: challenge.to_owned(),
            audience: audience.to_owned(),
            signature: Bytes64(self.key.sign(&pairing::proof_text(challenge, &parsed, holder))),
        }
    }

    /// Shows a proof with this device's token, whatever the answer.
    pub async fn prove(&self, proof: &ProofOfKey) -> Answer {
        self.client.post(PROOF, Some(&self.token), proof).await
    }

    /// An access token that was good when it was last used; a fresh one where there is none.
    pub async fn access(&self) -> String {
        let access = self.try_access().await;
        access.unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }

    /// The same, or why there is none.
    async fn try_access(&self) -> Result<String, Unattached> {
        let mut proven = self.proven.lock().await;
        if proven.is_none() {
            let asked = self.client.try_request("GET", "/v1/whoami", None, None::<&()>);
            *proven = Some(self.renewed(challenge_of(&asked.await?)).await?);
        }
        Ok(expect(&proven))
    }

    /// Another access token, since the daemon does not take the one that it was shown any more.
    async fn renew(&self, refusal: &Answer, shown: &str) -> Result<String, Unattached> {
        let mut proven = self.proven.lock().await;
        // Another request may have done it meanwhile.
        if proven.is_none() || expect(&proven) == shown {
            *proven = Some(self.renewed(challenge_of(refusal)).await?);
        }
        Ok(expect(&proven))
    }

    async fn renewed(&self, challenge: String) -> Result<Proven, Unattached> {
        let proof = self.proof(&challenge);
        let shown = self
            .client
            .try_request("POST", PROOF, Some(&self.token), Some(&proof));
        let answer = shown.await?;
        if answer.status == 200 {
            Ok(answer.ok())
        } else {
            Err(Unattached::Refused(answer))
        }
    }

    /// Does something with an access token, and again with another where the daemon wants the key proven once more.
    async fn with_access<T, F>(&self, act: impl Fn(String) -> F) -> Result<T, Unattached>
    where
        F: Future<Output = Result<T, Unattached>>,
    {
        let mut token = self.try_access().await?;
        // What another task proved meanwhile may have ended as well, with the daemon that it was proven to.
        for _ in 0..MAX_RENEWALS {
            match act(token.clone()).await {
                Err(Unattached::Refused(refusal)) if is_stale(&refusal) => {
                    token = self.renew(&refusal, &token).await?;
                }
                done => return done,
            }
        }
        act(token).await
    }

    /// Sends any request.
    pub async fn request(&self, method: &str, path: &str, body: Option<&impl Serialize>) -> Answer {
        let asked = self.with_access(|token| async move {
            let answer = self.client.request(method, path, Some(&token), body).await;
            if answer.status == 401 || is_stale(&answer) {
                Err(Unattached::Refused(answer))
            } else {
                Ok(answer)
            }
        });
        asked.await.unwrap_or_else(Unattached::answer)
    }

    /// Reads a resource.
    pub async fn get(&self, path: &str) -> Answer {
        self.request("GET", path, None::<&()>).await
    }

    /// Posts a body.
    pub async fn post(&self, path: &str, body: &impl Serialize) -> Answer {
        self.request("POST", path, Some(body)).await
    }

    /// Deletes a resource.
    pub async fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, None::<&()>).await
    }

    /// Reads the beginning of an answer, maybe of one without end, on a connection of its own, which then goes.
    ///
    /// # Errors
    /// The answer where it is a 401, or that there is none.
    pub async fn glance(&self, path: &str) -> Result<(), Unattached> {
        let client = &self.client();
        self.with_access(|token| async move {
            let request = client.build("GET", path, Some(&token), None::<&()>);
            let mut response = within(path, request.send()).await?;
            if response.status().as_u16() == 401 {
                return Err(Unattached::Refused(Answer::read(response).await?));
            }
            within(path, response.chunk()).await?;
            Ok(())
        })
        .await
    }

    /// Attaches; the access token travels in the header, as a native client sends it.
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
        let TlsClient { address, pin, .. } = &self.client;
        self.with_access(|token| async move {
            Attached::over_tls(*address, pin, Some(&token), None, session, mode, from).await
        })
        .await
    }

    /// The same as a page does: it asks who it is, which proves its key where that is wanted, and then sends the access token in
    /// the first frame.
    ///
    /// # Errors
    /// As for [`reach`](Self::reach).
    pub async fn reach_like_a_browser(
        &self,
        session: &str,
        mode: Mode,
        from: &str,
    ) -> Result<Attached, Unattached> {
        let TlsClient { address, pin, .. } = &self.client;
        self.with_access(|token| async move {
            let known = self
                .client
                .try_request("GET", "/v1/whoami", Some(&token), None::<&()>);
            match known.await? {
                answer if answer.status == 401 => Err(Unattached::Refused(answer)),
                _ => Attached::over_tls(*address, pin, None, Some(&token), session, mode, from).await,
            }
        })
        .await
    }

    /// Attaches as a browser does: the access token travels in the first frame.
    pub async fn attach_like_a_browser(&self, session: &str, mode: Mode, from: &str) -> Attached {
        let TlsClient { address, pin, .. } = &self.client;
        let token = self.access().await;
        let attached = Attached::over_tls(*address, pin, None, Some(&token), session, mode, from).await;
        attached.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Attaches as a browser does, with any text as its first frame.
    pub async fn attach_with_first_frame(&self, session: &str, first: &str) -> Attached {
        let TlsClient { address, pin, .. } = &self.client;
        let attached =
            Attached::over_tls(*address, pin, None, Some(first), session, Mode::View, "screen").await;
        attached.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Opens a WebSocket as a browser does, and says nothing.
    pub async fn attach_silently(&self, session: &str) -> Attached {
        let TlsClient { address, pin, .. } = &self.client;
        let attached = Attached::over_tls(*address, pin, None, None, session, Mode::View, "screen").await;
        attached.unwrap_or_else(|answer| panic!("{answer:?}"))
    }

    /// Looks as the page of an origin does, which asks at this host.
    pub async fn look_from_page(&self, host: &str, origin: &str, session: &str) -> Result<Attached, Answer> {
        let attached = Attached::from_page(
            self.client.address,
            &self.client.pin,
            &self.access().await,
            (host, origin),
            session,
        )
        .await;
        attached.map_err(Unattached::answer)
    }

    /// Follows the events.
    pub async fn events(&self, after: Option<u64>) -> EventReader {
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let path = &format!("/v1/events{query}");
        let opened = self.with_access(|token| async move {
            let request = self.client.build("GET", path, Some(&token), None::<&()>);
            let response = within("the event stream", request.send())
                .await
                .expect("the daemon answers");
            if response.status().as_u16() == 200 {
                return Ok(response);
            }
            let answer = Answer::read(response).await.expect("the daemon answers");
            Err(Unattached::Refused(answer))
        });
        EventReader::new(opened.await.unwrap_or_else(|answer| panic!("{answer:?}")))
    }
}

fn expect(proven: &Option<Proven>) -> String {
    let proven = proven.as_ref().expect("it was proven just now");
    proven.access_token.expose().to_owned()
}

/// Whether the access token may only have ended: where many credentials failed, that is all that is said.
fn is_stale(refusal: &Answer) -> bool {
    [401, 429].contains(&refusal.status)
        && ["access_ended", "too_many_failures"].contains(&refusal.problem().code.as_str())
}

fn challenge_of(refusal: &Answer) -> String {
    let challenge = refusal.problem().challenge;
    challenge.expect("every refusal of a listener carries a challenge")
}

/// Makes ring the process's provider; doing it again changes nothing.
pub(crate) fn install_crypto() {
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// Access tokens in a row that ended before they were used.
const MAX_RENEWALS: usize = 3;
/// Where keys are proven.
const PROOF: &str = "/v1/auth/proof";
