//! Streams of a network stack in this process, as a node of a tailnet is: each is carried to a socket of the kernel's, so that
//! all that is above it, the switch that ends a connection included, is as for any other.

use std::{
    fmt,
    future::{pending, poll_fn},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use pairing::Generation;
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
};
use tokio_util::sync::CancellationToken;

use super::tls;
use crate::{
    edge::Edge,
    peer::{Peer, RemotePeer},
    stream::Socket,
};

/// A bound endpoint of a network stack in this process; whoever runs the stack provides it. Dropping it closes it.
pub trait UserspaceListener: fmt::Debug + Send + Sync + 'static {
    /// Where it is bound: an address and a port of the stack's own.
    fn address(&self) -> SocketAddr;

    /// The next stream.
    ///
    /// # Errors
    /// Where there is none, for now or, where the stack has ended, for good.
    fn accept(&self) -> BoxFuture<'_, io::Result<UserspaceStream>>;
}

/// A stream that a [`UserspaceListener`] accepted.
pub struct UserspaceStream {
    /// Where it came from, by the word of the stack: it has checked that whoever sent this has that address.
    pub peer: SocketAddr,
    /// The stream; dropping it closes it.
    pub stream: Box<dyn Duplex>,
}

impl fmt::Debug for UserspaceStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("UserspaceStream")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

/// Bytes in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Duplex for T {}

pub(super) fn begin(
    accepted: UserspaceStream,
    listener: SocketAddr,
    config: &Arc<rustls::ServerConfig>,
    generation: Generation,
    edge: &Arc<Edge>,
) -> io::Result<()> {
    let (near, far) = UnixStream::pair()?;
    for end in [&near, &far] {
        SockRef::from(end).set_send_buffer_size(CARRIED)?;
    }
    let peer = Peer::Remote(RemotePeer {
        address: accepted.peer,
        listener,
        generation,
        tailnet: None,
    });
    let gate = Arc::new(Gate::default());
    tokio::spawn(carry(accepted.stream, far, Arc::clone(&gate)));
    let socket = Socket::Userspace(Arc::new(near), gate);
    tls::start(peer, socket, config, edge);
    Ok(())
}

/// What bytes pass on their way into the stack, until it is shut.
#[derive(Default)]
pub(crate) struct Gate {
    /// Held while the stack takes bytes, and for a moment to shut the gate.
    passing: Mutex<()>,
    shut: CancellationToken,
}

impl Gate {
    /// Lets nothing pass from now on: when this returns the stack has what it took and what it was last offered, and gets no more.
    pub(crate) fn shut(&self) {
        let _nobody_passes = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        self.shut.cancel();
    }

    fn poll_pass(
        &self,
        stack: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let _passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        match self.shut.is_cancelled() {
            true => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            false => Pin::new(stack).poll_write(context, bytes),
        }
    }
}

/// Carries bytes until this side sends no more, either side is gone, or the gate is shut. What is left then is dropped.
async fn carry(stream: Box<dyn Duplex>, far: UnixStream, gate: Arc<Gate>) {
    let (mut from_stack, mut into_stack) = tokio::io::split(stream);
    let (mut from_server, mut into_server) = far.into_split();
    let outward = async {
        let mut buffer = vec![0; CARRIED];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 {
                return into_stack.flush().await;
            }
            let mut passed = 0;
            while passed < count {
                let rest = &buffer[passed..count.min(passed + OFFERED)];
                match poll_fn(|context| gate.poll_pass(&mut into_stack, context, rest)).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    more => passed += more,
                }
            }
        }
    };
    let inward = async {
        if tokio::io::copy(&mut from_stack, &mut into_server).await.is_ok()
            && into_server.shutdown().await.is_ok()
        {
            // The other end may still wait for an answer.
            pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = gate.shut.cancelled() => (),
        ended = outward => if let Err(error) = ended {
            tracing::debug!(%error, "a stream of the stack in this process broke off");
        },
        () = inward => (),
    }
}

/// Bytes on the way in each direction, besides those that the stack holds: more is not worth having, as what waits there is old.
const CARRIED: usize = 16 * 1024;

/// Bytes that the stack is offered at once. It may keep what it was offered while it has no room, and take it later, even once the
/// gate is shut: then this much may leave besides what it had taken.
const OFFERED: usize = 4 * 1024;

#[cfg(test)]
mod tests;
