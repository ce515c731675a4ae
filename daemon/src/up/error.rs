//! Why the daemon does not run.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use certs::{CertsError, PairFilesError, files::FileError};
use rustix::fs::statvfs;
use server::{Crashed, store::StoreError};

use crate::{
    ConfigError, backup::BackupError, lock::LockError, paths::PathsError, service::PassedError,
    socket::SocketError, tailnet::NotOwn,
};

/// Why the daemon does not run: a sentence, and a hint.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// There is no place for its files.
    #[error(transparent)]
    Paths(#[from] PathsError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A directory is not safe.
    #[error(transparent)]
    Files(#[from] FileError),
    /// Another one runs.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The identity key cannot be used.
    #[error(transparent)]
    Certs(#[from] CertsError),
    /// The user's own certificate cannot be served.
    #[error("the certificate of listen.certificate cannot be used: {0}")]
    OwnPair(#[from] PairFilesError),
    /// It was started with sockets that it cannot use.
    #[error(transparent)]
    Passed(#[from] PassedError),
    /// The socket cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// An address cannot be bound.
    #[error("the address {address} cannot be bound: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
    /// An address looks like one of the tailnet, and is not known to be this machine's in it.
    #[error("listen.tls: {address} {why}")]
    NotOwn {
        /// The address.
        address: SocketAddr,
        /// How it is not.
        why: NotOwn,
    },
    /// A keeper runs that does not serve this daemon.
    #[error(transparent)]
    Keeper(#[from] terminal::KeeperError),
    /// A task that must not end did.
    #[error(transparent)]
    Crashed(#[from] Crashed),
    /// What a start needs could not be looked at.
    #[error("the disk of {}, or of a file that is configured, does not answer", folder.display())]
    Hangs {
        /// The state directory.
        folder: PathBuf,
    },
    /// A restore of a back-up was cut off, and could not be finished.
    #[error(transparent)]
    Restore(Box<BackupError>),
    /// There is no space where its files are.
    #[error("no space is left on the disk of {}: {source}", folder.display())]
    FullDisk {
        /// The state directory.
        folder: PathBuf,
        /// What that kept it from.
        source: Box<UpError>,
    },
    /// The system said no.
    #[error("the daemon could not {what}: {source}")]
    System {
        /// What it tried.
        what: &'static str,
        /// The system's words.
        source: io::Error,
    },
}

impl UpError {
    /// What to do now.
    pub fn hint(&self) -> String {
        match self {
            Self::Paths(error) => error.hint().to_owned(),
            Self::Config(error) => error.hint(),
            Self::Files(error) => file_hint(error),
            Self::Lock(error) => error.hint(),
            Self::Store(StoreError::Older { .. }) => "if a device was revoked since, it would be back: put the newest copy in \
                its place (`transom backup restore --force`); if this is the newest, `transom up --accept-older-store` goes on with it, and revoke again"
                .to_owned(),
            Self::Store(StoreError::Missing { .. }) => "put the newest copy in its place (`transom backup restore --force`); where there is none, `transom up \
                --accept-older-store` begins an empty one, and every device must pair again"
                .to_owned(),
            Self::Store(StoreError::Newer { .. }) => {
                "run the newer transom, or put the copy that it left beside the store in its place".to_owned()
            }
            Self::Store(StoreError::File(error)) => file_hint(error),
            Self::Store(_) => {
                "nothing was changed; put a good copy in its place (`transom backup restore --force`), or start with another \
                TRANSOM_DIR"
                    .to_owned()
            }
            Self::Certs(_) => "check keys/identity.pem: without it every device would have to pair again".to_owned(),
            Self::OwnPair(_) => {
                "mend the files of listen.certificate and listen.key, or leave both keys out: then the daemon's own \
                certificate is served"
                    .to_owned()
            }
            Self::Passed(error) => error.hint().to_owned(),
            Self::Socket(error) => error.hint().to_owned(),
            Self::Bind { .. } => {
                "see who has the port (`ss -ltnp`), or choose another by `--tls` or listen.tls; port 0 picks a free one"
                    .to_owned()
            }
            Self::NotOwn { address, .. } => format!(
                "write tailnet:{} for a listener at whatever this machine is in its tailnet, as soon as it is there",
                address.port()
            ),
            Self::Keeper(_) => {
                "stop the sessions with the daemon that started it, or end the process `transom keep`, and its sessions with it"
                    .to_owned()
            }
            Self::Hangs { .. } => {
                "nothing was ended; see what holds the disk up (`sudo dmesg`), as a network file system that is away, and ask \
                again"
                    .to_owned()
            }
            Self::Restore(error) => error.hint(),
            Self::FullDisk { .. } => "make room there, then start it again: nothing that it holds is at fault".to_owned(),
            Self::Crashed(_) => "see the log in the state directory, and start it again".to_owned(),
            Self::System { .. } => "check the state directory, its owner and the free space".to_owned(),
        }
    }

    /// Whether the configuration is at fault: exit code 64.
    pub fn is_configuration(&self) -> bool {
        matches!(
            self,
            Self::Config(_)
                | Self::Paths(_)
                | Self::OwnPair(_)
                | Self::NotOwn {
                    why: NotOwn::Another,
                    ..
                }
        )
    }

    /// The same, told of a disk that is full where that is why.
    pub(super) fn on_full_disk(self, folder: &Path) -> Self {
        let may_be_why = matches!(
            &self,
            Self::Files(FileError::Io { .. })
                | Self::Certs(CertsError::File(FileError::Io { .. }))
                | Self::Store(StoreError::Sql(_) | StoreError::File(FileError::Io { .. }))
                | Self::Lock(LockError::Io { .. })
                | Self::System { .. }
        );
        let free = statvfs(folder).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        match may_be_why && free.is_ok_and(|free| free < ROOM) {
            true => Self::FullDisk {
                folder: folder.to_owned(),
                source: Box::new(self),
            },
            false => self,
        }
    }

    /// Whether another process holds the lock: a daemon, also one that starts or drains, or who does without one.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Lock(LockError::AlreadyRunning(_)) => true,
            Self::Restore(error) => matches!(**error, BackupError::Restoring(_)),
            _ => false,
        }
    }

    /// Whether the owner, the mode or the kind of a file is at fault.
    pub fn is_about_a_file(&self) -> bool {
        matches!(self, Self::Files(_) | Self::Store(StoreError::File(_)))
    }

    pub(crate) fn io(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { what, source }
    }

    pub(super) fn system(what: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |errno| Self::System {
            what,
            source: errno.into(),
        }
    }
}

/// What to do about a file of the daemon's that is refused.
pub fn file_hint(error: &FileError) -> String {
    match error {
        FileError::Mode { path, wanted, .. } => {
            format!("`chmod {wanted:o} {}`", path.display())
        }
        FileError::Owner { path, .. } => format!("`sudo chown $USER {}`, if it is yours", path.display()),
        FileError::Kind { path, .. } => format!("move {} away", path.display()),
        FileError::Open { path } => format!("`chmod o= {}`", path.display()),
        FileError::Io { .. } | FileError::TooLarge { .. } => {
            "its owner must be you and its mode 0700 (a directory) or 0600 (a file)".to_owned()
        }
    }
}

/// Bytes that a start needs.
const ROOM: u64 = 1 << 20;
