//! A client of a daemon's API, whichever way leads to it.

use std::{path::Path, sync::Arc, time::Duration};

use protocol::access::WhoAmI;
use reqwest::{
    Method, RequestBuilder, Response, StatusCode, Url,
    header::{ETAG, HeaderValue, IF_NONE_MATCH},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    device::Device,
    error::{Error, MayPass},
    place::Place,
    way::{self, SocketWay, Way, WebSocket},
};

/// A client of one daemon; making it does not connect. Clones are the same client. Paths are those of the API without `/v1`.
#[derive(Clone, Debug)]
pub struct Client(Way);

impl Client {
    /// A client of the daemon behind this Unix socket, as its owner.
    ///
    /// # Errors
    /// No client can be made.
    pub fn at(socket: &Path) -> Result<Self, Error> {
        Ok(Self(Way::Socket(SocketWay::to(socket)?)))
    }

    /// A client of the daemon of which this is a device.
    pub fn of(device: Device) -> Self {
        Self(Way::Remote(Arc::new(device)))
    }

    /// Where the daemon is asked.
    pub fn place(&self) -> &Place {
        self.0.place()
    }

    /// Opens a WebSocket.
    pub(crate) async fn upgrade(&self, path: &str) -> Result<WebSocket, Error> {
        tokio::time::timeout(QUICK + self.slack(), self.0.upgrade(path))
            .await
            .map_err(|_| Error::TimedOut(self.place().clone()))
            .flatten()
    }

    /// Who this is to the daemon.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn who_am_i(&self) -> Result<WhoAmI, Error> {
        let me = self.get("/whoami").await?;
        if let Way::Remote(way) = &self.0 {
            way.keep_known_as(&me);
        }
        Ok(me)
    }

    /// What a rejection means that came without its reason, as the end of a WebSocket does: the daemon is asked once more.
    pub(crate) async fn verdict(&self, rejection: Error) -> Error {
        if matches!(self.0, Way::Socket(_)) {
            return rejection;
        }
        match self.who_am_i().await {
            Ok(_) => Error::lost("the daemon ended this attachment, and does not say why"),
            Err(error) if error.is_about_the_link() => rejection,
            Err(error) => error,
        }
    }

    /// Asks for a value.
    ///
    /// # Errors
    /// Why there is no answer, the daemon's refusal, or that its answer is not understood.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.read(self.request(Method::GET, path), QUICK).await
    }

    /// Sends a body and reads the answer.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.read(self.request(Method::POST, path).json(body), THOROUGH)
            .await
    }

    /// Sends a body to whose answer there is nothing to read.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn send(&self, path: &str, body: &impl Serialize) -> Result<(), Error> {
        self.answer(self.request(Method::POST, path).json(body), THOROUGH)
            .await
            .map(drop)
    }

    /// Asks for a value that may take so long to come true.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn get_within<T: DeserializeOwned>(&self, path: &str, patience: Duration) -> Result<T, Error> {
        self.read(self.request(Method::GET, path), patience.saturating_add(QUICK))
            .await
    }

    /// Asks for a value once it is another than the one that this tag of an answer stands for, which is held back for so long
    /// at most; `None` where it is still the same.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn other<T: DeserializeOwned>(
        &self,
        path: &str,
        known: &mut Option<HeaderValue>,
        patience: Duration,
    ) -> Result<Option<T>, Error> {
        let mut request = self.request(Method::GET, &format!("{path}?wait={}", patience.as_secs()));
        if let Some(tag) = known.as_ref() {
            request = request.header(IF_NONE_MATCH, tag);
        }
        let request = request.timeout(patience + QUICK + self.slack());
        let response = self.0.send(request).await?;
        if response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let tag = response.headers().get(ETAG).cloned();
        let body = response.bytes().await.map_err(|error| self.0.broken(&error))?;
        let value = way::understood(&body)?;
        *known = tag;
        Ok(Some(value))
    }

    /// Asks for bytes that are no JSON, or that are JSON for somebody else.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.answer(self.request(Method::GET, path), THOROUGH).await
    }

    /// Asks for an answer that goes on for as long as it wants to.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn open(&self, path: &str) -> Result<Streamed, Error> {
        let sent = self.0.send(self.request(Method::GET, path));
        let response = tokio::time::timeout(THOROUGH + self.slack(), sent)
            .await
            .map_err(|_| Error::TimedOut(self.place().clone()))
            .flatten()?;
        Ok(Streamed {
            response,
            client: self.clone(),
        })
    }

    /// Changes a part, and reads what came of it.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Error> {
        self.read(self.request(Method::PATCH, path).json(body), THOROUGH)
            .await
    }

    /// Deletes, and reads what that did.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.read(self.request(Method::DELETE, path), THOROUGH).await
    }

    /// Deletes what leaves nothing to read.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn withdraw(&self, path: &str) -> Result<(), Error> {
        self.answer(self.request(Method::DELETE, path), QUICK)
            .await
            .map(drop)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.0.request(method, path)
    }

    async fn read<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        patience: Duration,
    ) -> Result<T, Error> {
        way::understood(&self.answer(request, patience).await?)
    }

    async fn answer(&self, request: RequestBuilder, patience: Duration) -> Result<Vec<u8>, Error> {
        let response = self.0.send(request.timeout(patience + self.slack())).await?;
        let body = response.bytes().await;
        Ok(body.map_err(|error| self.0.broken(&error))?.into())
    }

    /// How much longer than on this machine an answer may take.
    fn slack(&self) -> Duration {
        match self.0 {
            Way::Socket(_) => Duration::ZERO,
            Way::Remote(_) => FAR,
        }
    }
}

/// An answer that comes in pieces.
#[derive(Debug)]
pub struct Streamed {
    response: Response,
    client: Client,
}

impl Streamed {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The connection broke off.
    pub async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Error> {
        self.response
            .chunk()
            .await
            .map_err(|error| self.client.0.broken(&error))
    }
}

/// The path with the fields of the value as its query; those that are null are left out.
pub fn with_query(path: &str, query: &impl Serialize) -> String {
    let fields = serde_json::to_value(query).expect("queries have string keys and finite numbers");
    let mut url = Url::parse(ANYWHERE).expect("the base is an address");
    {
        let mut pairs = url.query_pairs_mut();
        for (name, value) in fields.as_object().into_iter().flatten() {
            match value {
                Value::Null => {}
                Value::String(text) => drop(pairs.append_pair(name, text)),
                other => drop(pairs.append_pair(name, &other.to_string())),
            }
        }
    }
    match url.query() {
        Some(query) if !query.is_empty() => format!("{path}?{query}"),
        _ => path.to_owned(),
    }
}

/// An address to which a query is written, for its encoding alone.
const ANYWHERE: &str = "http://localhost";
/// How long an answer may take that needs no work.
const QUICK: Duration = Duration::from_secs(5);
/// How long an answer may take that ends programs: a stop waits 5 s before it kills, a shutdown stops all of them.
const THOROUGH: Duration = Duration::from_secs(30);
/// What connecting over a bad link takes: TLS, and a proof of who asks.
const FAR: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use protocol::sessions::{ScreenFormat, ScreenQuery, WaitQuery};

    use super::with_query;

    #[test]
    fn a_query_holds_what_is_said_and_any_character() {
        let query = ScreenQuery {
            format: ScreenFormat::Ansi,
            lines: Some(3),
            ..ScreenQuery::default()
        };
        let path = with_query("/s", &query);
        assert!(
            path.starts_with("/s?") && path.contains("format=ansi") && path.contains("lines=3"),
            "{path}"
        );
        assert!(!path.contains("before"), "{path}");
        let query = WaitQuery {
            text: Some("a&b +#%é".to_owned()),
            ..WaitQuery::default()
        };
        assert_eq!(with_query("/w", &query), "/w?text=a%26b+%2B%23%25%C3%A9");
        assert_eq!(with_query("/w", &WaitQuery::default()), "/w");
    }
}
