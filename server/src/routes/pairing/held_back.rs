//! The owner's lists, which can be waited for: `?wait=` seconds with the `ETag` of what is known as `If-None-Match`
//! (RFC 9110, 13.1.2) holds the answer back until the list is another, and is 304 where it stays the same.

use std::{future::Future, sync::Arc, time::Duration};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{ETAG, IF_NONE_MATCH},
};
use pairing::UnixMillis;
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
    /// When each of them ends or has ended, by the clock that judges it.
    pub(super) ends: Vec<UnixMillis>,
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
            let list = list(access);
            let tag = list.tag().map_err(|error| Failure::internal(&error))?;
            if self.known.as_ref() != Some(&tag) {
                return Ok(([(ETAG, tag)], Json(list.entries)).into_response());
            }
            if Instant::now() >= deadline {
                return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
            }
            // A moment later than the end, so that the next look sees it as over.
            let end = list
                .next_end()
                .map(|left| Instant::now() + left + Duration::from_millis(1));
            tokio::select! {
                biased;
                () = &mut over => return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response()),
                () = changed => {}
                () = tokio::time::sleep_until(end.map_or(deadline, |end| deadline.min(end))) => {}
            }
        }
    }
}

impl<T: Serialize> Listed<T> {
    /// What stands for this list: another list has another. Times as people read them are left out, since they move with
    /// the wall clock.
    fn tag(&self) -> Result<HeaderValue, serde_json::Error> {
        let mut entries = serde_json::to_value(&self.entries)?;
        for entry in entries.as_array_mut().into_iter().flatten() {
            entry.as_object_mut().map(|entry| entry.remove("expires_at"));
        }
        let ends: Vec<i64> = self.ends.iter().map(|end| end.0).collect();
        let text = serde_json::to_vec(&(entries, ends))?;
        let digest = ring::digest::digest(&ring::digest::SHA256, &text);
        let tag = serde_json::to_string(&Bytes64(digest.as_ref().to_vec()))?;
        Ok(HeaderValue::try_from(tag).expect("base64url in quotes is visible ASCII"))
    }

    /// The time until the list is another although nothing happens, as something in it ends.
    fn next_end(&self) -> Option<Duration> {
        let now = clock::latest();
        let ahead = self.ends.iter().filter(|end| **end > now);
        ahead.min().map(|end| end.since(now))
    }
}

/// How both lists are waited for.
pub(super) const HELD_BACK: &str = "With `wait`, and the `ETag` of the list that is known as `If-None-Match`, the answer is held back \
     until the list is another, and is 304 where it stays the same.";
