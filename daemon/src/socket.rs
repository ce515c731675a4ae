//! The Unix socket: made where there is none, and never in the place of something that is not our own dead one.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::Path,
};

use tokio::net::{UnixListener, UnixStream};

use crate::service::Passed;

/// Why the socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Something else is there.
    #[error("{path} is in the way: {what}")]
    InTheWay {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The system said no.
    #[error("the socket {path} cannot be made: {source}")]
    Io {
        /// The path.
        path: String,
        /// The system's words.
        source: io::Error,
    },
}

impl SocketError {
    /// What to do now.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InTheWay { .. } => "see what it is, then move it away or set TRANSOM_DIR",
            Self::Io { .. } => "check the directory, its owner and the free space",
        }
    }
}

/// Listens at the path with the socket that this process was started with, if it was; else [makes](bind) one.
pub(crate) async fn open(path: &Path, passed: &Passed) -> Result<UnixListener, SocketError> {
    let failed = |source| SocketError::Io {
        path: path.display().to_string(),
        source,
    };
    match passed.unix().map_err(failed)? {
        Some(socket) => UnixListener::from_std(socket).map_err(failed),
        None => bind(path).await,
    }
}

/// Listens at the path, 0600, in a directory that only its owner can enter.
async fn bind(path: &Path) -> Result<UnixListener, SocketError> {
    let failed = |source| SocketError::Io {
        path: path.display().to_string(),
        source,
    };
    remove_dead(path).await?;
    let listener = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Removes our own socket that nobody listens on. Only ECONNREFUSED proves that: a daemon that is busy does not refuse.
async fn remove_dead(path: &Path) -> Result<(), SocketError> {
    let shown = || path.display().to_string();
    let in_the_way = |what| Err(SocketError::InTheWay { path: shown(), what });
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(SocketError::Io {
                path: shown(),
                source,
            });
        }
    };
    if !found.file_type().is_socket() {
        return in_the_way("it is no socket");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return in_the_way("it is another user's socket");
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|source| SocketError::Io {
                path: shown(),
                source,
            })
        }
        Err(_) => in_the_way("it is a socket that does not say whether somebody listens"),
        Ok(_) => in_the_way("somebody listens on it"),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{SocketError, UnixStream, bind};

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transom.sock");
        let live = bind(&path).await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(bind(&path).await, Err(SocketError::InTheWay { .. })));
        drop(live);
        bind(&path).await.unwrap();
    }

    #[tokio::test]
    async fn one_whose_listener_is_too_busy_to_take_anybody_is_not_dead() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transom.sock");
        let live = bind(&path).await.unwrap();
        rustix::net::listen(&live, 0).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = UnixStream::connect(&path).await {
            waiting.push(stream);
        }
        let error = bind(&path).await.unwrap_err();
        assert!(matches!(error, SocketError::InTheWay { .. }), "{error}");
        live.accept().await.unwrap();
        UnixStream::connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn a_file_in_its_place_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transom.sock");
        fs::write(&path, "mine").unwrap();
        let error = bind(&path).await.unwrap_err();
        assert!(error.to_string().contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
