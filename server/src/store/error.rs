//! What can go wrong with the store.

use std::{
    io,
    path::{Path, PathBuf},
};

use certs::files::FileError;
use rusqlite::ErrorCode;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later version of this program wrote the file, which was left as it is.
    #[error(
        "{} has schema version {found} and this binary knows {supported} at most; \
         start the newer binary, or restore the copy of version {supported} that it left beside the file",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The latest version that this binary knows.
        supported: i64,
    },
    /// The file is damaged, or no store at all. Starting empty would forget every device, so it is refused.
    #[error("{} is damaged ({reason}); restore it from a backup, or move it away to start without any paired device", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file is gone, and that there was one is written beside its keys. To begin an empty one would forget every device.
    #[error("{} is missing, and keys/epoch says that there was one", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The key of the token hashes is gone or another, which would silently un-pair every device and end every guest.
    #[error("{} {reason} while there are devices or guests; restore it from the backup that belongs to this store", path.display())]
    TokenKey {
        /// The key's file.
        path: PathBuf,
        /// `is missing`, or that it is another.
        reason: &'static str,
    },
    /// The key of the audit trail's chain is gone or another.
    #[error(
        "{} {reason}, so the audit trail can be neither checked nor continued; restore it from the backup that belongs to this store",
        path.display()
    )]
    AuditKey {
        /// The key's file.
        path: PathBuf,
        /// `is missing`, or that it is another.
        reason: &'static str,
    },
    /// The file is older than what this daemon had written: devices that were revoked since might be back.
    #[error("{} is older than what was written last: {reason}", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// How that is seen.
        reason: String,
    },
    /// An earlier version of this program wrote the file, and only a daemon brings it to the present one.
    #[error("{} has schema version {found}, and this binary writes {supported}", path.display())]
    Earlier {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The version that this binary writes.
        supported: usize,
    },
    /// A back-up is older than what was written last, and who was ended since cannot be told: its devices are neither let in nor
    /// kept out before the owner says which.
    #[error(
        "the back-up has the audit trail up to row {row}, and {known}; {why}: which devices were revoked since is not known"
    )]
    Undecided {
        /// The last row of the back-up.
        row: u64,
        /// How far the trail had come, in words.
        known: String,
        /// Why the store that is there does not tell.
        why: String,
    },
    /// A row that this program cannot have written.
    #[error("table {table}: {reason}")]
    Row {
        /// The table.
        table: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file has the wrong owner, mode or kind, or the system refused it.
    #[error(transparent)]
    File(#[from] FileError),
    /// The writer's thread could not start.
    #[error("cannot start the store's thread: {0}")]
    Thread(#[from] io::Error),
    /// SQLite refused: disk full, input or output error.
    #[error("the store failed: {0}")]
    Sql(#[from] rusqlite::Error),
    /// What a daemon left that was killed could not be copied, to be looked at.
    #[error("the store cannot be looked at, for want of a place to copy it to: {0}")]
    Copy(io::Error),
    /// The writer has ended.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Says of damage in which file it was found.
    pub(super) fn in_file(self, path: &Path) -> Self {
        let damaged = match &self {
            Self::Row { .. } => true,
            Self::Sql(error) => {
                matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                )
            }
            _ => false,
        };
        if damaged {
            Self::corrupt(path, self.to_string())
        } else {
            self
        }
    }

    pub(super) fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
