//! The way to a daemon elsewhere, as a device of it.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use certs::SpkiPin;
use protocol::access::{KeptPin, WhoAmI};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    access::Access,
    error::Error,
    https::Https,
    key::DeviceKey,
    place::Place,
    store::{Change, Credential, Store},
    way::{self, WebSocket},
};

/// HTTPS with the daemon's own key, with the credential that a device has there. Its access token is renewed without a word.
#[derive(Debug)]
pub struct Device {
    https: Https,
    access: Access,
    credential: Credential,
    store: Arc<dyn Store>,
    /// Set once the daemon is known to have this device.
    committed: OnceCell<()>,
    /// What is kept of the daemon's pin and the one that comes next.
    pins: Mutex<(SpkiPin, Option<SpkiPin>)>,
}

impl Device {
    /// The way to the daemon of this credential, straight to its address; nothing is connected yet.
    ///
    /// # Errors
    /// The key in the credential cannot be read.
    pub fn new(credential: Credential, store: Arc<dyn Store>) -> Result<Self, Error> {
        let name = credential.address.to_string();
        let (address, pin, next) = (&credential.address, credential.pin, credential.next_pin);
        let https = Https::with_next(&name, address, pin, next)?;
        Self::by(https, credential, store)
    }

    /// The same by a client that leads there already.
    ///
    /// # Errors
    /// The key in the credential cannot be read.
    pub fn by(https: Https, credential: Credential, store: Arc<dyn Store>) -> Result<Self, Error> {
        let key = DeviceKey::read(&credential.key).ok_or_else(|| Error::DamagedKey(https.place().clone()))?;
        let pins = Mutex::new((credential.pin, credential.next_pin));
        let token = credential.token.clone();
        Ok(Self {
            access: Access::new(https.clone(), credential.device_id, token, key),
            https,
            credential,
            store,
            committed: OnceCell::new(),
            pins,
        })
    }

    /// Where it leads, for errors.
    pub fn place(&self) -> &Place {
        self.https.place()
    }

    /// A request of the API, not yet sent.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.https.request(method, path)
    }

    /// Sends a request with what this device can show, proving its key where that is asked for.
    ///
    /// # Errors
    /// Why there is no answer, or the daemon's refusal.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let answered = self.try_to_send(request).await;
        if answered.is_ok() {
            self.keep_pins().await;
        }
        answered
    }

    /// Who this is there, without keeping anything that is learned by asking.
    ///
    /// # Errors
    /// As a request that is sent.
    pub async fn who_is_asking(&self) -> Result<WhoAmI, Error> {
        let response = self.try_to_send(self.request(Method::GET, "/whoami")).await?;
        let body = response.bytes().await;
        let body = body.map_err(|error| way::broken(self.place(), &error))?;
        way::understood(&body)
    }

    async fn try_to_send(&self, request: RequestBuilder) -> Result<Response, Error> {
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
        let refusal = Error::refused(status, &body);
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
    pub(crate) async fn upgrade(&self, path: &str) -> Result<WebSocket, Error> {
        let shown = self.access.shown().await?;
        match self.https.upgrade(path, shown.bearer.expose()).await {
            Err(refusal) if refusal.is_rejection() => {}
            other => return other,
        }
        // What comes with a refused upgrade may be cut short: whoami says for certain whether this device is one no more, and
        // proves its key where that is all that was missing.
        self.send(self.request(Method::GET, "/whoami")).await?;
        let shown = self.access.shown().await?;
        self.https.upgrade(path, shown.bearer.expose()).await
    }

    /// Keeps what the daemon says that this device is, as its owner may have changed it.
    pub(crate) fn keep_known_as(&self, me: &WhoAmI) {
        let (Some(label), Some(role)) = (&me.label, me.role) else {
            return;
        };
        if (&self.credential.label, self.credential.role) != (label, role) {
            let label = label.clone();
            // What is not kept is told again to the next that asks.
            self.store.change(&Change::Known { label, role }).ok();
        }
    }

    async fn ask(&self, request: RequestBuilder, bearer: &str) -> Result<Response, Error> {
        self.https.send(request.bearer_auth(bearer)).await
    }

    /// Keeps which key the daemon shows, and which it said would come next, and tells it so. What was asked for is done by then, so
    /// that nothing here fails it: what cannot be kept is for the store to say, and is tried again by the next process.
    async fn keep_pins(&self) {
        let announced = self.access.announced().await;
        let Some(next) = self.kept_anew(announced) else {
            return;
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

    /// Keeps in the store which key is shown, and which comes next; gives the latter where it is news, and kept.
    fn kept_anew(&self, announced: Option<SpkiPin>) -> Option<SpkiPin> {
        let mut kept = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = self.https.pin();
        // Once it has come there is no next; until then, one that was announced is not taken back.
        let next = announced.or_else(|| kept.1.filter(|next| *next != shown));
        if *kept == (shown, next) {
            return None;
        }
        let former = mem::replace(&mut *kept, (shown, next));
        self.store.change(&Change::Pins { pin: shown, next }).ok()?;
        next.filter(|_| next != former.1)
    }

    /// Finishes a pairing that was cut off between the token and its commit.
    async fn commit(&self) -> Result<(), Error> {
        let Some(id) = self.credential.uncommitted else {
            return Ok(());
        };
        let path = format!("/pairing/requests/{id}/commit");
        let request = self.request(Method::POST, &path).json(&json!({}));
        let response = self.ask(request, self.credential.token.expose()).await?;
        if let Err(refusal) = way::done(response, self.place()).await {
            return Err(match is_too_late(&refusal) {
                true => Error::PairingUnfinished(self.place().clone()),
                false => refusal,
            });
        }
        self.store.change(&Change::Committed).map_err(Error::Store)
    }
}

/// Whether the daemon knows no pairing any more that could be finished. Any other refusal speaks for itself.
fn is_too_late(refusal: &Error) -> bool {
    ["unknown_token", "request_expired", "unknown_request", "not_found"].contains(&refusal.code())
}

#[cfg(test)]
mod tests {
    use pairing::{AuthError, CommitError};
    use protocol::Problem;

    use super::is_too_late;
    use crate::error::Error;

    #[test]
    fn only_what_says_that_a_pairing_is_over_hides_why_it_cannot_be_finished() {
        let is_too_late = |code| is_too_late(&Error::Refused(Box::new(Problem::new(401, code, "d", "h"))));
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
