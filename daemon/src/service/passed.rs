//! The sockets that the daemon is started with, instead of making its own (sd_listen_fds(3)).
//!
//! Whoever passed one holds it as well, so that it listens on when the daemon has closed its own descriptors: then the kernel takes
//! connections for which nobody is there. One that shall be closed is therefore shut, for all who hold it, and listens again when
//! it is opened, or when the daemon ends: by then it is the other's again.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{fs::MetadataExt, net::UnixListener},
    },
    path::Path,
};

use rustix::{
    io::{Errno, FdFlags, fcntl_setfd},
    net::{
        AddressFamily, Shutdown, SocketType, getpeername, listen, shutdown,
        sockopt::{socket_acceptconn, socket_domain, socket_type},
    },
};

/// What was passed. It stays open for as long as the process lives, at its number: a restart passes it on.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    all: Vec<OwnedFd>,
    unix: Option<UnixListener>,
    tls: Vec<(SocketAddr, TcpListener)>,
}

/// Why what was passed is not used; nothing was served.
#[derive(Debug, thiserror::Error)]
pub enum PassedError {
    /// It cannot be taken.
    #[error("the sockets that this was started with cannot be used: {0}")]
    Io(#[from] io::Error),
    /// It is of another kind.
    #[error("descriptor {0}, with which this was started, is no listening stream socket")]
    Kind(usize),
    /// It is at another path than commands look for it.
    #[error("this was started with a socket at {passed}, and commands look for one at {own}")]
    OtherPath {
        /// Where it is.
        passed: String,
        /// Where it must be.
        own: String,
    },
    /// It is at an address that is not configured.
    #[error("this was started with a listener at {0}, which listen.tls does not have")]
    OtherAddress(SocketAddr),
}

impl PassedError {
    /// What to do now.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Io(_) | Self::Kind(_) => {
                "see the socket unit, or whatever set LISTEN_FDS; `transom service install` writes one that fits"
            }
            Self::OtherPath { .. } => {
                "set ListenStream in the socket unit to that path; `transom service install` writes it"
            }
            Self::OtherAddress(_) => "add it to listen.tls, or take it out of the socket unit",
        }
    }
}

impl Passed {
    /// Takes it. To be called before this process opens anything.
    ///
    /// # Errors
    /// [`PassedError::Io`], [`PassedError::Kind`].
    pub(crate) fn take() -> Result<Self, PassedError> {
        let mut passed = Self {
            all: terminal::passed_sockets()?,
            ..Self::default()
        };
        for (at, socket) in passed.all.iter().enumerate() {
            let kind = || PassedError::Kind(at + 3);
            let is_stream = socket_type(socket).map_err(io::Error::from)? == SocketType::STREAM;
            let domain = socket_domain(socket).map_err(io::Error::from)?;
            // One that a daemon had shut, which was killed then, listens no more.
            let is_shut = || domain != AddressFamily::UNIX && getpeername(socket) == Err(Errno::NOTCONN);
            let is_listener = is_listening(socket)? || is_shut();
            match domain {
                _ if !is_stream || !is_listener => return Err(kind()),
                AddressFamily::UNIX if passed.unix.is_none() => {
                    // From now on the kernel tells who connects of this process, and not of the one that made it (unix(7), SO_PEERCRED).
                    listen(socket, BACKLOG).map_err(io::Error::from)?;
                    let listener = UnixListener::from(socket.try_clone()?);
                    listener.set_nonblocking(true)?;
                    passed.unix = Some(listener);
                }
                AddressFamily::INET | AddressFamily::INET6 => {
                    let listener = TcpListener::from(socket.try_clone()?);
                    passed.tls.push((listener.local_addr()?, listener));
                }
                _ => return Err(kind()),
            }
        }
        Ok(passed)
    }

    /// Refuses what is elsewhere than the paths and the configuration say.
    ///
    /// # Errors
    /// [`PassedError::OtherPath`], [`PassedError::OtherAddress`].
    pub(crate) fn check(&self, own: &Path, addresses: &[SocketAddr]) -> Result<(), PassedError> {
        if let Some(unix) = &self.unix {
            let at = unix.local_addr()?;
            let at = at.as_pathname().unwrap_or(Path::new("(no path)"));
            let file = |path: &Path| fs::metadata(path).map(|there| (there.dev(), there.ino())).ok();
            if at != own && (file(at).is_none() || file(at) != file(own)) {
                return Err(PassedError::OtherPath {
                    passed: at.display().to_string(),
                    own: own.display().to_string(),
                });
            }
        }
        let other = self.elsewhere(addresses).next();
        other.map_or(Ok(()), |address| Err(PassedError::OtherAddress(address)))
    }

    /// Whether the Unix socket is somebody else's, who listens on it when this process does not.
    pub(crate) fn has_unix(&self) -> bool {
        self.unix.is_some()
    }

    /// The Unix socket.
    pub(crate) fn unix(&self) -> io::Result<Option<UnixListener>> {
        self.unix.as_ref().map(UnixListener::try_clone).transpose()
    }

    /// Those addresses of its listeners that are not among these.
    pub(crate) fn elsewhere(&self, addresses: &[SocketAddr]) -> impl Iterator<Item = SocketAddr> {
        let passed = self.tls.iter().map(|(address, _)| *address);
        passed.filter(|address| !addresses.contains(address))
    }

    /// The listener at this address, which listens from now on, if it was shut.
    pub(crate) fn tls(&self, address: SocketAddr) -> io::Result<Option<TcpListener>> {
        let found = self.tls.iter().find(|(at, _)| *at == address);
        let Some((_, listener)) = found else {
            return Ok(None);
        };
        listen_again(listener, address)?;
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        Ok(Some(listener))
    }

    /// Lets nobody connect to the listeners at these addresses, and resets who did and was not accepted.
    pub(crate) fn shut(&self, is_shut: impl Fn(SocketAddr) -> bool) {
        for (address, listener) in self.tls.iter().filter(|(address, _)| is_shut(*address)) {
            match shutdown(listener, Shutdown::Read) {
                // It is shut already.
                Ok(()) | Err(Errno::NOTCONN) => {}
                Err(error) => tracing::error!(%address, %error, "a passed listener cannot be shut"),
            }
        }
    }

    /// Has those that are shut listen again, for whoever passed them.
    pub(crate) fn hand_back(&self) {
        for (address, listener) in &self.tls {
            if let Err(error) = listen_again(listener, *address) {
                tracing::warn!(%address, %error, "a passed listener stays shut");
            }
        }
    }

    /// Lets what this process executes in its own place have them: with the same numbers and variables, and as it has the same
    /// process id, they are passed to it.
    pub(crate) fn pass_on(&self) -> io::Result<()> {
        for socket in &self.all {
            fcntl_setfd(socket, FdFlags::empty())?;
        }
        Ok(())
    }
}

fn is_listening(socket: &impl AsFd) -> io::Result<bool> {
    Ok(socket_acceptconn(socket)?)
}

fn listen_again(listener: &TcpListener, address: SocketAddr) -> io::Result<()> {
    if !is_listening(listener)? {
        listen(listener, BACKLOG)?;
        // One that was bound to no port in particular does not find its way back.
        if listener.local_addr()? != address {
            shutdown(listener, Shutdown::Read)?;
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
    }
    Ok(())
}

/// Connections that wait while none is accepted; the kernel has a bound of its own.
const BACKLOG: i32 = 4096;
