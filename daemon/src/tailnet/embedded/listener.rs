//! A listener of the daemon's own node, which outlives the node's ends.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use server::{UserspaceListener, UserspaceStream};
use tokio::{
    sync::{Mutex, watch},
    time::timeout,
};

use super::Stack;

/// Listens at one address of whichever stack runs.
pub(super) struct NodeListener {
    at: SocketAddr,
    running: watch::Receiver<Option<Arc<dyn Stack>>>,
    bound: Mutex<Option<Bound>>,
}

/// A stack, and the listener in it.
type Bound = (Arc<dyn Stack>, Box<dyn UserspaceListener>);

impl NodeListener {
    pub(super) fn new(
        at: SocketAddr,
        running: watch::Receiver<Option<Arc<dyn Stack>>>,
        bound: Bound,
    ) -> Self {
        Self {
            at,
            running,
            bound: Mutex::new(Some(bound)),
        }
    }

    /// The next stream; while no stack runs there is none.
    async fn next(&self) -> io::Result<UserspaceStream> {
        let mut running = self.running.clone();
        // Nobody else accepts here: it is one for the order of things.
        let mut kept = self.bound.lock().await;
        loop {
            let stack = running.borrow_and_update().clone();
            let Some(stack) = stack else {
                *kept = None;
                running.changed().await.map_err(|_| ended())?;
                continue;
            };
            let (_, listener) = match kept.take() {
                Some(bound) if Arc::ptr_eq(&bound.0, &stack) => kept.insert(bound),
                Some(_) | None => match stack.listen(self.at).await {
                    Ok(listener) => kept.insert((stack, listener)),
                    Err(error) => {
                        drop(stack);
                        // Whoever accepts tries again at once.
                        timeout(PAUSE, running.changed()).await.ok();
                        return Err(io::Error::other(error));
                    }
                },
            };
            tokio::select! {
                accepted = listener.accept() => {
                    if accepted.is_err() {
                        *kept = None;
                    }
                    return accepted;
                }
                changed = running.changed() => changed.map_err(|_| ended())?,
            }
        }
    }
}

impl UserspaceListener for NodeListener {
    fn address(&self) -> SocketAddr {
        self.at
    }

    fn accept(&self) -> BoxFuture<'_, io::Result<UserspaceStream>> {
        Box::pin(self.next())
    }
}

impl fmt::Debug for NodeListener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NodeListener")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

fn ended() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// Before the next attempt at an address that cannot be listened at.
const PAUSE: Duration = Duration::from_secs(1);
