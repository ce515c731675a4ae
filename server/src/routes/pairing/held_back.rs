//! The owner's lists, which can be waited for: `?wait=` seconds with the `ETag` of what is known as `If-None-Match`
//! (RFC 9110, 13.1.2) holds the answer back until the list is another, and is 304 where it stays the same.

use std::{future::Future, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH},
};
use jiff::Timestamp;
use protocol::Bytes64;
use serde::Serialize;
use tokio::time::Instant;

use super::poll::LONGEST;
use crate::{access::Access, clock, connections::Connection, error::Failure};

/// How a list is asked for.
pub(super) struct Asked {
    wait: Duration,
    known: Option<HeaderValue>,
}

/// A list as it is now.
pub(super) struct Listed<T> {
    pub(super) entries: Vec<T>,
    /// When it is another although nothing happens, as something in it ends.
    pub(super) until: Option<Timestamp>,
}

impl Asked {
    /// With the seconds and the headers of the request.
    pub(super) fn new(wait: u64, headers: &HeaderMap) -> Self {
        Self {
            wait: Duration::from_secs(wait).min(LONGEST),
            known: headers.get(IF_NONE_MATCH).cloned(),
        }
    }

    /// The list once it is another than the known one, or that it is not within the time.
    pub(super) async fn answer<T: Serialize>(
        &self,
        access: &Access,
        connection: &Arc<Connection>,
        list: impl Fn(&Access) -> Listed<T>,
    ) -> Result<Response, Failure> {
        let over = async {
            tokio::select! {
                () = connection.revoked() => {}
                () = connection.ending() => {}
            }
        };
        self.until_other(access, list, over).await
    }

    pub(super) async fn until_other<T: Serialize>(
        &self,
        access: &Access,
        list: impl Fn(&Access) -> Listed<T>,
        over: impl Future<Output = ()>,
    ) -> Result<Response, Failure> {
        let deadline = Instant::now() + self.wait;
        tokio::pin!(over);
        loop {
            // Before the look, so that a change in between is not missed.
            let changed = access.pairing_changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let Listed { entries, until } = list(access);
            let body = serde_json::to_vec(&entries).map_err(|error| Failure::internal(&error))?;
            let tag = tag(&body);
            if self.known.as_ref() != Some(&tag) {
                let json = HeaderValue::from_static("application/json");
                return Ok(([(CONTENT_TYPE, json), (ETAG, tag)], body).into_response());
            }
            if Instant::now() >= deadline {
                return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
            }
            // A moment later than the end, so that the next look sees it as over.
            let end = until.map(|until| Instant::now() + left(until) + Duration::from_millis(1));
            tokio::select! {
                biased;
                () = &mut over => return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response()),
                () = changed => {}
                () = tokio::time::sleep_until(end.map_or(deadline, |end| deadline.min(end))) => {}
            }
        }
    }
}

/// The first of these moments that is still to come.
pub(super) fn next(moments: impl Iterator<Item = Timestamp>) -> Option<Timestamp> {
    let now = clock::timestamp(clock::now());
    moments.filter(|moment| *moment > now).min()
}

fn left(until: Timestamp) -> Duration {
    let left = until.duration_since(clock::timestamp(clock::now()));
    left.try_into().unwrap_or_default()
}

/// What stands for a body: another body has another.
fn tag(body: &[u8]) -> HeaderValue {
    let digest = ring::digest::digest(&ring::digest::SHA256, body);
    let text = serde_json::to_string(&Bytes64(digest.as_ref().to_vec()));
    HeaderValue::try_from(text.expect("bytes are a string in JSON"))
        .expect("base64url in quotes is visible ASCII")
}
