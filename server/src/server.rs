//! The server: listeners in, connections served, and an end within a bound.

mod remote;

use std::sync::{Arc, atomic::AtomicU64};

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    response::{IntoResponse, Response},
    routing::any,
};
use tokio::{task::JoinSet, time::timeout};
use tower::ServiceExt;

use self::remote::Remote;
use crate::{
    access::Access,
    audit::upkeep,
    edge::Edge,
    error::Failure,
    expiry,
    limits::{AFTER_CUT, BODY},
    listen::Listener,
    lockdown,
    router::Routes,
    routes,
    shutdown::{Shutdown, Stop},
    unstored,
};

/// The access layer with the routes behind it.
pub struct Server {
    access: Arc<Access>,
    router: Router,
    fallback: Option<Router>,
}

/// A task that must not end did; the daemon cannot be trusted to serve.
#[derive(Debug, thiserror::Error)]
#[error("a task of the server ended on its own")]
pub struct Crashed;

impl Server {
    /// A server with the access layer's own routes.
    pub fn new(access: Arc<Access>) -> Self {
        let router = routes::routes().build(&access, &access);
        Self {
            access,
            router,
            fallback: None,
        }
    }

    /// Adds a product's routes; `app` is what their handlers work on.
    pub fn routes<D: Clone + Send + Sync + 'static>(self, routes: Routes<D>, app: &D) -> Self {
        let router = self.router.merge(routes.build(&self.access, app));
        Self { router, ..self }
    }

    /// Serves every path outside of the API by this router, publicly: the web app.
    pub fn fallback(self, router: Router) -> Self {
        Self {
            fallback: Some(router),
            ..self
        }
    }

    /// Serves until the stop: after the soft one, work in flight has the configured time; after the hard one, none.
    ///
    /// # Errors
    /// When a listener's task crashed; everything was closed then.
    pub async fn serve(self, listeners: Vec<Listener>, stop: Stop) -> Result<(), Crashed> {
        let connections = self.access.connections().clone();
        let drain = self.access.config.limits.drain;
        let mut loops = JoinSet::new();
        loops.spawn(expiry::run(Arc::clone(&self.access), stop.clone()));
        loops.spawn(upkeep::run(Arc::clone(&self.access), stop.clone()));
        loops.spawn(unstored::run(Arc::clone(&self.access), stop.clone()));
        loops.spawn(lockdown::follow(Arc::clone(&self.access), stop.clone()));
        let edge = Arc::new(self.edge());
        let (mut remote, local): (Vec<_>, Vec<_>) = listeners.into_iter().partition(Listener::is_remote);
        if edge.access.looks_locked_down().await {
            // Bound all the same, they are closed: the doors bind them again when that is lifted.
            remote.clear();
            edge.access.lockdown.never_opened();
        }
        for listener in local {
            let generation = Arc::new(AtomicU64::new(edge.access.next_generation().0));
            loops.spawn(listener.run(Arc::clone(&edge), generation, stop.clone()));
        }
        let mut remote = Remote::open(remote, &edge, &stop);
        let result = tokio::select! {
            biased;
            () = stop.requested(Shutdown::Soft) => Ok(()),
            Some(_) = loops.join_next() => Err(Crashed),
            () = remote.run() => Err(Crashed),
        };
        remote.hear_no_more();
        connections.drain();
        unstored::finish(&edge.access).await;
        upkeep::finish(&edge.access).await;
        tokio::select! {
            biased;
            () = stop.requested(Shutdown::Hard) => (),
            _ = timeout(drain, connections.until_empty()) => (),
        }
        remote.close_all().await;
        loops.shutdown().await;
        connections.cut_all();
        // What is cut has no say in how long it takes; this only lets its tasks notice.
        let _ = timeout(AFTER_CUT, connections.until_empty()).await;
        result
    }

    fn edge(self) -> Edge {
        let router = self
            .router
            .fallback_service(any(outside).with_state(self.fallback))
            .method_not_allowed_fallback(async || Failure::MethodNotAllowed)
            .layer(DefaultBodyLimit::max(BODY));
        Edge {
            access: self.access,
            router,
        }
    }
}

/// Paths that no route has: the web app's, or nothing.
async fn outside(State(fallback): State<Option<Router>>, request: Request) -> Response {
    let path = request.uri().path();
    let is_api = path == protocol::API || path.starts_with("/v1/");
    match fallback.filter(|_| !is_api) {
        Some(router) => router.oneshot(request).await.into_response(),
        None => Failure::NotFound("there is nothing at this path").into_response(),
    }
}

#[cfg(test)]
mod tests;
