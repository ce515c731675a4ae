//! What handlers take from a request, with refusals as problems.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request, path::ErrorKind, rejection::PathRejection},
};
use http::{HeaderMap, header, request::Parts};
use serde::de::DeserializeOwned;

use crate::error::Failure;

/// A JSON body of at most [`BODY`](crate::limits::BODY) bytes, on a public route of
/// [`PUBLIC_BODY`](crate::limits::PUBLIC_BODY).
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        if !says_json(request.headers()) {
            return Err(Failure::UnsupportedMediaType);
        }
        parse(&body(request, state).await?).map(Self)
    }
}

/// A JSON body that may be absent altogether: then it is the default.
#[derive(Clone, Copy, Debug)]
pub struct OptionalJson<T>(pub T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for OptionalJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let says_json = says_json(request.headers());
        let bytes = body(request, state).await?;
        match (bytes.is_empty(), says_json) {
            (true, _) => Ok(Self(T::default())),
            (false, true) => parse(&bytes).map(Self),
            (false, false) => Err(Failure::UnsupportedMediaType),
        }
    }
}

/// The query.
#[derive(Clone, Copy, Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        query
            .map(|query| Self(query.0))
            .map_err(|refused| Failure::malformed(refused.body_text()))
    }
}

/// The path's parameters. An id of another shape names nothing: 404.
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(path) => Ok(Self(path.0)),
            Err(PathRejection::FailedToDeserializePathParams(error)) if is_clients_fault(error.kind()) => {
                Err(Failure::NotFound("there is nothing of that id"))
            }
            Err(error) => Err(Failure::internal(&error)),
        }
    }
}

async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Failure> {
    Bytes::from_request(request, state)
        .await
        .map_err(|refused| match refused.status() {
            http::StatusCode::PAYLOAD_TOO_LARGE => Failure::BodyTooLarge,
            _ => Failure::malformed("the body broke off"),
        })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    // serde's messages name fields and places, and quote at most what the sender sent.
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::malformed(format!("the body is not what this route takes: {error}")))
}

fn says_json(headers: &HeaderMap) -> bool {
    let said = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    said.and_then(|said| said.split(';').next())
        .is_some_and(|said| said.trim().eq_ignore_ascii_case("application/json"))
}

fn is_clients_fault(kind: &ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::WrongNumberOfParameters { .. } | ErrorKind::UnsupportedType { .. }
    )
}
