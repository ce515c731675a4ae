//! A tunnel that is there when something is to go through it.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
};

use ::client::{Address, TunnelError};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::{Asking, Connection, Far, FarDaemon};
use crate::failure::Failure;

/// A tunnel to a daemon, opened when it is needed, and again where it ended; clones are the same. It ends with the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    far: Far,
    /// Of this machine's loopback; the same whenever it is opened.
    port: u16,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    connection: Option<Connection>,
    /// A person is asked once: later something else may have the terminal.
    has_been_open: bool,
}

impl Tunnel {
    /// A tunnel that is not open yet.
    ///
    /// # Errors
    /// There is no free port.
    pub(crate) fn to(far: Far) -> Result<Self, Failure> {
        let (port, kept) = (free_port()?, Mutex::default());
        Ok(Self(Arc::new(Shared { far, port, kept })))
    }

    /// Its near end.
    pub(crate) fn address(&self) -> Address {
        Address {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.0.port,
        }
    }

    /// Where it leads.
    pub(crate) fn far(&self) -> &Far {
        &self.0.far
    }

    /// Opens it, and says what the daemon there said.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub(crate) async fn open(&self) -> Result<FarDaemon, Failure> {
        self.opened(&mut *self.0.kept.lock().await).await
    }

    async fn opened(&self, kept: &mut Kept) -> Result<FarDaemon, Failure> {
        kept.connection = None;
        let asking = match kept.has_been_open {
            true => Asking::Forbidden,
            false => Asking::Allowed,
        };
        let (connection, daemon) = Connection::open(&self.0.far, asking).await?;
        connection.forward(self.0.port).await?;
        kept.connection = Some(connection);
        kept.has_been_open = true;
        Ok(daemon)
    }
}

impl ::client::Tunnel for Tunnel {
    fn ready(&self) -> BoxFuture<'_, Result<(), TunnelError>> {
        Box::pin(async {
            let mut kept = self.0.kept.lock().await;
            if kept.connection.as_mut().is_some_and(Connection::is_open) {
                return Ok(());
            }
            self.opened(&mut kept).await.map(drop).map_err(of_tunnel)
        })
    }

    fn not_carried(&self) -> BoxFuture<'_, Option<TunnelError>> {
        Box::pin(async {
            let kept = self.0.kept.lock().await;
            kept.connection.as_ref()?.not_carried().await.map(of_tunnel)
        })
    }
}

fn of_tunnel(failure: Failure) -> TunnelError {
    TunnelError {
        may_pass: failure.is_about_the_link(),
        cause: failure.into(),
    }
}

/// A port of the loopback that nobody has at the moment.
///
/// # Errors
/// There is none.
pub(crate) fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
