//! WebSocket routes: authenticated by header before the upgrade, or by the first frame after it.
//!
//! A browser cannot set `Authorization` on a WebSocket, so on TLS its first text frame is its token alone, and until that came
//! the connection is nobody's.

use std::{future::Future, sync::Arc, time::Instant};

use axum::{
    RequestPartsExt,
    extract::{
        Request, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade},
    },
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::SinkExt;
use http::Method;
use pairing::{Authenticated, Permit, PermitScope, ResourceId};
use serde::de::DeserializeOwned;

use crate::{
    access::Access,
    authenticate::{self, Caller},
    connections::Connection,
    error::Failure,
    extract::Query,
    limits::{BEFORE_TOKEN, CLOSE_FRAME, FIRST_FRAME, MESSAGE, READ_BUFFER},
    peer::Peer,
    router::{On, RouteInfo, Routes},
};

/// The close codes of the product's WebSockets (RFC 6455 section 7.4.2 leaves 4000 and up to applications).
pub mod close {
    use protocol::attach;

    /// The daemon ends or restarts (registered as "service restart").
    pub const RESTARTING: u16 = attach::CLOSE_RESTARTING;
    /// Revoked, expired, or never authenticated.
    pub const UNAUTHENTICATED: u16 = attach::CLOSE_REVOKED;
    /// The principal may not do this, or not any more.
    pub const NOT_PERMITTED: u16 = attach::CLOSE_NOT_PERMITTED;
    /// What the stream was about is gone.
    pub const GONE: u16 = attach::CLOSE_GONE;
    /// There are too many.
    pub const TOO_MANY: u16 = attach::CLOSE_TOO_MANY;
}

/// An open WebSocket whose principal has the route's scope.
pub struct Upgraded<S, Q, D> {
    /// What the handlers of the list work on.
    pub app: D,
    /// The proof that the principal may.
    pub permit: Permit<S>,
    /// The query of the request.
    pub query: Q,
    /// The WebSocket; a handler sends nothing on it once [`Connection::revoked`] completes but one close frame.
    pub socket: WebSocket,
    /// The accepted stream below, with its `revoked` and `ending`.
    pub connection: Arc<Connection>,
    /// Whether the token came in the first frame, as from a page.
    pub is_browser: bool,
}

impl<S: PermitScope, Q, D> Upgraded<S, Q, D> {
    /// Who is at the other end, for permits of further scopes.
    pub fn authenticated(&self) -> &Authenticated {
        self.permit.authenticated()
    }
}

/// Sends a close frame and waits no longer for it than a revocation would.
pub async fn close(socket: &mut WebSocket, code: u16, reason: &'static str) {
    let frame = Message::Close(Some(CloseFrame {
        code,
        reason: reason.into(),
    }));
    let attempt = async {
        // To a peer that closed first only the answer to its frame goes out, which waits to be flushed.
        if socket.send(frame).await.is_err() {
            let _ = socket.flush().await;
        }
    };
    // A peer that does not read misses the frame; its stream ends all the same.
    let _ = tokio::time::timeout(CLOSE_FRAME, attempt).await;
}

impl<D: Clone + Send + Sync + 'static> Routes<D> {
    /// Adds a WebSocket that demands the scope `S`; `resource` as for [`Routes::route`]. A query that is no `Q` is refused
    /// before the upgrade.
    pub fn websocket<S, Q, H, F>(self, path: &'static str, resource: Option<&'static str>, handler: H) -> Self
    where
        S: PermitScope + Send + 'static,
        Q: DeserializeOwned + Send + 'static,
        H: Fn(Upgraded<S, Q, D>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let info = RouteInfo {
            method: Method::GET,
            path,
            scope: S::SCOPE,
            resource,
            is_websocket: true,
            is_mounted: false,
        };
        self.row(
            info,
            Box::new(move |access, app| {
                let route = Route {
                    access: Arc::clone(access),
                    app,
                    resource,
                    handler,
                };
                get(upgrade::<S, Q, D, H, F>).with_state(route)
            }),
        )
    }
}

#[derive(Clone)]
struct Route<D, H> {
    access: Arc<Access>,
    app: D,
    resource: Option<&'static str>,
    handler: H,
}

/// What a WebSocket is about, before and after the upgrade.
struct Wish<D, H> {
    route: Route<D, H>,
    connection: Arc<Connection>,
    resource: Option<ResourceId>,
}

async fn upgrade<S, Q, D, H, F>(
    State(route): State<Route<D, H>>,
    request: Request,
) -> Result<Response, Failure>
where
    S: PermitScope + Send + 'static,
    Q: DeserializeOwned + Send + 'static,
    D: Clone + Send + Sync + 'static,
    H: Fn(Upgraded<S, Q, D>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (mut parts, _) = request.into_parts();
    let On(connection) = parts.extract().await?;
    let resource = match route.resource {
        Some(name) => Some(authenticate::resource(&mut parts, name).await?),
        None => None,
    };
    let wish = Wish {
        route,
        connection,
        resource,
    };
    let permit = match authenticate::shows_something(wish.connection.peer(), &parts.headers) {
        true => {
            let Caller { authenticated, .. } = authenticate::caller(&wish.route.access, &mut parts).await?;
            Some(wish.permit::<S>(&authenticated)?)
        }
        false => None,
    };
    let Query(query) = parts.extract().await?;
    let upgrade: WebSocketUpgrade = parts.extract().await.map_err(|_| Failure::UpgradeRequired)?;
    let upgrade = upgrade
        .max_message_size(MESSAGE)
        .max_frame_size(MESSAGE)
        .read_buffer_size(READ_BUFFER);
    if permit.is_none() {
        wish.connection.bound_reads(BEFORE_TOKEN);
    }
    Ok(upgrade
        .on_upgrade(move |socket| run(wish, permit, query, socket))
        .into_response())
}

async fn run<S, Q, D, H, F>(wish: Wish<D, H>, permit: Option<Permit<S>>, query: Q, mut socket: WebSocket)
where
    S: PermitScope + Send + 'static,
    D: Clone,
    H: Fn(Upgraded<S, Q, D>) -> F,
    F: Future<Output = ()>,
{
    // Its principal had ended, and it was told so in the place of the switch: behind that answer nothing more may follow.
    if !wish.connection.is_upgraded() {
        return;
    }
    let is_browser = permit.is_none();
    let permit = match permit {
        Some(permit) => permit,
        None => match wish.first_frame::<S>(&mut socket).await {
            Ok(permit) => {
                wish.connection.lift_bound();
                permit
            }
            Err(failure) => {
                if wish.connection.is_ending() {
                    return close(&mut socket, close::RESTARTING, "restarting").await;
                }
                let failure = wish.counted(failure);
                tracing::debug!(peer = %wish.connection.peer(), %failure, "refused a WebSocket");
                return close(&mut socket, code_of(&failure), failure.code()).await;
            }
        },
    };
    let Wish {
        route: Route { app, handler, .. },
        connection,
        ..
    } = wish;
    handler(Upgraded {
        app,
        permit,
        query,
        socket,
        connection,
        is_browser,
    })
    .await;
}

impl<D, H> Wish<D, H> {
    /// Reads the token that a browser sends as its first frame, and authenticates by it.
    async fn first_frame<S: PermitScope>(&self, socket: &mut WebSocket) -> Result<Permit<S>, Failure> {
        let limit = self.route.access.config.limits.first_frame;
        let frame = tokio::select! {
            biased;
            () = self.connection.ending() => return Err(Failure::Ended),
            frame = tokio::time::timeout(limit, socket.recv()) => frame,
        };
        let Ok(Some(Ok(Message::Text(token)))) = frame else {
            return Err(Failure::Unauthenticated);
        };
        let Peer::Remote(peer) = self.connection.peer() else {
            return Err(Failure::Unauthenticated);
        };
        if token.len() > FIRST_FRAME {
            return Err(pairing::MalformedToken::Body.into());
        }
        self.permit(&authenticate::device(&self.route.access, &token, peer).await?)
    }

    /// The failure, or that there were too many of its kind.
    fn counted(&self, failure: Failure) -> Failure {
        let status = failure.problem().status;
        self.route
            .access
            .count_refusal(self.connection.peer(), (failure.code(), status), None);
        let failures = &self.route.access.failures;
        let too_many = failures.too_many(self.connection.peer(), failure.code(), Instant::now());
        too_many.map_or(failure, |retry_after| Failure::TooManyFailures { retry_after })
    }

    fn permit<S: PermitScope>(&self, authenticated: &Authenticated) -> Result<Permit<S>, Failure> {
        self.route
            .access
            .connections()
            .bind(&self.connection, authenticated)?;
        authenticated
            .permit(self.resource.clone())
            .map_err(|denied| Failure::denied(denied, authenticated.principal()))
    }
}

fn code_of(failure: &Failure) -> u16 {
    match failure {
        Failure::TooManyConnections | Failure::TooManyFailures { .. } => close::TOO_MANY,
        failure if failure.is_about_credentials() => close::UNAUTHENTICATED,
        _ => close::NOT_PERMITTED,
    }
}

#[cfg(test)]
mod tests;
