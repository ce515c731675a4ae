//! A client of a daemon in the words of a command: the one that the environment names, or a remote one.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use ::client::{Device, Place};
use daemon::paths::Paths;
use protocol::access::WhoAmI;
use reqwest::header::HeaderValue;
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use ::client::{Streamed, with_query};

use crate::failure::Failure;

/// A client of one daemon; making it does not connect. Its requests are those of the crate `client`, and fail in the words of a
/// command.
#[derive(Clone, Debug)]
pub(crate) struct Client(::client::Client);

impl Client {
    /// A client of the daemon that the environment names: inside of a session, of the daemon that runs it.
    pub(crate) fn of_environment() -> Result<Self, Failure> {
        Self::at(&socket()?)
    }

    /// A client of the daemon behind this socket.
    pub(crate) fn at(socket: &Path) -> Result<Self, Failure> {
        Ok(Self(::client::Client::at(socket)?))
    }

    /// A client of a remote daemon.
    pub(crate) fn of_remote(device: Device) -> Self {
        Self(::client::Client::of(device))
    }

    /// What follows sessions and events.
    pub(crate) fn inner(&self) -> &::client::Client {
        &self.0
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

    /// Who this is to the daemon.
    pub(crate) async fn who_am_i(&self) -> Result<WhoAmI, Failure> {
        Ok(self.0.who_am_i().await?)
    }

    /// Asks for a value.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        Ok(self.0.get(path).await?)
    }

    /// Sends a body and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        Ok(self.0.post(path, body).await?)
    }

    /// Sends a body to whose answer there is nothing to read.
    pub(crate) async fn send(&self, path: &str, body: &impl Serialize) -> Result<(), Failure> {
        Ok(self.0.send(path, body).await?)
    }

    /// Asks for a value that may take so long to come true.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, Failure> {
        Ok(self.0.get_within(path, patience).await?)
    }

    /// Asks for a value once it is another, as [`::client::Client::other`].
    pub(crate) async fn other<T: DeserializeOwned>(
        &self,
        path: &str,
        known: &mut Option<HeaderValue>,
        patience: Duration,
    ) -> Result<Option<T>, Failure> {
        Ok(self.0.other(path, known, patience).await?)
    }

    /// Asks for bytes that are no JSON, or that are JSON for somebody else.
    pub(crate) async fn bytes(&self, path: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.0.bytes(path).await?)
    }

    /// Asks for an answer that goes on for as long as it wants to.
    pub(crate) async fn open(&self, path: &str) -> Result<Streamed, Failure> {
        Ok(self.0.open(path).await?)
    }

    /// Changes a part, and reads what came of it.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        Ok(self.0.patch(path, body).await?)
    }

    /// Deletes, and reads what that did.
    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        Ok(self.0.delete(path).await?)
    }

    /// Deletes what leaves nothing to read.
    pub(crate) async fn withdraw(&self, path: &str) -> Result<(), Failure> {
        Ok(self.0.withdraw(path).await?)
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

#[cfg(test)]
mod tests {
    use std::{io::Read, io::Write, os::unix::net::UnixListener, path::Path, thread};

    use protocol::Problem;
    use serde_json::json;

    use super::Client;
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
