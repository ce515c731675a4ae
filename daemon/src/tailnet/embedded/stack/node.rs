//! The node by Tailscale's crate, in a runtime of its own: whatever it leaves running ends with that.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use server::{UserspaceListener, UserspaceStream};
use tailscale::{AuthState, Config, Device, Error, NodeInfo, keys::PersistState, netstack};
use tokio::{net::TcpStream, runtime::Runtime, time::timeout};

use super::super::{NodeError, NodeFacts, Own, Stack};
use crate::config::NodeOptions;

/// Starts it, where its control server can be reached, with its keys in the folder.
///
/// # Errors
/// In words, with what to do.
pub(super) async fn start(
    options: Arc<NodeOptions>,
    folder: std::path::PathBuf,
) -> Result<Arc<dyn Stack>, NodeError> {
    // Keys that are kept say that it was started before, so none are made where it cannot be taken in.
    let is_known = certs::files::check(&folder.join(KEYS)).map_err(unusable)?;
    let auth_key = auth_key(options.auth_key.as_deref(), !is_known)?;
    let key_state = keys(&folder)?;
    let mut config = Config {
        key_state,
        client_name: Some(env!("CARGO_PKG_NAME").to_owned()),
        requested_hostname: options.hostname.clone(),
        ..Config::default()
    };
    if let Some(url) = &options.control {
        let url = url.parse();
        config.control_server_url =
            url.map_err(|error| NodeError(format!("tailnet.control_url is no URL: {error}")))?;
    }
    let url = config.control_server_url.to_string();
    if let Some(host) = config.control_server_url.host_str() {
        let port = config.control_server_url.port_or_known_default().unwrap_or(443);
        reach(host, port, &url).await?;
    }
    let runtime = OwnRuntime::new()
        .map_err(|error| NodeError(format!("the daemon's own node has no threads: {error}")))?;
    let starting = runtime.spawn(async move { Device::new(&config, auth_key).await });
    match timeout(START, starting).await {
        Ok(Ok(Ok(inner))) => Ok(Arc::new(Node {
            inner,
            is_broken: Arc::default(),
            _runtime: runtime,
        })),
        Ok(Ok(Err(error))) => Err(said(&error)),
        Ok(Err(crash)) => Err(NodeError(format!("the daemon's own node crashed: {crash}"))),
        Err(_) => Err(NodeError(format!(
            "the control server {url} is there and does not answer as one; the log may say more"
        ))),
    }
}

/// Whether anybody is there: what starts without that waits for good, and says nothing.
async fn reach(host: &str, port: u16, url: &str) -> Result<(), NodeError> {
    let unreachable = |error: &dyn std::fmt::Display| {
        NodeError(format!("the control server {url} cannot be reached: {error}"))
    };
    // Of an address of version 6 a URL has the brackets too.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match timeout(REACH, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unreachable(&error)),
        Err(_) => Err(unreachable(&"it does not answer")),
    }
}

fn unusable(error: certs::files::FileError) -> NodeError {
    NodeError(format!("the keys of the daemon's own node: {error}"))
}

/// The node's keys, which are made the first time.
fn keys(folder: &Path) -> Result<PersistState, NodeError> {
    let path = folder.join(KEYS);
    certs::files::directory(folder).map_err(unusable)?;
    if let Some(kept) = certs::files::read(&path).map_err(unusable)? {
        let keys = serde_json::from_slice(&kept);
        // Where it stands in the file is said, and nothing of what stands there.
        let broken = |error: serde_json::Error| {
            NodeError(format!(
                "{} holds no keys of a node (line {}); move it away, and the node joins as a new one",
                path.display(),
                error.line()
            ))
        };
        return keys.map_err(broken);
    }
    let keys = PersistState::default();
    let written = serde_json::to_vec(&keys)
        .map_err(|_| NodeError("the keys of the daemon's own node cannot be written".to_owned()))?;
    certs::files::create(&path, &written).map_err(unusable)?;
    Ok(keys)
}

/// What takes it into its tailnet. A node that was taken in needs it no more, and the file may be gone.
fn auth_key(path: Option<&Path>, are_new: bool) -> Result<Option<String>, NodeError> {
    let Some(path) = path else { return Ok(None) };
    let unusable = |error: &dyn std::fmt::Display| NodeError(format!("tailnet.auth_key_file: {error}"));
    let Some(bytes) = certs::files::read(path).map_err(|error| unusable(&error))? else {
        return match are_new {
            true => Err(unusable(&format!("{} is not there", path.display()))),
            false => Ok(None),
        };
    };
    let text =
        std::str::from_utf8(&bytes).map_err(|_| unusable(&format!("{} is no text", path.display())))?;
    Ok(Some(text.trim().to_owned()).filter(|key| !key.is_empty()))
}

struct Node {
    /// Tailscale's crate has another word for it.
    inner: Device,
    /// Its stack has ended, which the rest of it survives.
    is_broken: Arc<AtomicBool>,
    /// Ends everything, last.
    _runtime: OwnRuntime,
}

impl Stack for Node {
    fn own(&self) -> BoxFuture<'_, Result<Own, NodeError>> {
        Box::pin(async {
            if self.is_broken.load(Ordering::Acquire) {
                let ended = "the network stack of the daemon's own node has ended";
                return Ok(Own::Ended(NodeError(ended.to_owned())));
            }
            match self.inner.is_authorized().await.map_err(|error| said(&error))? {
                AuthState::NotAuthorized(page) => Ok(Own::Outside(page.to_string())),
                AuthState::Authorized => {
                    let node = self.inner.self_node().await;
                    node.map(|node| Own::Inside(facts(node)))
                        .map_err(|error| said(&error))
                }
            }
        })
    }

    fn node_at(&self, address: IpAddr) -> BoxFuture<'_, Result<Option<NodeFacts>, NodeError>> {
        Box::pin(async move {
            let node = self.inner.peer_by_tailnet_ip(address).await;
            node.map(|node| node.map(facts)).map_err(|error| said(&error))
        })
    }

    fn listen(&self, at: SocketAddr) -> BoxFuture<'_, Result<Box<dyn UserspaceListener>, NodeError>> {
        Box::pin(async move {
            let listener = self.inner.tcp_listen(at).await.map_err(|error| {
                note(&self.is_broken, &error);
                said(&error)
            })?;
            let is_broken = Arc::clone(&self.is_broken);
            Ok(Box::new(Port { listener, is_broken }) as Box<dyn UserspaceListener>)
        })
    }
}

/// One endpoint in its stack.
#[derive(Debug)]
struct Port {
    listener: netstack::TcpListener,
    is_broken: Arc<AtomicBool>,
}

impl UserspaceListener for Port {
    fn address(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<UserspaceStream>> {
        Box::pin(async {
            let stream = self.listener.accept().await.map_err(|error| {
                let error = Error::from(error);
                note(&self.is_broken, &error);
                io::Error::other(error)
            })?;
            Ok(UserspaceStream {
                peer: stream.remote_addr(),
                stream: Box::new(stream),
            })
        })
    }
}

/// Notes where there is no stack any more: the node has to be started again.
fn note(is_broken: &AtomicBool, error: &Error) {
    if matches!(error, Error::Internal(_)) {
        is_broken.store(true, Ordering::Release);
    }
}

fn facts(node: NodeInfo) -> NodeFacts {
    let address = &node.tailnet_address;
    NodeFacts {
        name: node.fqdn(false),
        addresses: vec![address.ipv4.addr().into(), address.ipv6.addr().into()],
        is_expired: node
            .node_key_expiry
            .is_some_and(|end| is_over(end.timestamp(), now())),
        stable_id: node.stable_id.0,
        tags: node.tags,
    }
}

/// Whether a key that ends then is over, both in seconds since 1970. One that never ends does so in the year 1: that is the time
/// that Go has for none.
fn is_over(end: i64, now: i64) -> bool {
    (1..=now).contains(&end)
}

fn now() -> i64 {
    server::clock::now().0 / 1000
}

fn said(error: &Error) -> NodeError {
    NodeError(format!("the daemon's own node: {error}; the log may say more"))
}

/// Threads of its own. Dropping it ends its tasks, and waits for none.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn new() -> io::Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let builder = builder.worker_threads(1).thread_name("tailnet").enable_all();
        builder.build().map(|runtime| Self(Some(runtime)))
    }

    fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.0
            .as_ref()
            .expect("it is there until it is dropped")
            .spawn(task)
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

const KEYS: &str = "keys.json";

/// For a control server to take a connection.
const REACH: Duration = Duration::from_secs(5);

/// For one that took it to answer.
const START: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests;
