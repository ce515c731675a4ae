//! `GET /v1/openapi.json`: the description of the API.

use axum::response::{IntoResponse, Response};
use http::header;
use pairing::marker::Any;
use server::{Operation, Permitted};

use crate::openapi::DOCUMENT;

pub(crate) async fn show(_: Permitted<Any>) -> Response {
    ([(header::CONTENT_TYPE, JSON)], DOCUMENT).into_response()
}

const JSON: &str = "application/json";

pub(crate) const SHOW: Operation =
    Operation::new("openapi", "Gives this description.").gives_other(200, JSON);
