//! `GET /metrics`: figures for who collects them, in the Prometheus text format.

use std::{sync::Arc, time::Instant};

use axum::response::{IntoResponse, Response};
use http::header;
use pairing::marker::MetricsView;
use tokio::task::yield_now;

use crate::{
    access::Access,
    metrics::{self, Exposition},
    operation::Operation,
    router::{App, Permitted},
};

pub(crate) async fn show(App(access): App<Arc<Access>>, _permit: Permitted<MetricsView>) -> Response {
    access.looks_locked_down().await;
    // Whoever yields goes behind all that is to be done: measured when it is asked for, and not by a timer.
    let yielded = Instant::now();
    yield_now().await;
    let lag = yielded.elapsed();
    let mut exposition = Exposition::default();
    metrics::write(&access, lag, &mut exposition);
    (access.figures)(&mut exposition);
    let kind = [(header::CONTENT_TYPE, Exposition::CONTENT_TYPE)];
    (kind, exposition.into_text()).into_response()
}

pub(in crate::routes) const SHOW: Operation = Operation::new(
    "metrics",
    "Shows figures of the daemon in the Prometheus text format.",
)
.gives_other(200, "text/plain");
