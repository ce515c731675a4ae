//! A restored state put in the place of another, of which nothing is lost.
//!
//! Several files cannot get their names in one step. So what is to be done is written down first, synced, in a file whose name is the
//! moment at which it is decided: before it, nothing was done; after it, whoever has the daemon's lock next does the rest.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use certs::files;
use serde::{Deserialize, Serialize};

use super::{BackupError, error::up};
use crate::{lock::Lock, paths::Paths, up::UpError};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The name of the folder, in the state directory, that takes what was there.
    pub(super) aside: String,
    /// In this order.
    pub(super) moves: Vec<Move>,
}

/// One file or folder that gives way, and what comes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    pub(super) item: Item,
    /// Whether the new state has one.
    pub(super) comes: bool,
}

/// What gives way to a restored state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Item {
    /// What SQLite has beside a store that was not closed.
    Journal,
    JournalIndex,
    Store,
    Keys,
    Configuration,
    LockDown,
    Sessions,
}

impl Item {
    /// Where it is in use.
    pub(super) fn place(self, paths: &Paths) -> PathBuf {
        match self {
            Self::Configuration => paths.config.clone(),
            other => paths.state.join(other.name()),
        }
    }

    /// Where it waits.
    pub(super) fn staged(self, paths: &Paths) -> PathBuf {
        match self {
            // Beside its place, which may be on another disk.
            Self::Configuration => suffixed(&paths.config, "restoring"),
            other => staging(paths).join(other.name()),
        }
    }

    /// Where what was there goes.
    pub(super) fn aside(self, paths: &Paths, aside: &str) -> PathBuf {
        match self {
            Self::Configuration if paths.config.parent() != Some(&paths.state) => {
                suffixed(&paths.config, aside)
            }
            Self::Configuration => paths.state.join(aside).join("config.toml"),
            other => paths.state.join(aside).join(other.name()),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Journal => "transom.db-wal",
            Self::JournalIndex => "transom.db-shm",
            Self::Store => "transom.db",
            Self::Keys => "keys",
            Self::Configuration => "config.toml",
            Self::LockDown => "lockdown",
            Self::Sessions => "sessions",
        }
    }
}

impl Plan {
    /// Decides it: from here on it is done, by whomever.
    pub(super) fn decide(&self, paths: &Paths) -> Result<(), BackupError> {
        files::directory(&paths.state.join(&self.aside)).map_err(up)?;
        let text = serde_json::to_vec(self).expect("a plan is plain text and flags");
        files::create(&decision(paths), &text).map_err(up)
    }

    /// Does it, or what is left of it; `step` is asked before each.
    fn carry_out(&self, paths: &Paths, mut step: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        for Move { item, comes } in &self.moves {
            let (place, staged, aside) = (
                item.place(paths),
                item.staged(paths),
                item.aside(paths, &self.aside),
            );
            let waits = *comes && exists(&staged);
            // Where what comes is not waiting any more, what is in its place is the new one.
            if (waits || !comes) && exists(&place) && !exists(&aside) {
                step()?;
                fs::rename(&place, &aside)?;
            }
            if waits {
                step()?;
                fs::rename(&staged, &place)?;
            }
        }
        let config = paths.config.parent().unwrap_or(&paths.state);
        for folder in [&paths.state, &paths.state.join(&self.aside), config] {
            if folder.exists() {
                fs::File::open(folder)?.sync_all()?;
            }
        }
        step()
    }
}

/// Does what is left of a restore that was cut off, or forgets one that was not decided. Where there is none, it takes no lock.
///
/// # Errors
/// Where the lock is taken, or the system says no: then it is tried again next time.
pub(crate) fn finish(paths: &Paths) -> Result<(), UpError> {
    if !is_begun(paths) {
        return Ok(());
    }
    let lock = Lock::take_to_serve(&paths.lock(), &paths.socket())?;
    finish_under(paths, &lock)
}

/// The same for who serves: until it had the lock, another restore may have been begun, and done.
///
/// # Errors
/// Where the system says no.
pub(crate) fn finish_under(paths: &Paths, _lock: &Lock) -> Result<(), UpError> {
    match finish_locked(paths) {
        Ok(()) => Ok(()),
        Err(BackupError::Up(error)) => Err(error),
        Err(other) => Err(UpError::io("finish the restore of a back-up that was cut off")(
            io::Error::other(other),
        )),
    }
}

/// The same for who has the lock.
pub(super) fn finish_locked(paths: &Paths) -> Result<(), BackupError> {
    finish_by_steps(paths, || Ok(()))
}

fn finish_by_steps(paths: &Paths, step: impl FnMut() -> io::Result<()>) -> Result<(), BackupError> {
    if !is_begun(paths) {
        return Ok(());
    }
    if let Some(text) = files::read(&decision(paths)).map_err(up)? {
        let plan: Plan = serde_json::from_slice(&text).map_err(|error| {
            BackupError::reading(&decision(paths))(io::Error::new(io::ErrorKind::InvalidData, error))
        })?;
        let state = paths.state.join(&plan.aside);
        plan.carry_out(paths, step)
            .map_err(BackupError::writing(&state))?;
        // Nothing is left to be done; without it, what is left is forgotten.
        files::remove(&decision(paths)).map_err(up)?;
        // Of a state that had nothing in its place.
        fs::remove_dir(&state).ok();
    }
    forget(paths).map_err(BackupError::writing(&staging(paths)))
}

/// Removes what waits and was not decided.
pub(super) fn forget(paths: &Paths) -> io::Result<()> {
    let unless_gone = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    // First: of what is half removed nothing may be decided.
    unless_gone(fs::remove_file(decision(paths)))?;
    unless_gone(fs::remove_file(Item::Configuration.staged(paths)))?;
    unless_gone(fs::remove_dir_all(staging(paths)))
}

/// The folder in which a restored state waits.
pub(super) fn staging(paths: &Paths) -> PathBuf {
    paths.state.join("restoring")
}

fn decision(paths: &Paths) -> PathBuf {
    staging(paths).join("decided")
}

fn is_begun(paths: &Paths) -> bool {
    exists(&staging(paths))
}

/// Whether anything has the name, be it a link into nowhere.
pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
