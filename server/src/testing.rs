//! What the tests of this crate share: a server on real sockets, and clients that speak to it.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Bytes;
use certs::{Identity, Names, Resolver, SpkiPin};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pairing::{Device, DeviceId, DeviceToken, PairingLimits, Role, TailnetIdentity};
use protocol::Problem;
use rustls::pki_types::{ServerName, UnixTime};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    access::{Access, Deps, ServerConfig},
    audit::AuditRow,
    clock,
    limits::Limits,
    listen::Listener,
    lockdown::{LockdownFile, OneDoor},
    peer::{EveryoneOutside, NoTailnet, RemotePeer, WhoIs, WhoIsAnswer},
    random,
    router::Routes,
    server::{Crashed, Server},
    shutdown::{Shutdown, Stop},
    store::Store,
};

/// A server with a Unix socket and a TLS listener, in a directory of its own.
pub(crate) struct TestServer {
    pub(crate) access: Arc<Access>,
    pub(crate) tls: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) stop: Stop,
    pub(crate) task: Option<JoinHandle<Result<(), Crashed>>>,
    pub(crate) pin: SpkiPin,
    pub(crate) config: Arc<rustls::ServerConfig>,
    pub(crate) directory: TempDir,
}

/// Says of every peer what the test wants, and of nobody anything before.
pub(crate) struct Tailnet(Mutex<WhoIsAnswer>);

impl Tailnet {
    pub(crate) fn everybody_is(&self, answer: WhoIsAnswer) {
        *self.0.lock().unwrap() = answer;
    }
}

impl WhoIs for Tailnet {
    fn who_is<'a>(&'a self, _peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer> {
        Box::pin(std::future::ready(self.0.lock().unwrap().clone()))
    }

    fn who_is_in_userspace<'a>(&'a self, peer: &'a RemotePeer) -> BoxFuture<'a, WhoIsAnswer> {
        self.who_is(peer)
    }

    fn judge(&self, who: TailnetIdentity) -> WhoIsAnswer {
        match &*self.0.lock().unwrap() {
            WhoIsAnswer::Known(listed) if listed.is_same(&who) => WhoIsAnswer::Known(who),
            WhoIsAnswer::Unlisted(unlisted) if unlisted.is_same(&who) => WhoIsAnswer::Unlisted(who),
            _ => WhoIsAnswer::Refused,
        }
    }

    fn knows_logins(&self) -> bool {
        true
    }
}

/// A paired device, and its token in the wire form.
pub(crate) struct TestDevice {
    pub(crate) id: DeviceId,
    pub(crate) token: String,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(Limits::default(), Routes::new()).await
    }

    pub(crate) async fn start_with(limits: Limits, routes: Routes<Arc<Access>>) -> Self {
        Self::start_knowing(limits, routes, Arc::new(NoTailnet)).await
    }

    /// With a listener of a tailnet.
    pub(crate) async fn start_in_a_tailnet(routes: Routes<Arc<Access>>) -> (Self, Arc<Tailnet>) {
        let tailnet = Arc::new(Tailnet(Mutex::new(WhoIsAnswer::NotATailnet)));
        let who_is = Arc::clone(&tailnet) as Arc<dyn WhoIs>;
        (
            Self::start_knowing(Limits::default(), routes, who_is).await,
            tailnet,
        )
    }

    /// With somebody who says from which node a peer comes.
    async fn start_knowing(limits: Limits, routes: Routes<Arc<Access>>, who_is: Arc<dyn WhoIs>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keys = directory.path().join("keys");
        let identity = Identity::load_or_create(&keys).unwrap();
        let opened = Store::open(&directory.path().join("transom.db"), &keys, clock::now()).unwrap();
        let certified = identity
            .certificate(&Names::new(&opened.instance), UnixTime::now())
            .unwrap();
        let config = certs::server_config(Resolver::new(certified));
        let touched = Arc::new(|_| vec!["ses_0000000000000001".to_owned()]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tls = listener.local_addr().unwrap();
        let deps = Deps {
            opened,
            pin: identity.pin(),
            local_origin: Arc::new(EveryoneOutside),
            touched,
            stands_at: Arc::new(|resource| (resource.as_str() != "ses_0000000000000000").then_some(100)),
            figures: Arc::new(|_| ()),
            who_is,
            doors: Arc::new(OneDoor::new(tls, &config)),
            lockdown: LockdownFile::new(directory.path()),
        };
        let access = Access::new(server_config(limits), deps);

        let socket = directory.path().join("transom.sock");
        let listeners = vec![
            Listener::Unix(UnixListener::bind(&socket).unwrap()),
            Listener::Tls {
                listener,
                config: Arc::clone(&config),
            },
        ];
        let stop = Stop::new();
        let server = Server::new(Arc::clone(&access)).routes(routes, &access);
        let task = Some(tokio::spawn(server.serve(listeners, stop.clone())));
        Self {
            access,
            tls,
            socket,
            stop,
            task,
            pin: identity.pin(),
            config,
            directory,
        }
    }

    /// A device as a pairing would have left it, in memory and in the store.
    pub(crate) async fn device(&self, role: Role, can_revoke: bool) -> TestDevice {
        let as_paired = |device| Device {
            role,
            can_revoke,
            ..device
        };
        self.device_with(as_paired).await
    }

    /// A viewer without a key, changed as the test wants it.
    pub(crate) async fn device_with(&self, change: impl FnOnce(Device) -> Device) -> TestDevice {
        let token = DeviceToken::generate(DeviceId::generate(&mut random::rng()), &mut random::rng());
        let device = change(record(&token, &self.access));
        let row = AuditRow::new(clock::now(), "nobody", "", "pairing_committed", device.id);
        self.access
            .store
            .commit_device(device.clone(), row)
            .await
            .unwrap();
        self.access.devices().add(device);
        self.access.devices_changed.notify_waiters();
        TestDevice {
            id: token.id(),
            token: token.reveal().to_string(),
        }
    }

    /// Asks on the Unix socket, as the owner.
    pub(crate) async fn owner(&self) -> Client {
        let stream = UnixStream::connect(&self.socket).await.unwrap();
        Client::http1(stream, "localhost").await
    }

    /// A TLS stream with this protocol agreed on.
    pub(crate) async fn tls(&self, protocol: &str) -> TlsStream<TcpStream> {
        self.try_tls(protocol).await.unwrap()
    }

    /// The same, or how it was refused.
    pub(crate) async fn try_tls(&self, protocol: &str) -> io::Result<TlsStream<TcpStream>> {
        let mut config = certs::client_config(self.pin);
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.tls).await?;
        let name = ServerName::try_from(certs::IDENTITY_SERVER_NAME).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    pub(crate) async fn http1(&self) -> Client {
        Client::http1(self.tls("http/1.1").await, &self.tls.to_string()).await
    }

    pub(crate) async fn http2(&self) -> Client {
        Client::http2(self.tls("h2").await, &self.tls.to_string()).await
    }

    /// Completes when this many connections live.
    pub(crate) async fn until_connections(&self, count: usize) {
        let reached = async {
            while self.access.connections().count() != count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, reached)
            .await
            .expect("the connections come to the wanted number");
    }

    /// Completes when nothing of a device is left; tasks may have to notice that their streams were cut.
    pub(crate) async fn until_none_of(&self, device: DeviceId) {
        let none = async {
            while self.access.connections().count_of(device) > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, none)
            .await
            .expect("no connection of the device is left");
    }

    /// Requests a stop and waits for it.
    pub(crate) async fn stop(&mut self, step: Shutdown) -> Result<(), Crashed> {
        self.stop.request(step);
        let task = self.task.take().unwrap();
        tokio::time::timeout(PATIENCE, task)
            .await
            .expect("the server stops in time")
            .unwrap()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.request(Shutdown::Hard);
    }
}

/// An HTTP client on one connection.
pub(crate) struct Client {
    pub(crate) authority: String,
    sender: Sender,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub(crate) async fn http1(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
        authority: &str,
    ) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self {
            authority: authority.to_owned(),
            sender: Sender::Http1(sender),
        }
    }

    async fn http2(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
        authority: &str,
    ) -> Self {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        Self {
            authority: authority.to_owned(),
            sender: Sender::Http2(sender),
        }
    }

    /// A request with what its transport needs.
    pub(crate) fn request(&self, method: Method, path: &str) -> http::request::Builder {
        match self.sender {
            Sender::Http1(_) => Request::builder()
                .method(method)
                .uri(path)
                .header(header::HOST, &self.authority),
            Sender::Http2(_) => Request::builder()
                .method(method)
                .uri(format!("https://{}{path}", self.authority)),
        }
    }

    pub(crate) async fn get(&mut self, path: &str, device: Option<&TestDevice>) -> Answer {
        self.ask(Method::GET, path, device).await
    }

    pub(crate) async fn delete(&mut self, path: &str, device: Option<&TestDevice>) -> Answer {
        self.ask(Method::DELETE, path, device).await
    }

    pub(crate) async fn post(&mut self, path: &str, kind: &str, body: impl Into<Bytes>) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header(header::CONTENT_TYPE, kind);
        self.answer(request.body(Full::new(body.into())).unwrap()).await
    }

    pub(crate) async fn ask(&mut self, method: Method, path: &str, device: Option<&TestDevice>) -> Answer {
        let request = self.request(method, path);
        self.answer(with_token(request, device).body(Full::default()).unwrap())
            .await
    }

    pub(crate) async fn answer(&mut self, request: Request<Full<Bytes>>) -> Answer {
        let response = tokio::time::timeout(PATIENCE, self.send(request))
            .await
            .expect("an answer in time")
            .unwrap();
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            status: head.status,
            headers: head.headers,
            bytes,
        }
    }

    /// Sends a request and returns at the answer's head.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<http::Response<Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    /// Completes when the connection is closed.
    pub(crate) async fn closed(&mut self) {
        let closed = async {
            loop {
                let is_closed = match &self.sender {
                    Sender::Http1(sender) => sender.is_closed(),
                    Sender::Http2(sender) => sender.is_closed(),
                };
                if is_closed {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, closed)
            .await
            .expect("the connection closes");
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// The status and code of a problem; the answer must be one in every respect.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.headers[header::CONTENT_TYPE], Problem::CONTENT_TYPE);
        let problem: Problem = serde_json::from_slice(&self.bytes).unwrap();
        assert_eq!(problem.status, self.status.as_u16());
        assert!(!problem.detail.is_empty() && !problem.hint.is_empty());
        (problem.status, problem.code)
    }
}

pub(crate) fn with_token(
    request: http::request::Builder,
    device: Option<&TestDevice>,
) -> http::request::Builder {
    match device {
        Some(device) => request.header(header::AUTHORIZATION, format!("Bearer {}", device.token)),
        None => request,
    }
}

fn record(token: &DeviceToken, access: &Access) -> Device {
    Device {
        id: token.id(),
        label: "phone".parse().unwrap(),
        public_key: None,
        role: Role::Viewer,
        can_revoke: false,
        any_path: false,
        token_hash: token.hash(&access.token_key),
        created: clock::now(),
        approved_from: "127.0.0.1".to_owned(),
        tailnet: None,
        expires_at: None,
        last_seen: None,
        last_address: None,
    }
}

fn server_config(limits: Limits) -> ServerConfig {
    ServerConfig {
        life: "0000000000000001".to_owned(),
        version: "0.1.0".to_owned(),
        app: None,
        names: Vec::new(),
        link_authority: Some("localhost:7443".to_owned()),
        noun: "session",
        limits,
        pairing: PairingLimits::default(),
        idle_expiry: Duration::from_secs(90 * 24 * 3600),
    }
}

/// How long a test waits for what must come: far more than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
