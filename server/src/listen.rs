//! Listeners, and the task of each connection that they accept.

mod tls;
mod unix;
mod userspace;

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper::{
    Request,
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use pairing::Generation;
use rustix::io::Errno;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::userspace::Gate;
pub use self::userspace::{Duplex, UserspaceListener, UserspaceStream};
use crate::{
    connections::Connection,
    edge::Edge,
    limits::{ACCEPT_PAUSE, GOAWAY, HEAD, SAID_EVERY, STREAMS, UNREAD, UNREAD_OF_ONE},
    shutdown::{Shutdown, Stop},
};

/// A bound endpoint; whoever starts the server binds it.
#[derive(Debug)]
pub enum Listener {
    /// The Unix socket, in a directory that only its owner can enter.
    Unix(UnixListener),
    /// TLS over TCP.
    Tls {
        /// The bound socket.
        listener: TcpListener,
        /// TLS 1.3 with ALPN `h2` and `http/1.1`, as made by [`certs::server_config`].
        config: Arc<rustls::ServerConfig>,
    },
    /// TLS over a network stack in this process.
    Userspace {
        /// The bound endpoint.
        listener: Box<dyn UserspaceListener>,
        /// As above.
        config: Arc<rustls::ServerConfig>,
    },
}

impl Listener {
    /// Whether other machines may come by it: a lock-down closes it.
    pub(crate) fn is_remote(&self) -> bool {
        match self {
            Self::Unix(_) => false,
            Self::Tls { .. } | Self::Userspace { .. } => true,
        }
    }

    /// Where a remote one is bound.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Unix(_) => None,
            Self::Tls { listener, .. } => listener.local_addr().ok(),
            Self::Userspace { listener, .. } => Some(listener.address()),
        }
    }

    /// Accepts until the soft stop, each into the generation that is current then. It never waits on a connection it accepted.
    pub(crate) async fn run(self, edge: Arc<Edge>, generation: Arc<AtomicU64>, stop: Stop) {
        let mut accepting = pin!(self.accept(&generation, &edge));
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => (),
            () = &mut accepting => (),
        }
    }

    async fn accept(&self, generation: &AtomicU64, edge: &Arc<Edge>) {
        let mut said = None;
        loop {
            let begun = match self {
                Self::Unix(listener) => listener
                    .accept()
                    .await
                    .map(|(socket, _)| unix::begin(socket, edge)),
                Self::Tls { listener, config } => listener.accept().await.map(|(socket, _)| {
                    let generation = Generation(generation.load(Ordering::Acquire));
                    tls::begin(socket, config, generation, edge)
                }),
                // It takes descriptors that accepting took none of, so they may run out only now.
                Self::Userspace { listener, config } => listener.accept().await.and_then(|accepted| {
                    let generation = Generation(generation.load(Ordering::Acquire));
                    userspace::begin(accepted, listener.address(), config, generation, edge).map(Ok)
                }),
            };
            match begun {
                Ok(Ok(())) => (),
                Ok(Err(error)) => tracing::debug!(%error, "a connection was gone before it began"),
                Err(error) => recover(edge, &error, &mut said).await,
            }
        }
    }
}

/// After a failed accept: a peer that went away again costs nothing, a full table of descriptors costs the oldest stranger.
/// `said` is when that was last logged: whoever keeps the table full shall not fill the disk as well.
async fn recover(edge: &Edge, error: &io::Error, said: &mut Option<Instant>) {
    let is_peers = error.kind() == io::ErrorKind::ConnectionAborted;
    if is_peers {
        return;
    }
    let is_full = [Errno::MFILE, Errno::NFILE]
        .map(Errno::raw_os_error)
        .map(Some)
        .contains(&error.raw_os_error());
    let made_room = is_full && edge.access.connections().cut_oldest_unowned();
    if said.is_none_or(|said| said.elapsed() >= SAID_EVERY) {
        *said = Some(Instant::now());
        tracing::warn!(%error, made_room, "no connection can be accepted, which is said once a minute");
    }
    sleep(ACCEPT_PAUSE).await;
}

/// Serves HTTP on a connection until it ends, is cut, or says nothing at all in the time for a head.
async fn serve<I>(io: I, is_http2: bool, connection: Arc<Connection>, edge: Arc<Edge>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &edge.access.config.limits;
    let head = limits.head;
    let io = TokioIo::new(io);
    let service = service_fn({
        let (connection, edge) = (Arc::clone(&connection), Arc::clone(&edge));
        // Of its own, so that it is gone once the answer is made: whoever takes none keeps but that.
        move |request: Request<Incoming>| Box::pin(Arc::clone(&edge).answer(Arc::clone(&connection), request))
    });
    if is_http2 {
        let tasks = Tasks {
            cut: connection.cut_token().clone(),
        };
        let mut builder = http2::Builder::new(tasks);
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEAD as u32)
            .initial_connection_window_size(UNREAD)
            .initial_stream_window_size(UNREAD_OF_ONE);
        let served = builder.serve_connection(io, service);
        watch(served, http2::Connection::graceful_shutdown, &connection, head).await;
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(head)
            .max_buf_size(HEAD);
        let served = builder.serve_connection(io, service).with_upgrades();
        watch(
            served,
            http1::UpgradeableConnection::graceful_shutdown,
            &connection,
            head,
        )
        .await;
    }
}

/// Drives a connection and ends it from outside where it would not end by itself.
async fn watch<C, T>(
    served: C,
    finish: impl FnOnce(std::pin::Pin<&mut C>),
    connection: &Connection,
    head: std::time::Duration,
) where
    C: Future<Output = hyper::Result<T>>,
{
    let mut served = pin!(served);
    tokio::select! {
        biased;
        () = connection.cut_token().cancelled() => return,
        () = connection.ending() => (),
        () = silent_for(connection, head) => return,
        _ = &mut served => return,
    }
    if !connection.has_begun() {
        return;
    }
    finish(served.as_mut());
    tokio::select! {
        biased;
        () = connection.cut_token().cancelled() => (),
        // A peer that sleeps answers no GOAWAY: where nothing is in flight, nobody waits for it.
        () = sleep(GOAWAY), if !connection.is_busy() => (),
        _ = &mut served => (),
    }
}

/// Completes if the first head has not come in time; HTTP/1 has a limit of its own for the later ones.
async fn silent_for(connection: &Connection, head: std::time::Duration) {
    sleep(head).await;
    if connection.has_begun() {
        std::future::pending::<()>().await;
    }
}

/// Runs the tasks of an HTTP/2 connection, each until the connection is cut.
#[derive(Clone)]
struct Tasks {
    cut: CancellationToken,
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        tokio::spawn(self.cut.clone().run_until_cancelled_owned(task));
    }
}
