//! The way to a remote daemon, as a device of it.

use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use certs::SpkiPin;
use protocol::access::{KeptPin, WhoAmI};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::json;
use tokio::sync::OnceCell;

use super::{Https, Record, Store, access::Access, key::DeviceKey};
use crate::{
    client::{refused, understood},
    failure::Failure,
    output,
    place::Place,
    ssh::Tunnel,
    way,
    way::WebSocket,
};

/// HTTPS with the remote's own key, with the credentials that this machine has there.
#[derive(Debug)]
pub(crate) struct RemoteWay {
    name: String,
    https: Https,
    access: Access,
    record: Record,
    store: Store,
    /// Set once the daemon is known to have this machine as a device.
    committed: OnceCell<()>,
    /// What is kept of the daemon's pin and the one that comes next.
    pins: Mutex<(SpkiPin, Option<SpkiPin>)>,
}

impl RemoteWay {
    /// The way to the remote of this name; nothing is connected yet.
    pub(crate) fn to(store: Store, name: &str) -> Result<Self, Failure> {
        let record = store.get(name)?;
        let https = match &record.ssh {
            Some(far) => Https::through(name, Tunnel::to(far.clone())?, record.pin, record.next_pin())?,
            None => Https::with_next(name, &record.address, record.pin, record.next_pin())?,
        };
        Self::by(store, name, record, https)
    }

    /// The way to the remote of this name by a client that leads there already.
    pub(crate) fn by(store: Store, name: &str, record: Record, https: Https) -> Result<Self, Failure> {
        let key = DeviceKey::read(&record.key).ok_or_else(|| {
            Failure::failed(
                "damaged_remote",
                format!("the key of the remote `{name}` cannot be read"),
                format!("`transom remote rm --forget {name}`, then add it again"),
            )
        })?;
        let pins = Mutex::new((record.pin, record.next_pin()));
        Ok(Self {
            name: name.to_owned(),
            access: Access::new(https.clone(), record.device_id, record.token.clone(), key),
            https,
            record,
            store,
            committed: OnceCell::new(),
            pins,
        })
    }

    /// Where it leads, for errors.
    pub(crate) fn place(&self) -> &Place {
        self.https.place()
    }

    /// A request of the API, not yet sent.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.https.request(method, path)
    }

    /// Sends a request with what this machine can show, proving its key where that is asked for.
    ///
    /// # Errors
    /// Why there is no answer, or the daemon's refusal.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let answered = self.try_to_send(request).await;
        if answered.is_ok() {
            self.keep_pins().await;
        }
        answered
    }

    /// Who this machine is there, without keeping anything that is learned by asking.
    ///
    /// # Errors
    /// As [`RemoteWay::send`].
    pub(crate) async fn who_is_asking(&self) -> Result<WhoAmI, Failure> {
        let response = self.try_to_send(self.request(Method::GET, "/whoami")).await?;
        let body = response.bytes().await;
        let body = body.map_err(|error| way::broken(self.place(), &error))?;
        understood(&body)
    }

    async fn try_to_send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        self.committed.get_or_try_init(|| self.commit()).await?;
        let again = request.try_clone();
        let shown = self.access.shown().await?;
        let response = self.ask(request, shown.bearer.expose()).await?;
        let status = response.status();
        // Where others showed too much that is wrong, the daemon says no more than that, and takes a proof all the same.
        if ![StatusCode::UNAUTHORIZED, StatusCode::TOO_MANY_REQUESTS].contains(&status) {
            return way::done(response, self.place()).await;
        }
        let body = response.bytes().await;
        let body = body.map_err(|error| way::broken(self.place(), &error))?;
        let refusal = refused(status, &body);
        // An access token ends before its device does: only what is said of the device itself is the last word.
        if shown.is_device_token && refusal.is_final_rejection() {
            return Err(refusal);
        }
        match (self.access.after_refusal(&shown, &body).await?, again) {
            (Some(shown), Some(again)) => {
                let response = self.ask(again, shown.bearer.expose()).await?;
                way::done(response, self.place()).await
            }
            _ => Err(refusal),
        }
    }

    /// Opens a WebSocket of the API.
    ///
    /// # Errors
    /// What kept the connection from being made, or the daemon's refusal.
    pub(crate) async fn upgrade(&self, path: &str) -> Result<WebSocket, Failure> {
        let shown = self.access.shown().await?;
        match self.https.upgrade(path, shown.bearer.expose()).await {
            Err(failure) if failure.is_rejection() => {}
            other => return other,
        }
        // What comes with a refused upgrade may be cut short: whoami says for certain whether this device is one no more, and
        // proves its key where that is all that was missing.
        self.send(self.request(Method::GET, "/whoami")).await?;
        let shown = self.access.shown().await?;
        self.https.upgrade(path, shown.bearer.expose()).await
    }

    /// Keeps what the daemon says that this machine is, as its owner may have changed it.
    pub(crate) fn keep_known_as(&self, me: &WhoAmI) {
        let (Some(label), Some(role)) = (&me.label, me.role) else {
            return;
        };
        let known_as = |record: Record| record.known_as(label.clone(), role);
        let is_news = (&self.record.label, self.record.role) != (label, role);
        if is_news && let Err(Failure::Problem { problem, .. }) = self.change(known_as) {
            let (name, why) = (&self.name, &problem.detail);
            output::note(&format!(
                "what this machine is to `{name}` could not be kept: {why}"
            ));
        }
    }

    fn change(&self, change: impl FnOnce(Record) -> Record) -> Result<Record, Failure> {
        self.store.change(&self.name, self.record.device_id, change)
    }

    async fn ask(&self, request: RequestBuilder, bearer: &str) -> Result<Response, Failure> {
        self.https.send(request.bearer_auth(bearer)).await
    }

    /// Keeps which key the daemon shows, and which it said would come next, and tells it so. What was asked for is done by then, so
    /// that nothing here fails it: what cannot be kept is a warning, once, and is tried again by the next command.
    async fn keep_pins(&self) {
        let announced = self.access.announced().await;
        let next = match self.kept_anew(announced) {
            Ok(Some(next)) => next,
            Ok(None) => return,
            Err(Failure::Problem { problem, .. }) => {
                let (name, why) = (&self.name, &problem.detail);
                output::note(&format!("which key `{name}` shows could not be kept: {why}"));
                return;
            }
            Err(Failure::ClosedPipe) => return,
        };
        let told = KeptPin {
            next_pin: next.to_string(),
        };
        let request = self.request(Method::POST, "/devices/self/pin").json(&told);
        if let Ok(shown) = self.access.shown().await {
            // It is kept all the same: that the daemon does not hear so costs no more than a warning there.
            self.ask(request, shown.bearer.expose()).await.ok();
        }
    }

    /// Keeps on the disk which key is shown, and which comes next; gives the latter where it is news.
    fn kept_anew(&self, announced: Option<SpkiPin>) -> Result<Option<SpkiPin>, Failure> {
        let mut kept = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = self.https.pin();
        // Once it has come there is no next; until then, one that was announced is not taken back.
        let next = announced.or_else(|| kept.1.filter(|next| *next != shown));
        if *kept == (shown, next) {
            return Ok(None);
        }
        let former = mem::replace(&mut *kept, (shown, next));
        let pinned = |record: Record| record.committed().pinned(shown, next);
        self.change(pinned)?;
        Ok(next.filter(|_| next != former.1))
    }

    /// Finishes a pairing that was cut off between the token and its commit.
    async fn commit(&self) -> Result<(), Failure> {
        let Some(id) = self.record.uncommitted else {
            return Ok(());
        };
        let path = format!("/pairing/requests/{id}/commit");
        let request = self.request(Method::POST, &path).json(&json!({}));
        let response = self.ask(request, self.record.token.expose()).await?;
        if let Err(failure) = way::done(response, self.place()).await {
            return Err(match is_too_late(&failure) {
                true => unfinished(&self.name),
                false => failure,
            });
        }
        self.change(Record::committed)?;
        Ok(())
    }
}

fn unfinished(name: &str) -> Failure {
    Failure::failed(
        "pairing_unfinished",
        format!("the pairing with `{name}` was cut off before its end, and its time is over"),
        format!("`transom remote rm --forget {name}`, then add it again"),
    )
}

/// Whether the daemon knows no pairing any more that could be finished. Any other refusal speaks for itself.
fn is_too_late(refusal: &Failure) -> bool {
    let codes = ["unknown_token", "request_expired", "unknown_request", "not_found"];
    matches!(refusal, Failure::Problem { problem, .. } if codes.contains(&problem.code.as_str()))
}

#[cfg(test)]
mod tests {
    use pairing::{AuthError, CommitError};
    use protocol::Problem;

    use super::is_too_late;
    use crate::failure::Failure;

    #[test]
    fn only_what_says_that_a_pairing_is_over_hides_why_it_cannot_be_finished() {
        let is_too_late = |code| is_too_late(&Failure::answered(Problem::new(401, code, "d", "h")));
        assert!(is_too_late(CommitError::UnknownToken.code()));
        assert!(is_too_late(CommitError::Expired.code()));
        for code in [
            AuthError::Revoked.code(),
            AuthError::Expired.code(),
            "locked_down",
            "store_failed",
            "too_many_requests",
            "connection_lost",
        ] {
            assert!(!is_too_late(code), "{code}");
        }
    }
}
