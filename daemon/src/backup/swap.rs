//! A restored state put in the place of another, of which nothing is lost.
//!
//! Several files cannot get their names in one step. So what is to be done is written down first, synced, in a file whose name is the
//! moment at which it is decided: before it, nothing was done; after it, whoever has the daemon's lock next does the rest. Where a
//! step is refused, that file gets another name, and from then on everything is undone, by the same or by whoever is next.

use std::{
    fs, io,
    os::linux::fs::MetadataExt,
    path::{Path, PathBuf},
};

use certs::files;
use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags, access, statx};
use serde::{Deserialize, Serialize};

use super::{BackupError, error::up};
use crate::{
    lock::{Holder, Lock, LockError},
    paths::Paths,
    up::UpError,
};

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

/// How a file or folder gets another name: by rename(2), but for tests.
type Rename<'a> = &'a dyn Fn(&Path, &Path) -> io::Result<()>;

impl Plan {
    /// Whether each step can be made, as far as that can be told before the first.
    ///
    /// # Errors
    /// [`BackupError::Immovable`].
    pub(super) fn check(&self, paths: &Paths) -> Result<(), BackupError> {
        for Move { item, comes } in &self.moves {
            let place = item.place(paths);
            let immovable = |why: String| BackupError::Immovable {
                path: place.clone(),
                why,
            };
            let is_there = exists(&place);
            let names = [
                Some(&*place).filter(|_| is_there),
                place.parent().filter(|folder| folder.exists()),
            ];
            for path in names.into_iter().flatten().filter(|_| is_there || *comes) {
                if let Some(why) = what_keeps(path, path == place).map_err(BackupError::reading(path))? {
                    return Err(immovable(format!("{} {why}", path.display())));
                }
            }
        }
        Ok(())
    }

    /// Decides it: from here on it is done, by whomever.
    pub(super) fn decide(&self, paths: &Paths) -> Result<(), BackupError> {
        files::directory(&paths.state.join(&self.aside)).map_err(up)?;
        let text = serde_json::to_vec(self).expect("a plan is plain text and flags");
        files::create(&decision(paths), &text).map_err(up)
    }

    /// What a file says is to be done; `None` where there is none.
    fn read(path: &Path) -> Result<Option<Self>, BackupError> {
        let Some(text) = files::read(path).map_err(up)? else {
            return Ok(None);
        };
        let plan = serde_json::from_slice(&text);
        plan.map(Some).map_err(|error| BackupError::Illegible {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// Does it, or what is left of it.
    fn carry_out(&self, paths: &Paths, rename: Rename<'_>) -> io::Result<()> {
        for Move { item, comes } in &self.moves {
            let [place, staged, aside] = self.names(*item, paths);
            let waits = *comes && exists(&staged);
            // Where what comes is not waiting any more, what is in its place is the new one.
            if (waits || !comes) && exists(&place) && !exists(&aside) {
                moved(&place, &aside, rename)?;
            }
            if waits {
                moved(&staged, &place, rename)?;
            }
        }
        self.sync(paths)
    }

    /// Undoes what was done of it, or what is left of that.
    fn take_back(&self, paths: &Paths, rename: Rename<'_>) -> io::Result<()> {
        for Move { item, comes } in self.moves.iter().rev() {
            let [place, staged, aside] = self.names(*item, paths);
            // The new one: the old one came back only where this waits again.
            if *comes && !exists(&staged) && exists(&place) {
                moved(&place, &staged, rename)?;
            }
            if exists(&aside) && !exists(&place) {
                moved(&aside, &place, rename)?;
            }
        }
        self.sync(paths)
    }

    fn sync(&self, paths: &Paths) -> io::Result<()> {
        let config = paths.config.parent().unwrap_or(&paths.state);
        for folder in [
            &paths.state,
            &paths.state.join(&self.aside),
            &staging(paths),
            config,
        ] {
            if folder.exists() {
                let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
                synced
                    .map_err(|error| with_words(&error, &format!("{} cannot be synced", folder.display())))?;
            }
        }
        Ok(())
    }

    fn names(&self, item: Item, paths: &Paths) -> [PathBuf; 3] {
        [
            item.place(paths),
            item.staged(paths),
            item.aside(paths, &self.aside),
        ]
    }

    /// Forgets it once it is done, or undone.
    fn end(&self, paths: &Paths, file: &Path) -> Result<(), BackupError> {
        // First, and synced: by it, what is forgotten now would be taken for what is in its place.
        files::remove(file).map_err(up)?;
        // Of a state that had nothing in its place.
        fs::remove_dir(paths.state.join(&self.aside)).ok();
        forget(paths).map_err(BackupError::writing(&staging(paths)))
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
    let lock = Lock::take_to_serve(&paths.lock(), &paths.socket()).map_err(|error| match error {
        LockError::AlreadyRunning(_) if is_begun(paths) => {
            UpError::Restore(Box::new(BackupError::Restoring(paths.state.clone())))
        }
        other => other.into(),
    })?;
    finish_under(paths, &lock)
}

/// The same for who serves: until it had the lock, another restore may have been begun, and done.
///
/// # Errors
/// Where the system says no.
pub(crate) fn finish_under(paths: &Paths, _lock: &Lock) -> Result<(), UpError> {
    finish_locked(paths).map_err(|error| match error {
        BackupError::Up(error) => error,
        other => UpError::Restore(Box::new(other)),
    })
}

/// The same for who has the lock.
///
/// # Errors
/// [`BackupError::Undone`] where it could not be done: then it is no more, and the former state is in place.
/// [`BackupError::HalfDone`] where it could not be undone either: then that is tried again next time.
pub(super) fn finish_locked(paths: &Paths) -> Result<(), BackupError> {
    finish_by(paths, &|from, to| fs::rename(from, to))
}

/// Whether a restore was cut off once it was decided: then what is in place is of two states.
///
/// # Errors
/// [`BackupError::CutOff`], where nobody is at work on it.
pub(crate) fn look(paths: &Paths) -> Result<(), UpError> {
    let is_decided = exists(&decision(paths)) || exists(&withdrawal(paths));
    match Lock::holder(&paths.lock()) {
        Ok(Holder::Nobody) if is_decided => Err(UpError::Restore(Box::new(BackupError::CutOff(
            paths.state.clone(),
        )))),
        _ => Ok(()),
    }
}

fn finish_by(paths: &Paths, rename: Rename<'_>) -> Result<(), BackupError> {
    if !is_begun(paths) {
        return Ok(());
    }
    let (decided, withdrawn) = (decision(paths), withdrawal(paths));
    let half_done = |why: io::Error, undoing: String| BackupError::HalfDone {
        state: paths.state.clone(),
        why,
        undoing,
    };
    if let Some(plan) = Plan::read(&withdrawn)? {
        let again = io::Error::other("a restore was cut off while it was undone");
        plan.take_back(paths, rename)
            .map_err(|error| half_done(again, error.to_string()))?;
        return plan.end(paths, &withdrawn);
    }
    if let Some(plan) = Plan::read(&decided)? {
        let Err(why) = plan.carry_out(paths, rename) else {
            return plan.end(paths, &decided);
        };
        // From here on nobody does the rest of it.
        if let Err(error) = files::supersede(&decided, &withdrawn) {
            return Err(half_done(why, error.to_string()));
        }
        if let Err(error) = plan.take_back(paths, rename) {
            return Err(half_done(why, error.to_string()));
        }
        plan.end(paths, &withdrawn)?;
        return Err(BackupError::Undone(why));
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

/// What a decision is called from when on it is undone.
fn withdrawal(paths: &Paths) -> PathBuf {
    staging(paths).join("withdrawn")
}

/// Whether a restore is under way, or was cut off.
pub(super) fn is_begun(paths: &Paths) -> bool {
    exists(&staging(paths))
}

/// Whether anything has the name, be it a link into nowhere.
pub(super) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn moved(from: &Path, to: &Path, rename: Rename<'_>) -> io::Result<()> {
    rename(from, to).map_err(|error| {
        with_words(
            &error,
            &format!("{} cannot be moved to {}", from.display(), to.display()),
        )
    })
}

fn with_words(error: &io::Error, words: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{words}: {error}"))
}

/// What of a file or folder keeps rename(2) from moving it, or of the folder that it is in.
fn what_keeps(path: &Path, is_moved: bool) -> io::Result<Option<String>> {
    if is_moved && is_mount_point(path)? {
        return Ok(Some("has something mounted over it".to_owned()));
    }
    let fixed = [StatxAttributes::IMMUTABLE, StatxAttributes::APPEND];
    if fixed.into_iter().any(|fixed| has(path, fixed) == Some(true)) {
        return Ok(Some("is marked as not to be changed (lsattr(1))".to_owned()));
    }
    match access(path, Access::WRITE_OK | Access::EXEC_OK) {
        Err(errno) if !is_moved => Ok(Some(format!("cannot be written to: {errno}"))),
        _ => Ok(None),
    }
}

/// Whether something is mounted there.
fn is_mount_point(path: &Path) -> io::Result<bool> {
    if let Some(is_one) = has(path, StatxAttributes::MOUNT_ROOT) {
        return Ok(is_one);
    }
    // Before Linux 5.8, only what is of another file system is told.
    let there = path.symlink_metadata()?.st_dev();
    match path.parent() {
        Some(folder) => Ok(folder.metadata()?.st_dev() != there),
        None => Ok(true),
    }
}

/// Whether a file or folder has an attribute, where the system says (statx(2)).
fn has(path: &Path, attribute: StatxAttributes) -> Option<bool> {
    let flags = AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW;
    let found = statx(CWD, path, flags, StatxFlags::empty()).ok()?;
    let is_told = found.stx_attributes_mask.contains(attribute);
    is_told.then(|| found.stx_attributes.contains(attribute))
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
