//! What happens to every request before and after its route: gate, panic, headers, and the end of its connection.

use std::{
    any::Any,
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use axum::{
    Router,
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Version, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tower::ServiceExt;

use crate::{
    access::Access,
    connections::{Connection, InFlight},
    error::{self, AnswerOf, Failure, Refusal, body_of},
    gate, headers,
    peer::Peer,
    request::{self, RequestId},
};

/// The outermost layer: every request of every listener passes here, and every answer.
pub(crate) struct Edge {
    pub(crate) access: Arc<Access>,
    pub(crate) router: Router,
}

impl Edge {
    pub(crate) async fn answer(
        self: Arc<Self>,
        connection: Arc<Connection>,
        request: Request<Incoming>,
    ) -> Result<Response, Infallible> {
        Ok(request::scope(RequestId::next(), self.answered(connection, request)).await)
    }

    /// The answer, and one line of the log about it.
    async fn answered(
        self: Arc<Self>,
        connection: Arc<Connection>,
        mut request: Request<Incoming>,
    ) -> Response {
        let in_flight = connection.begin();
        let version = request.version();
        request.extensions_mut().insert(Arc::clone(&connection));
        hide_credentials(request.headers_mut());
        let (head, body) = request.into_parts();
        let (method, uri) = (head.method.clone(), head.uri.clone());
        let (host, response) = match gate::check(&head, connection.peer(), &self.access.names()) {
            Ok(host) => {
                let request = Request::from_parts(head, Body::new(body));
                (host, self.route(&connection, request).await)
            }
            Err(failure) => (None, failure.into_response()),
        };
        let (mut response, is_last) = without_answers_to_the_revoked(&connection, response);
        let refused = response.extensions().get::<AnswerOf>().map(|answer| answer.code);
        let status = response.status().as_u16();
        let told = self.add_challenge(&connection, &mut response);
        if let Some(code) = refused {
            self.access.count_refusal(connection.peer(), (code, status), told);
        }
        if method == Method::HEAD {
            // HTTP/1 leaves it out by itself, HTTP/2 does not.
            *response.body_mut() = Body::empty();
        }
        headers::set(response.headers_mut(), host.as_ref());
        let status = response.status().as_u16();
        tracing::debug!(%method, path = uri.path(), status, peer = %connection.peer(), "answered");
        close_if_asked(&connection, version, &mut response);
        watched(&connection, in_flight, response, is_last)
    }

    /// Says with each 401 of a listener what can be proven next. Where there were too many of them, it says that instead, and
    /// what can be proven all the same: by it who has the right key comes in. Gives the code of what it says instead.
    fn add_challenge(&self, connection: &Connection, response: &mut Response) -> Option<&'static str> {
        let refusal = response.extensions_mut().remove::<Refusal>();
        let (Peer::Remote(peer), Some(Refusal(mut problem))) = (connection.peer(), refusal) else {
            return None;
        };
        let mut told = None;
        let failures = &self.access.failures;
        if let Some(retry_after) = failures.too_many(connection.peer(), &problem.code, Instant::now()) {
            let failure = Failure::TooManyFailures { retry_after };
            told = Some(failure.code());
            problem = failure.problem();
            *response = error::answer(&problem);
        }
        problem.challenge = Some(self.access.challenge(peer.generation).to_string());
        let body = body_of(&problem);
        // The router has counted the former body.
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, body.len().into());
        *response.body_mut() = Body::from(body);
        told
    }

    async fn route(&self, connection: &Connection, request: Request<Body>) -> Response {
        if matches!(connection.peer(), Peer::Local(_)) && !connection.peer().is_own() {
            return Failure::OtherUser.into_response();
        }
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let answered = AssertUnwindSafe(self.router.clone().oneshot(request))
            .catch_unwind()
            .await;
        match answered {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(panic) => Failure::internal(&format_args!(
                "{method} {} panicked: {}",
                uri.path(),
                words_of(&*panic)
            ))
            .into_response(),
        }
    }
}

/// No `Debug` of a request, in a log or in a panic's words, shows what it authenticates by.
fn hide_credentials(headers: &mut HeaderMap) {
    if let header::Entry::Occupied(mut shown) = headers.entry(header::AUTHORIZATION) {
        shown.iter_mut().for_each(|value| value.set_sensitive(true));
    }
}

/// Rides on the answer to a principal's end of itself: the one answer that may leave on its own connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastAnswer;

/// What was computed for a principal that ended meanwhile must not leave. Says as well whether the answer is one that may
/// leave although the principal has ended: asked once, since it may end at any moment between here and the last byte.
fn without_answers_to_the_revoked(connection: &Connection, response: Response) -> (Response, bool) {
    if response.extensions().get::<LastAnswer>().is_some() {
        (response, true)
    } else if connection.is_revoked() {
        // A refusal of ours says nothing but why, which may be another end than a revocation.
        match response.extensions().get::<Refusal>() {
            Some(_) => (response, true),
            None => (Failure::Revoked.into_response(), true),
        }
    } else {
        (response, false)
    }
}

fn close_if_asked(connection: &Connection, version: Version, response: &mut Response) {
    let asked = response
        .extensions_mut()
        .remove::<AnswerOf>()
        .is_some_and(|answer| answer.closes);
    if asked || connection.is_revoked() {
        // HTTP/2 says it with GOAWAY, which the connection's task sends on `ending`.
        if version < Version::HTTP_2 {
            response
                .headers_mut()
                .insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        connection.ending_token().cancel();
    }
}

fn watched(connection: &Connection, in_flight: InFlight, response: Response, is_last: bool) -> Response {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        connection.set_upgraded();
        return response;
    }
    // An event stream has no end of its own, so a soft stop ends it; whatever has one may reach it.
    let is_endless = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind == "text/event-stream");
    let revoked = (!is_last).then(|| End::of(connection.revoked_token()));
    let ending = is_endless.then(|| End::of(connection.ending_token()));
    response.map(|body| {
        Body::new(Watched {
            body,
            revoked,
            ending,
            in_flight,
        })
    })
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words")
}

/// A body that breaks off when its principal ends.
struct Watched {
    body: Body,
    revoked: Option<End>,
    ending: Option<End>,
    in_flight: InFlight,
}

/// How a body breaks off of which an end has come.
fn broken_off(is_revoked: bool, is_ending: bool) -> Option<Option<Result<Frame<Bytes>, axum::Error>>> {
    match is_revoked {
        true => Some(Some(Err(axum::Error::new(BrokenOff)))),
        false => is_ending.then_some(None),
    }
}

/// An end that may come; most bodies are over before they have to wait for one.
struct End {
    token: CancellationToken,
    wait: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl End {
    fn of(token: &CancellationToken) -> Self {
        Self {
            token: token.clone(),
            wait: None,
        }
    }

    fn has_come(&self) -> bool {
        self.token.is_cancelled()
    }

    /// The same; where it has not, it wakes who asked.
    fn poll_has_come(&mut self, context: &mut Context<'_>) -> bool {
        let wait = || Box::pin(self.token.clone().cancelled_owned());
        self.wait
            .get_or_insert_with(wait)
            .as_mut()
            .poll(context)
            .is_ready()
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let is_revoked = self.revoked.is_some() && self.in_flight.is_revoked();
        let is_ending = self.ending.as_ref().is_some_and(End::has_come);
        if let Some(broken_off) = broken_off(is_revoked, is_ending) {
            return Poll::Ready(broken_off);
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() {
            let mut comes =
                |end: &mut Option<End>| end.as_mut().is_some_and(|end| end.poll_has_come(context));
            let (is_revoked, is_ending) = (comes(&mut self.revoked), comes(&mut self.ending));
            if let Some(broken_off) = broken_off(is_revoked, is_ending) {
                return Poll::Ready(broken_off);
            }
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the principal that this was for has ended")]
struct BrokenOff;

#[cfg(test)]
mod tests;
