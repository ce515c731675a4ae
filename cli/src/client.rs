//! A client of a daemon's API, whichever way leads to it.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use daemon::paths::Paths;
use protocol::{Problem, access::WhoAmI};
use reqwest::{
    Method, RequestBuilder, Response, StatusCode, Url,
    header::{ETAG, HeaderValue, IF_NONE_MATCH},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    failure::Failure,
    place::Place,
    remote::RemoteWay,
    way::{SocketWay, Way, WebSocket},
};

/// A client of one daemon; making it does not connect.
#[derive(Clone, Debug)]
pub(crate) struct Client(Way);

impl Client {
    /// A client of the daemon that the environment names: inside of a session, of the daemon that runs it.
    pub(crate) fn of_environment() -> Result<Self, Failure> {
        Self::at(&socket()?)
    }

    /// A client of the daemon behind this socket.
    pub(crate) fn at(socket: &Path) -> Result<Self, Failure> {
        Ok(Self(Way::Socket(SocketWay::to(socket)?)))
    }

    /// A client of a remote daemon.
    pub(crate) fn of_remote(way: RemoteWay) -> Self {
        Self(Way::Remote(Arc::new(way)))
    }

    /// Where the daemon is asked.
    pub(crate) fn place(&self) -> &Place {
        self.0.place()
    }

    /// What this machine calls the daemon, if it is a remote one.
    pub(crate) fn remote(&self) -> Option<&str> {
        match self.place() {
            Place::Remote { name, .. } => Some(name),
            Place::Socket(_) => None,
        }
    }

    /// What a command needs besides its own words to reach the same daemon: nothing, or a blank and a flag.
    pub(crate) fn flag(&self) -> String {
        self.remote()
            .map(|name| format!(" --on {name}"))
            .unwrap_or_default()
    }

    /// Opens a WebSocket.
    pub(crate) async fn upgrade(&self, path: &str) -> Result<WebSocket, Failure> {
        tokio::time::timeout(QUICK + self.slack(), self.0.upgrade(path))
            .await
            .map_err(|_| Failure::no_answer(self.place()))
            .flatten()
    }

    /// Who this is to the daemon.
    pub(crate) async fn who_am_i(&self) -> Result<WhoAmI, Failure> {
        let me = self.get("/whoami").await?;
        if let Way::Remote(way) = &self.0 {
            way.keep_known_as(&me);
        }
        Ok(me)
    }

    /// What a rejection means that came without its reason, as the end of a WebSocket does: the daemon is asked once more.
    pub(crate) async fn verdict(&self, rejection: Failure) -> Failure {
        if self.remote().is_none() {
            return rejection;
        }
        match self.who_am_i().await {
            Ok(_) => Failure::lost("the daemon ended this attachment, and does not say why"),
            Err(failure) if failure.is_about_the_link() => rejection,
            Err(failure) => failure,
        }
    }

    /// Asks for a value.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.read(self.request(Method::GET, path), QUICK).await
    }

    /// Sends a body and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.read(self.request(Method::POST, path).json(body), THOROUGH)
            .await
    }

    /// Sends a body to whose answer there is nothing to read.
    pub(crate) async fn send(&self, path: &str, body: &impl Serialize) -> Result<(), Failure> {
        self.answer(self.request(Method::POST, path).json(body), THOROUGH)
            .await
            .map(drop)
    }

    /// Asks for a value that may take so long to come true.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, Failure> {
        self.read(self.request(Method::GET, path), patience.saturating_add(QUICK))
            .await
    }

    /// Asks for a value once it is another than the one that this tag of an answer stands for, which is held back for so long
    /// at most; `None` where it is still the same.
    pub(crate) async fn other<T: DeserializeOwned>(
        &self,
        path: &str,
        known: &mut Option<HeaderValue>,
        patience: Duration,
    ) -> Result<Option<T>, Failure> {
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
        let value = understood(&body)?;
        *known = tag;
        Ok(Some(value))
    }

    /// Asks for bytes that are no JSON, or that are JSON for somebody else.
    pub(crate) async fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.answer(self.request(Method::GET, path), THOROUGH).await
    }

    /// Asks for an answer that goes on for as long as it wants to.
    pub(crate) async fn open(&self, path: &str) -> Result<Streamed, Failure> {
        let sent = self.0.send(self.request(Method::GET, path));
        let response = tokio::time::timeout(THOROUGH + self.slack(), sent)
            .await
            .map_err(|_| Failure::no_answer(self.place()))
            .flatten()?;
        Ok(Streamed {
            response,
            client: self.clone(),
        })
    }

    /// Changes a part, and reads what came of it.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.read(self.request(Method::PATCH, path).json(body), THOROUGH)
            .await
    }

    /// Deletes, and reads what that did.
    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.read(self.request(Method::DELETE, path), THOROUGH).await
    }

    /// Deletes what leaves nothing to read.
    pub(crate) async fn withdraw(&self, path: &str) -> Result<(), Failure> {
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
    ) -> Result<T, Failure> {
        understood(&self.answer(request, patience).await?)
    }

    async fn answer(&self, request: RequestBuilder, patience: Duration) -> Result<Vec<u8>, Failure> {
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

/// The socket of the daemon that the environment names: inside of a session, of the daemon that runs it.
pub(crate) fn socket() -> Result<PathBuf, Failure> {
    match session_socket() {
        Some(socket) => Ok(socket.into()),
        None => Ok(paths()?.socket()),
    }
}

/// Where the environment has the files of this user's daemon and commands.
pub(crate) fn paths() -> Result<Paths, Failure> {
    Paths::find(None).map_err(|error| Failure::configuration(error.to_string(), error.hint()))
}

/// The socket of the daemon in whose session this runs, unless another is asked for.
pub(crate) fn session_socket() -> Option<OsString> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    variable("TRANSOM_SOCKET").filter(|_| variable("TRANSOM_DIR").is_none())
}

/// The session that this runs in, as its environment tells, if its daemon is the one that is asked.
pub(crate) fn own_session() -> Option<String> {
    session_socket()?;
    env::var("TRANSOM_SESSION").ok().filter(|id| !id.is_empty())
}

/// An answer that comes in pieces.
#[derive(Debug)]
pub(crate) struct Streamed {
    response: Response,
    client: Client,
}

impl Streamed {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The connection broke off.
    pub(crate) async fn chunk(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Failure> {
        self.response
            .chunk()
            .await
            .map_err(|error| self.client.0.broken(&error))
    }
}

/// The path with the fields of the value as its query; those that are null are left out.
pub(crate) fn with_query(path: &str, query: &impl Serialize) -> String {
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

/// The value of an answer.
pub(crate) fn understood<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        let hint = "daemon and command are of different versions: `transom shutdown`, then `transom up`";
        Failure::failed(
            "unknown_answer",
            format!("the daemon's answer is not understood: {error}"),
            hint,
        )
    })
}

/// What an answer that is no success means.
pub(crate) fn refused(status: StatusCode, body: &[u8]) -> Failure {
    let problem = serde_json::from_slice(body).unwrap_or_else(|_| {
        let detail = format!("the daemon answered {status}, and does not say why");
        Problem::new(status.as_u16(), "unexplained", detail, "its log says more")
    });
    Failure::answered(problem)
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
    use std::{io::Read, io::Write, os::unix::net::UnixListener, path::Path, thread};

    use protocol::Problem;
    use serde_json::json;

    use protocol::sessions::{ScreenFormat, ScreenQuery, WaitQuery};

    use super::{Client, with_query};
    use crate::failure::Failure;

    fn parts(failure: Failure) -> (u8, String, String) {
        match failure {
            Failure::Problem { exit, problem } => (exit, problem.code, problem.hint),
            Failure::ClosedPipe => panic!("a closed pipe has no parts"),
        }
    }

    async fn ask(socket: &Path) -> Failure {
        Client::at(socket)
            .unwrap()
            .get::<serde_json::Value>("/status")
            .await
            .unwrap_err()
    }

    /// A daemon that gives one answer; nothing ends the connection.
    fn daemon(directory: &Path, answer: &str) -> std::path::PathBuf {
        let socket = directory.join("transom.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let answer = answer.to_owned();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        socket
    }

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

    #[tokio::test]
    async fn no_socket_means_that_no_daemon_runs() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(
            parts(ask(&directory.path().join("transom.sock")).await).1,
            "unreachable"
        );
    }

    #[tokio::test]
    async fn a_socket_without_a_listener_means_that_no_daemon_runs() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("transom.sock");
        drop(UnixListener::bind(&socket).unwrap());
        assert_eq!(parts(ask(&socket).await).0, 3);
    }

    #[tokio::test]
    async fn the_daemons_own_words_are_passed_on() {
        let directory = tempfile::tempdir().unwrap();
        let body = json!(Problem::new(403, "x", "no", "do this instead")).to_string();
        let socket = daemon(
            directory.path(),
            &format!(
                "HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        assert_eq!(
            parts(ask(&socket).await),
            (4, "x".to_owned(), "do this instead".to_owned())
        );
    }

    #[tokio::test]
    async fn an_answer_that_is_no_problem_is_still_a_failure() {
        let directory = tempfile::tempdir().unwrap();
        let socket = daemon(
            directory.path(),
            "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno",
        );
        assert_eq!(parts(ask(&socket).await).1, "unexplained");
    }

    #[tokio::test]
    async fn a_connection_that_ends_early_is_said_to_be_lost() {
        let directory = tempfile::tempdir().unwrap();
        let socket = daemon(directory.path(), "");
        assert_eq!(parts(ask(&socket).await).1, "connection_lost");
    }
}
