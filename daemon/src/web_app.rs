//! The web app at every path outside of the API.

use axum::{
    Router,
    extract::Path,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use web::Asset;

/// The app's files; its screens are all the same page.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/", get(shell))
        .route("/pair", get(shell))
        .route("/guest", get(shell))
        .route("/device", get(shell))
        .route("/s/{id}", get(shell))
        .route("/{*path}", get(file))
}

/// Whether this binary carries the app.
pub fn has_web_app() -> bool {
    web::is_present()
}

async fn shell() -> Response {
    match web::asset(web::SHELL) {
        Some(shell) => serve(shell),
        None => absent(),
    }
}

async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let compressed = if accepts_brotli(&headers) {
        web::compressed(&path)
    } else {
        None
    };
    match compressed.or_else(|| web::asset(&path)) {
        Some(asset) => serve(asset),
        None => server::Failure::NotFound("there is nothing at this path").into_response(),
    }
}

fn serve(asset: Asset) -> Response {
    // A hashed name never changes its content; everything else is asked for again, so that page and daemon are of one build.
    let caching = if asset.immutable {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    let encoding = asset
        .encoding
        .map(|encoding| [(header::CONTENT_ENCODING, encoding)]);
    (headers, encoding, asset.bytes).into_response()
}

/// A browser that takes Brotli names it plainly; who names it with a weight gets the file as it is.
fn accepts_brotli(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accepted.split(',').any(|encoding| encoding.trim() == "br")
}

fn absent() -> Response {
    let page = "This binary was built without the web app.\n\nBuild it with `cargo xtask web` (it needs Node 20.19 or \
                newer), then build the binary again.\nThe command line works without it: `transom ls`, `transom attach`.\n";
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers, page).into_response()
}
