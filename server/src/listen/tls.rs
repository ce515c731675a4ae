//! Connections of TLS: the handshake runs in the connection's own task, under its own limit.

use std::{io, sync::Arc, time::Duration};

use pairing::Generation;
use rustix::net::sockopt;
use socket2::SockRef;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::serve;
use crate::{
    connections::Connection,
    edge::Edge,
    metrics::broken,
    peer::{Peer, RemotePeer},
    stream::{Socket, Stream},
};

pub(super) fn begin(
    socket: TcpStream,
    config: &Arc<rustls::ServerConfig>,
    generation: Generation,
    edge: &Arc<Edge>,
) -> io::Result<()> {
    prepare(&socket)?;
    let (address, listener) = (socket.peer_addr()?, socket.local_addr()?);
    let peer = Peer::Remote(RemotePeer {
        address,
        listener,
        generation,
        tailnet: None,
    });
    start(peer, Socket::Tcp(Arc::new(socket)), config, edge);
    Ok(())
}

/// Enters the stream, and lets its own task find out how far it comes.
pub(super) fn start(peer: Peer, socket: Socket, config: &Arc<rustls::ServerConfig>, edge: &Arc<Edge>) {
    let is_userspace = matches!(socket, Socket::Userspace(..));
    let entry = edge.access.connections().accept(peer, socket.clone());
    let stream = Stream::new(socket, entry).watched(&edge.access.lockdown.watch);
    tokio::spawn(run(
        stream,
        is_userspace,
        TlsAcceptor::from(Arc::clone(config)),
        Arc::clone(edge),
    ));
}

async fn run(stream: Stream, is_userspace: bool, acceptor: TlsAcceptor, edge: Arc<Edge>) {
    let connection = Arc::clone(stream.connection());
    let begin = async {
        let Peer::Remote(remote) = connection.peer() else {
            return acceptor.accept(stream).await;
        };
        let answer = match is_userspace {
            true => edge.access.who_is.who_is_in_userspace(remote).await,
            false => edge.access.who_is.who_is(remote).await,
        };
        if !edge.access.lets_in(&connection, answer) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        acceptor.accept(stream).await
    };
    let counts = &edge.access.counts;
    let tls = match handshake(begin, &connection, edge.access.config.limits.handshake).await {
        Ok(tls) => {
            counts.handshakes.add();
            tls
        }
        Err(cause) => {
            counts.broken_handshakes.count(cause);
            return;
        }
    };
    let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    // In a task of its own, so that none has room for both.
    tokio::spawn(serve(tls, is_http2, connection, edge));
}

/// The stream behind a handshake, or the word for why there is none.
async fn handshake(
    begin: impl Future<Output = io::Result<TlsStream<Stream>>>,
    connection: &Connection,
    limit: Duration,
) -> Result<TlsStream<Stream>, &'static str> {
    let shaken = tokio::select! {
        biased;
        () = connection.cut_token().cancelled() => return Err(broken::CUT),
        () = connection.ending() => return Err(broken::CUT),
        shaken = timeout(limit, begin) => shaken,
    };
    match shaken {
        Ok(Ok(tls)) => Ok(tls),
        Ok(Err(error)) => {
            tracing::debug!(peer = %connection.peer(), %error, "a stranger came no further than the handshake");
            Err(match error.kind() {
                io::ErrorKind::PermissionDenied => broken::NOT_LET_IN,
                // As which tokio-rustls passes errors of TLS on.
                io::ErrorKind::InvalidData => broken::TLS,
                _ => broken::GONE,
            })
        }
        Err(_) => {
            tracing::debug!(peer = %connection.peer(), "a TLS handshake took too long");
            Err(broken::TIMED_OUT)
        }
    }
}

fn prepare(socket: &TcpStream) -> io::Result<()> {
    // A key press must not wait for the next.
    socket.set_nodelay(true)?;
    // The kernel notices a peer that is gone, without a timer of ours.
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(socket, KEEPALIVE_PROBES)?;
    // The same for one that is gone while something is on the way to it.
    sockopt::set_tcp_user_timeout(socket, UNACKNOWLEDGED)?;
    SockRef::from(socket).set_tcp_notsent_lowat(UNSENT)?;
    Ok(())
}

/// Milliseconds in which the peer's kernel must acknowledge something: as long as a silent one has.
const UNACKNOWLEDGED: u32 = 120_000;

/// Bytes that may wait in the kernel to be sent: what is old by the time that a slow link takes it is not written in the first
/// place.
const UNSENT: u32 = 16 * 1024;

/// Silence after which the kernel asks whether the peer is there: short of what home routers forget a stream after.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);

/// Time between two such questions.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Unanswered questions after which the peer is gone.
const KEEPALIVE_PROBES: u32 = 4;
