//! Why a back-up was not made or not restored.

use std::{
    io,
    path::{Path, PathBuf},
};

use server::store::StoreError;

use crate::UpError;

/// Why a back-up was not made or not restored: a sentence, and a hint. Nothing was changed, but by [`Self::HalfDone`].
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// No daemon ever served here.
    #[error("there is nothing to back up: no daemon ever served with the state directory {}", .0.display())]
    Nothing(PathBuf),
    /// A daemon has the state, or who does something without one.
    #[error("a daemon, or a command in the place of one, is at work on the state directory {}", .0.display())]
    Running(PathBuf),
    /// Another back-up is being restored.
    #[error("a back-up is being restored into the state directory {}", .0.display())]
    Restoring(PathBuf),
    /// A state would be replaced.
    #[error("{} is there already", .0.display())]
    Occupied(PathBuf),
    /// A file would be replaced.
    #[error("{} exists already", .0.display())]
    FileExists(PathBuf),
    /// A session of another daemon runs.
    #[error("sessions of the daemon that was here still run, and the back-up is another daemon's")]
    Sessions,
    /// What gives way cannot be moved.
    #[error("{} cannot be moved out of the way: {why}", path.display())]
    Immovable {
        /// The file or folder.
        path: PathBuf,
        /// What keeps it there.
        why: String,
    },
    /// A step of a restore was refused, and what was done by then is undone.
    #[error("a back-up could not be put in place, and what was done of it was undone: {0}")]
    Undone(io::Error),
    /// The same, and not all of it could be undone.
    #[error(
        "a back-up could not be put in place ({why}), and what was done of it could not all be undone ({undoing}): what is in {} is \
        of neither state as a whole",
        state.display()
    )]
    HalfDone {
        /// The state directory.
        state: PathBuf,
        /// Which step was refused.
        why: io::Error,
        /// Which one back.
        undoing: String,
    },
    /// A restore was cut off in its middle.
    #[error("a restore was cut off in its middle: what is in {} is of neither state as a whole", .0.display())]
    CutOff(PathBuf),
    /// What a restore that was cut off has to do is not known.
    #[error("{}, which says how a restore that was cut off is finished, is damaged: {why}", path.display())]
    Illegible {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A daemon's state is not one to go back to.
    #[error("this state cannot be backed up: {0}")]
    Unfit(String),
    /// The file is something else.
    #[error("this is no back-up of transom")]
    NotOne,
    /// The passphrase does not open it.
    #[error(
        "the passphrase does not open this back-up; it is another, or the beginning of the file was changed"
    )]
    WrongPassphrase,
    /// It was encrypted, and no passphrase was given.
    #[error("this back-up is encrypted with a passphrase")]
    Encrypted,
    /// It was encrypted for a key, by another program.
    #[error("this file is encrypted, and not with a passphrase")]
    ForAKey,
    /// It is cut off, or not what was written.
    #[error("the back-up is damaged: {0}")]
    Damaged(String),
    /// A newer version of this program made it.
    #[error(
        "transom {version} made this back-up: its {what} has version {found}, and this binary knows {supported} at most"
    )]
    Newer {
        /// Which version of the program made it.
        version: String,
        /// `format` or `store`.
        what: &'static str,
        /// The version that it has.
        found: u64,
        /// The latest that this binary knows.
        supported: u64,
    },
    /// A file could not be read or written.
    #[error("{} cannot be {what}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `written`.
        what: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// What is backed up goes nowhere.
    #[error("the back-up cannot be written: {0}")]
    Output(io::Error),
    /// What would keep a daemon from starting.
    #[error(transparent)]
    Up(#[from] UpError),
}

impl BackupError {
    /// A stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nothing(_) => "no_state",
            Self::Running(_) => "already_running",
            Self::Occupied(_) => "state_exists",
            Self::FileExists(_) => "file_exists",
            Self::Restoring(_) => "being_restored",
            Self::Sessions => "sessions_run",
            Self::Immovable { .. } => "immovable",
            Self::Undone(_) => "undone",
            Self::HalfDone { .. } | Self::CutOff(_) | Self::Illegible { .. } => "half_restored",
            Self::Unfit(_) => "unfit",
            Self::NotOne => "no_backup",
            Self::WrongPassphrase => "wrong_passphrase",
            Self::Encrypted => "encrypted",
            Self::ForAKey => "encrypted_for_a_key",
            Self::Damaged(_) => "damaged",
            Self::Newer { .. } => "newer_backup",
            Self::Up(UpError::Store(StoreError::Undecided { .. })) => "undecided",
            Self::Up(error) if error.is_taken() => "already_running",
            Self::Io { .. } | Self::Output(_) | Self::Up(_) => "local_io",
        }
    }

    /// What to do now.
    pub fn hint(&self) -> String {
        match self {
            Self::Nothing(_) => "set TRANSOM_DIR as the daemon was started with".to_owned(),
            Self::Running(_) => "`transom shutdown` ends a daemon, and its sessions go on; as a service: `systemctl --user stop \
                transom.socket transom.service`; a command ends by itself: try again"
                .to_owned(),
            Self::Restoring(_) => "nothing was written: try again once that is done".to_owned(),
            Self::Occupied(_) => {
                "--force moves what is there aside and says where to; or name another folder with --dir".to_owned()
            }
            Self::FileExists(_) => "name another file, or replace it with --force".to_owned(),
            Self::Sessions => "end them first: `transom up`, then `transom shutdown --sessions`; or name another folder with --dir"
                .to_owned(),
            Self::Immovable { .. } => "nothing was changed: restore where it can be moved, as outside of the container that has it mounted; \
                or name another folder with --dir"
                .to_owned(),
            Self::Undone(_) => "all is as it was before the restore, and a daemon starts so (`transom up`); mend what kept it from its \
                place, and restore the back-up again"
                .to_owned(),
            Self::HalfDone { state, .. } => format!(
                "nothing is lost: what was there is in its place or in {0}/before-restore-…; mend what keeps it there, and `transom up` \
                goes on with it; until then move nothing of that, nor {0}/restoring",
                state.display()
            ),
            Self::CutOff(_) => "`transom up` finishes it, or undoes it and says why".to_owned(),
            Self::Illegible { .. } => "nothing was changed now: what was there is in its place or in before-restore-… beside that folder, \
                and what was to come is in its place or in that folder; put what belongs together in place, then remove that folder"
                .to_owned(),
            Self::Unfit(_) => "`transom doctor` says what is wrong with it".to_owned(),
            Self::NotOne => "name a file that `transom backup create` wrote".to_owned(),
            Self::WrongPassphrase => "try again: nothing was changed".to_owned(),
            Self::Encrypted => "run it in a terminal, which asks for it, or name a file with --passphrase-file".to_owned(),
            Self::ForAKey => "decrypt it first, as with `age -d -i KEY`, and restore what comes out".to_owned(),
            Self::Damaged(_) => "nothing was changed: take another copy of it, or an earlier back-up".to_owned(),
            Self::Newer { version, .. } => {
                format!("nothing was changed: install transom {version} or a newer one, and restore it with that")
            }
            Self::Io { what: "read", .. } => "check the path, and whose the file is".to_owned(),
            Self::Io { .. } | Self::Output(_) => "make room there, or name a file in a folder that is yours".to_owned(),
            Self::Up(UpError::Store(StoreError::Undecided { .. })) => "nothing was changed: --end-devices lets none of the \
                back-up's devices back in, and each must pair again; --keep-devices lets them all back in, those revoked since too"
                .to_owned(),
            Self::Up(UpError::Store(StoreError::Earlier { .. })) => {
                "`transom restart` has the daemon bring it up to date (`transom up`, if none runs); then make the back-up"
                    .to_owned()
            }
            Self::Up(error) => error.hint(),
        }
    }

    /// Whether the configuration is at fault.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Up(error) if error.is_configuration())
    }

    pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            what: "read",
            source,
        }
    }

    pub(super) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            what: "written",
            source,
        }
    }
}

/// What would keep a daemon from starting, from wherever it comes.
pub(super) fn up(error: impl Into<UpError>) -> BackupError {
    BackupError::Up(error.into())
}
