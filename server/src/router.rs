//! How routes are made: one list, each row with its scope, and no other way to add one.
//!
//! A handler's state is [`Scoped`], typed by the scope of its route, and [`Permitted<S>`] can be taken only from a state of the
//! same `S`: a handler that asks for another permit than its route demands does not compile.

mod described;
mod lean;
mod mount;

use std::{convert::Infallible, marker::PhantomData, sync::Arc};

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts, Request},
    handler::Handler,
    middleware::Next,
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use futures_util::future::BoxFuture;
use http::{Extensions, HeaderMap, Method, request::Parts};
use pairing::{Authenticated, Denied, Permit, PermitScope, Principal, Scope};
use protocol::access::LIFE_HEADER;

use crate::{
    access::Access,
    authenticate::{self, Caller},
    connections::{Connection, PublicRequest},
    error::{Failure, Uninvited},
    limits::{PUBLIC_BODY, PUBLIC_REQUESTS},
    peer::Peer,
};

/// One row of the list, for matrices and descriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// The method.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// What it demands.
    pub scope: Scope,
    /// The path parameter that names the resource which the scope is about.
    pub resource: Option<&'static str>,
    /// Whether it is a WebSocket.
    pub is_websocket: bool,
    /// Whether it is a mounted router: then it is all below the path, of every method.
    pub is_mounted: bool,
}

/// A list of routes whose handlers work on `D`.
pub struct Routes<D> {
    rows: Vec<Row<D>>,
}

pub(crate) type Build<D> = Box<dyn FnOnce(&Arc<Access>, D) -> MethodRouter + Send>;

type Add<D> = Box<dyn FnOnce(Router, &Arc<Access>, D) -> Router + Send>;

struct Row<D> {
    info: RouteInfo,
    add: Add<D>,
    #[cfg(feature = "openapi")]
    operation: Option<&'static crate::operation::Operation>,
}

impl<D: Clone + Send + Sync + 'static> Routes<D> {
    /// No routes.
    pub fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Adds a route that anybody may use but whom an invitation alone lets in. Its body is at most [`PUBLIC_BODY`]; of its head
    /// the handler sees method, path, query, and of the headers `Authorization` and those that describe the body.
    pub fn public<H, T>(self, method: Method, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, Scoped<Open, D>>,
        T: 'static,
    {
        self.open(method, path, handler, false)
    }

    /// The same, open to those as well: what a guest needs to become one.
    pub(crate) fn public_to_guests<H, T>(self, method: Method, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, Scoped<Open, D>>,
        T: 'static,
    {
        self.open(method, path, handler, true)
    }

    fn open<H, T>(self, method: Method, path: &'static str, handler: H, is_for_guests: bool) -> Self
    where
        H: Handler<T, Scoped<Open, D>>,
        T: 'static,
    {
        let info = RouteInfo {
            method,
            path,
            scope: Scope::Public,
            resource: None,
            is_websocket: false,
            is_mounted: false,
        };
        let filter = filter_of(&info.method);
        let handler = Public {
            handler,
            is_for_guests,
        };
        let build = move |_: &Arc<Access>, app| on(filter, handler).with_state(Scoped::new(app));
        self.row(info, Box::new(build))
    }

    /// Adds a route that demands the scope `S`; where that is about a resource, `resource` names the path's parameter for it,
    /// and none means that the handler filters what it lists.
    pub fn route<S, H, T>(
        self,
        method: Method,
        path: &'static str,
        resource: Option<&'static str>,
        handler: H,
    ) -> Self
    where
        S: PermitScope + 'static,
        H: Handler<T, Scoped<S, D>>,
        T: 'static,
    {
        let info = RouteInfo {
            method,
            path,
            scope: S::SCOPE,
            resource,
            is_websocket: false,
            is_mounted: false,
        };
        let filter = filter_of(&info.method);
        let build = move |access: &Arc<Access>, app| {
            let demand = Demand {
                access: Arc::clone(access),
                resource,
                is_filtered: true,
            };
            on(filter, Guarded { handler, demand }).with_state(Scoped::<S, D>::new(app))
        };
        self.row(info, Box::new(build))
    }

    /// What is in the list.
    pub fn list(&self) -> Vec<RouteInfo> {
        self.rows.iter().map(|row| row.info.clone()).collect()
    }

    /// Builds the router; `app` is what the handlers get as [`App`].
    pub fn build(self, access: &Arc<Access>, app: &D) -> Router {
        let add = |router: Router, row: Row<D>| (row.add)(router, access, app.clone());
        self.rows.into_iter().fold(Router::new(), add)
    }

    pub(crate) fn row(self, info: RouteInfo, build: Build<D>) -> Self {
        let path = info.path;
        let add = move |router: Router, access: &Arc<Access>, app: D| router.route(path, build(access, app));
        self.add(info, Box::new(add))
    }

    fn add(mut self, info: RouteInfo, add: Add<D>) -> Self {
        self.rows.push(Row {
            info,
            add,
            #[cfg(feature = "openapi")]
            operation: None,
        });
        self
    }
}

impl<D: Clone + Send + Sync + 'static> Default for Routes<D> {
    fn default() -> Self {
        Self::new()
    }
}

/// Stands for the absence of a scope: handlers of public routes get no permit.
#[derive(Clone, Copy, Debug)]
pub enum Open {}

/// The state of a handler whose route demands `S`.
pub struct Scoped<S, D> {
    app: D,
    scope: PhantomData<fn() -> S>,
}

impl<S, D> Scoped<S, D> {
    pub(crate) fn new(app: D) -> Self {
        Self {
            app,
            scope: PhantomData,
        }
    }
}

impl<S, D: Clone> Clone for Scoped<S, D> {
    fn clone(&self) -> Self {
        Self::new(self.app.clone())
    }
}

/// Extracts what the handlers of a list work on.
#[derive(Clone, Copy, Debug)]
pub struct App<D>(pub D);

impl<S: 'static, D: Clone + Send + Sync> FromRequestParts<Scoped<S, D>> for App<D> {
    type Rejection = Infallible;

    async fn from_request_parts(_parts: &mut Parts, state: &Scoped<S, D>) -> Result<Self, Infallible> {
        Ok(Self(state.app.clone()))
    }
}

/// Extracts the permit that the route demanded: the proof that its principal may.
#[derive(Clone, Debug)]
pub struct Permitted<S: PermitScope>(pub Permit<S>);

impl<S: PermitScope + 'static, D: Sync> FromRequestParts<Scoped<S, D>> for Permitted<S> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &Scoped<S, D>) -> Result<Self, Failure> {
        let permit = parts.extensions.get::<Permit<S>>();
        permit
            .cloned()
            .map(Self)
            .ok_or_else(|| Failure::internal(&"a route has no permit for its own scope"))
    }
}

/// Extracts the connection that the request came on, and with it the peer.
#[derive(Clone, Debug)]
pub struct On(pub Arc<Connection>);

impl<S: Sync> FromRequestParts<S> for On {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        connection_of(&parts.extensions).cloned().map(Self)
    }
}

fn connection_of(extensions: &Extensions) -> Result<&Arc<Connection>, Failure> {
    let connection = extensions.get();
    connection.ok_or_else(|| Failure::internal(&"a request came on no connection"))
}

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let On(connection) = On::from_request_parts(parts, state).await?;
        Ok(connection.peer().clone())
    }
}

#[derive(Clone)]
struct Demand {
    access: Arc<Access>,
    resource: Option<&'static str>,
    /// Whether what names no resource shows each principal only what it may see.
    is_filtered: bool,
}

/// A handler of a public route.
#[derive(Clone)]
struct Public<H> {
    handler: H,
    /// Whether those may use it, too, whom the tailnet's gate lets in by an invitation alone.
    is_for_guests: bool,
}

// No layers of middleware: each would be boxed and cloned with all that is below it, for every request.
impl<H, T, D> Handler<T, Scoped<Open, D>> for Public<H>
where
    H: Handler<T, Scoped<Open, D>>,
    D: Clone + Send + Sync + 'static,
{
    type Future = BoxFuture<'static, Response>;

    fn call(self, mut request: Request, state: Scoped<Open, D>) -> Self::Future {
        Box::pin(async move {
            // As long as it is not answered.
            let _waits = match self.admit(&mut request) {
                Ok(waits) => waits,
                Err(failure) => return failure.into_response(),
            };
            self.handler.call(request, state).await
        })
    }
}

impl<H> Public<H> {
    fn admit(&self, request: &mut Request) -> Result<PublicRequest, Failure> {
        let connection = connection_of(request.extensions())?;
        if connection.is_in_guest_lane() && !self.is_for_guests {
            return Err(Failure::Uninvited(Uninvited::GuestsOnly));
        }
        let waits = connection.begin_public(PUBLIC_REQUESTS);
        let waits = waits.ok_or(Failure::TooManyRequests)?;
        lean::keep_little(request);
        DefaultBodyLimit::max(PUBLIC_BODY).apply(request);
        Ok(waits)
    }
}

/// A handler behind a scope: called with the permit for it, or not at all.
#[derive(Clone)]
struct Guarded<H> {
    handler: H,
    demand: Demand,
}

impl<H, T, S, D> Handler<T, Scoped<S, D>> for Guarded<H>
where
    H: Handler<T, Scoped<S, D>>,
    S: PermitScope + 'static,
    D: Clone + Send + Sync + 'static,
{
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: Scoped<S, D>) -> Self::Future {
        Box::pin(async move {
            match authorised::<S>(&self.demand, request).await {
                Ok(request) => self.handler.call(request, state).await,
                Err(failure) => failure.into_response(),
            }
        })
    }
}

/// The same for a whole router.
async fn authorise<S: PermitScope + 'static>(
    axum::extract::State(demand): axum::extract::State<Demand>,
    request: Request,
    next: Next,
) -> Result<Response, Failure> {
    Ok(next.run(authorised::<S>(&demand, request).await?).await)
}

/// Authenticates, gives the connection to who was authenticated, and puts the permit where the handler finds it.
async fn authorised<S: PermitScope + 'static>(demand: &Demand, request: Request) -> Result<Request, Failure> {
    let (mut parts, body) = request.into_parts();
    let Caller {
        connection,
        authenticated,
    } = authenticate::caller(&demand.access, &mut parts).await?;
    demand.access.connections().bind(&connection, &authenticated)?;
    let permit = permit::<S>(demand, &mut parts, &authenticated).await?;
    is_of_this_life(&parts.headers, &demand.access.config().life)?;
    parts.extensions.insert(permit);
    Ok(Request::from_parts(parts, body))
}

async fn permit<S: PermitScope>(
    demand: &Demand,
    parts: &mut Parts,
    who: &Authenticated,
) -> Result<Permit<S>, Failure> {
    let resource = match demand.resource {
        Some(name) => Some(authenticate::resource(parts, name).await?),
        None if S::SCOPE.is_about_resource() && !demand.is_filtered && sees_only_some(who.principal()) => {
            return Err(Failure::denied(Denied::Resource(S::SCOPE), who.principal()));
        }
        None => None,
    };
    who.permit(resource)
        .map_err(|denied| Failure::denied(denied, who.principal()))
}

/// Whoever names a run of the daemon wants something of that one alone: of another, nobody saw the state that they act on.
fn is_of_this_life(headers: &HeaderMap, life: &str) -> Result<(), Failure> {
    let named = headers.get_all(LIFE_HEADER);
    let is_this = named.iter().all(|named| named.as_bytes() == life.as_bytes());
    is_this.then_some(()).ok_or(Failure::StaleLife)
}

/// Whether the principal's scopes reach only resources that are named for it.
fn sees_only_some(principal: &Principal) -> bool {
    match principal {
        Principal::Owner | Principal::Device { .. } => false,
        Principal::Session(_) | Principal::Guest(_) | Principal::Nobody => true,
    }
}

pub(crate) fn filter_of(method: &Method) -> MethodFilter {
    MethodFilter::try_from(method.clone()).expect("a route has one of the standard methods")
}
