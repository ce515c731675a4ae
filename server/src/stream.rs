//! The accepted stream, below TLS: it ends at once when its connection is cut, and owns its entry in the registry.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{RecvFlags, Shutdown, connect_unspec, recv, shutdown, sockopt::set_socket_linger},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::{
    connections::{Connection, Entry},
    listen::Gate,
    lockdown::{Waiting, Watch},
};

/// A connected socket, shared by the stream that uses it and the registry that may end it.
#[derive(Clone)]
pub(crate) enum Socket {
    /// From the Unix listener.
    Unix(Arc<UnixStream>),
    /// From a TCP listener.
    Tcp(Arc<TcpStream>),
    /// From a network stack in this process: the near end of what is carried to and from it.
    Userspace(Arc<UnixStream>, Arc<Gate>),
}

impl Socket {
    /// Ends the socket now, whoever holds it: TCP sends a reset and discards its queues, a Unix socket is shut both ways, and into
    /// a stack in this process nothing passes any more; what that has taken is its own to send or discard.
    pub(crate) fn reset(&self) {
        match self {
            Self::Unix(socket) => {
                // It fails only where the other end was first.
                let _ = shutdown(&**socket, Shutdown::Both);
            }
            Self::Tcp(socket) => {
                // Without lingering, a close that follows discards the queue as well.
                let _ = set_socket_linger(&**socket, Some(Duration::ZERO));
                // Dissolving the association resets it while descriptors of it are still open (connect(2), AF_UNSPEC).
                if connect_unspec(&**socket).is_err() {
                    let _ = shutdown(&**socket, Shutdown::Both);
                }
            }
            Self::Userspace(near, gate) => {
                gate.shut();
                let _ = shutdown(&**near, Shutdown::Both);
            }
        }
    }

    /// How many descriptors it takes.
    pub(crate) fn descriptors(&self) -> usize {
        match self {
            Self::Unix(_) | Self::Tcp(_) => 1,
            Self::Userspace(..) => 2,
        }
    }

    /// Whether the other end sends nothing more, though bytes of it may still wait to be read.
    pub(crate) fn is_left(&self) -> bool {
        let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut asked = [match self {
            Self::Unix(socket) | Self::Userspace(socket, _) => PollFd::new(&**socket, gone),
            Self::Tcp(socket) => PollFd::new(&**socket, gone),
        }];
        let answered = poll(
            &mut asked,
            Some(&Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
        );
        answered.is_ok() && asked[0].revents().intersects(gone)
    }

    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Unix(socket) | Self::Userspace(socket, _) => socket.poll_read_ready(context),
            Self::Tcp(socket) => socket.poll_read_ready(context),
        }
    }

    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Unix(socket) | Self::Userspace(socket, _) => socket.poll_write_ready(context),
            Self::Tcp(socket) => socket.poll_write_ready(context),
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = Ok(0);
        let mut receive = |socket: BorrowedFd<'_>| {
            let (count, _) = recv(socket, &mut *buffer, RecvFlags::empty())?;
            read = Ok(count);
            // What did not fill the buffer was all there is: told here, it needs no second call that finds nothing (epoll(7),
            // question 9).
            match 0 < count && count < buffer.len() {
                true => Err(io::ErrorKind::WouldBlock.into()),
                false => Ok(()),
            }
        };
        let tried = match self {
            Self::Unix(socket) | Self::Userspace(socket, _) => {
                socket.try_io(Interest::READABLE, || receive(socket.as_fd()))
            }
            Self::Tcp(socket) => socket.try_io(Interest::READABLE, || receive(socket.as_fd())),
        };
        match (tried, read) {
            (Err(error), Ok(0)) => Err(error),
            (_, read) => read,
        }
    }

    fn try_write(&self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(socket) | Self::Userspace(socket, _) => socket.try_write_vectored(slices),
            Self::Tcp(socket) => socket.try_write_vectored(slices),
        }
    }

    fn finish(&self) -> io::Result<()> {
        let result = match self {
            Self::Unix(socket) | Self::Userspace(socket, _) => shutdown(&**socket, Shutdown::Write),
            Self::Tcp(socket) => shutdown(&**socket, Shutdown::Write),
        };
        match result {
            Err(error) if error == rustix::io::Errno::NOTCONN => Ok(()),
            result => Ok(result?),
        }
    }
}

/// What TLS and HTTP read from and write to.
pub(crate) struct Stream {
    socket: Socket,
    // Two futures, since one holds one waker, and the two halves of an upgraded stream belong to two tasks.
    cut_for_reads: Pin<Box<WaitForCancellationFutureOwned>>,
    cut_for_writes: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Looked at before bytes move; none of a local stream, which no lock-down concerns.
    watch: Option<Arc<Watch>>,
    /// Of the two halves, as with the cut.
    look_for_reads: Waiting,
    look_for_writes: Waiting,
    entry: Entry,
}

impl Stream {
    pub(crate) fn new(socket: Socket, entry: Entry) -> Self {
        let cut = || Box::pin(entry.connection().cut_token().clone().cancelled_owned());
        Self {
            cut_for_reads: cut(),
            cut_for_writes: cut(),
            socket,
            watch: None,
            look_for_reads: None,
            look_for_writes: None,
            entry,
        }
    }

    /// A stream that moves no byte once a lock-down was written down.
    pub(crate) fn watched(mut self, watch: &Arc<Watch>) -> Self {
        self.watch = Some(Arc::clone(watch));
        self
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        self.entry.connection()
    }

    /// Reads, unless the connection is cut; who waits is not woken by a cut.
    fn poll_some(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = ready!(self.connection().poll_room(context)).min(buffer.remaining());
        loop {
            ready!(self.socket.poll_read_ready(context))?;
            ready!(poll_open(self.watch.as_ref(), &mut self.look_for_reads, context))?;
            self.not_cut()?;
            match self.socket.try_read(buffer.initialize_unfilled_to(room)) {
                Ok(count) => {
                    buffer.advance(count);
                    self.connection().has_read(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Writes, likewise.
    fn poll_write_some(
        &mut self,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_write_ready(context))?;
            ready!(poll_open(self.watch.as_ref(), &mut self.look_for_writes, context))?;
            self.not_cut()?;
            match self.socket.try_write(slices) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                Ok(count) => {
                    self.connection().has_written(count);
                    return Poll::Ready(Ok(count));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn not_cut(&self) -> io::Result<()> {
        match self.connection().cut_token().is_cancelled() {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.connection().is_revoked() {
            // Others may hold the socket for longer; the other end shall see now that nothing more comes. It fails only where
            // the other end was first.
            let _ = self.socket.finish();
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.poll_some(context, buffer);
        // Waited for only where there is something to wait for.
        if read.is_pending() && self.cut_for_reads.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.poll_write_some(context, slices);
        if written.is_pending() && self.cut_for_writes.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.finish())
    }
}

/// An error where everything remote is to be closed, although this stream has not been cut.
fn poll_open(
    watch: Option<&Arc<Watch>>,
    waiting: &mut Waiting,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let Some(watch) = watch else {
        return Poll::Ready(Ok(()));
    };
    match ready!(watch.poll_look(waiting, context)) {
        true => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
        false => Poll::Ready(Ok(())),
    }
}

#[cfg(test)]
mod tests;
