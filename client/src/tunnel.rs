//! Tunnels of the caller's own, through which TLS goes to a daemon.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::error::TunnelError;

/// What carries TLS to a daemon, such as a port forwarded by `ssh`. It is opened when something is to go through it.
pub trait Tunnel: fmt::Debug + Send + Sync {
    /// Opens it unless it is open.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn ready(&self) -> BoxFuture<'_, Result<(), TunnelError>>;

    /// Why something that went through it did not arrive, where that was the tunnel's own fault.
    fn not_carried(&self) -> BoxFuture<'_, Option<TunnelError>>;
}
