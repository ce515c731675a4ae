//! Putting a back-up in the place of what is there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use certs::{Identity, files};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
};
use server::{
    LocalPeer, LockdownFile, Peer,
    audit::{AuditRow, action},
    clock,
    store::{self, Former, Look, Restored, StoreError, Trust},
};

use super::{
    BackupError, Manifest, Passphrase, Source,
    archive::{self, CONFIGURATION, LOCK_DOWN, STORE},
    error::up,
    swap::{self, Item, Move, Plan, exists},
};
use crate::{
    Config,
    lock::{Holder, Lock, LockError},
    paths::Paths,
};

/// What the owner says to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RestoreOptions {
    /// Move aside what is there.
    pub replaces: bool,
    /// What becomes of the devices and guests.
    pub trust: Trust,
}

/// What was restored.
#[derive(Debug)]
pub struct Restoration {
    /// What the back-up says of itself.
    pub manifest: Manifest,
    /// What became of its store.
    pub restored: Restored,
    /// Where that is which was there; empty where nothing was.
    pub aside: Vec<PathBuf>,
    /// What a daemon on this machine will lack, each a sentence.
    pub warnings: Vec<String>,
}

/// Whether a back-up can be restored there, before it is looked at.
///
/// # Errors
/// [`BackupError::Running`], [`BackupError::Occupied`].
pub fn check_place(paths: &Paths, replaces: bool) -> Result<(), BackupError> {
    match Lock::holder(&paths.lock()) {
        Ok(Holder::Nobody) => {}
        Ok(Holder::Process(_) | Holder::Unseen) => return Err(BackupError::Running(paths.state.clone())),
        Err(error) => return Err(BackupError::reading(&paths.lock())(error)),
    }
    check_free(paths, replaces)
}

/// Puts a back-up in the place of what is there, all of it or nothing; what was there is moved aside. Sessions go on, of the same
/// daemon.
///
/// # Errors
/// [`BackupError`]; then nothing is changed, unless it is [`BackupError::HalfDone`].
pub fn restore(
    paths: &Paths,
    source: Source,
    passphrase: Option<&Passphrase>,
    options: RestoreOptions,
) -> Result<Restoration, BackupError> {
    check_place(paths, options.replaces)?;
    // Before any folder is made: a wrong passphrase leaves none.
    let archive = source.unseal(passphrase)?;
    let mut state = State::take(paths)?;
    check_free(paths, options.replaces)?;
    let staging = swap::staging(paths);
    files::directory(&staging).map_err(up)?;
    let manifest = archive::extract(archive, &staging)?;
    verify(&manifest, &staging)?;
    let warnings = warnings(&staging.join(CONFIGURATION));
    let (store, keys) = (paths.store(), paths.keys());
    let restored = store::restore(
        &staging.join(STORE),
        &staging.join("keys"),
        Some(Former {
            store: &store,
            keys: &keys,
        }),
        options.trust,
        row(&manifest),
    );
    let restored = restored.map_err(|error| match error {
        StoreError::Undecided { .. } => up(error),
        error => of_store(&manifest, error),
    })?;
    if restored.is_anothers && has_keeper(paths) {
        return Err(BackupError::Sessions);
    }
    let plan = plan(paths, &restored)?;
    plan.check(paths)?;
    if exists(&staging.join(CONFIGURATION)) {
        stage_configuration(paths, &staging.join(CONFIGURATION))?;
    }
    let all = plan.moves.iter().map(|one| one.item);
    let taken: Vec<Item> = all.filter(|item| exists(&item.place(paths))).collect();
    plan.decide(paths)?;
    state.is_decided = true;
    let done = swap::finish_locked(paths);
    state.is_decided = !matches!(done, Err(BackupError::Undone(_)));
    done?;
    let aside = taken.into_iter().map(|item| item.aside(paths, &plan.aside));
    Ok(Restoration {
        manifest,
        restored,
        aside: aside.collect(),
        warnings,
    })
}

/// The state directory with its lock. Dropping it before anything was decided leaves it as it was found.
struct State<'a> {
    paths: &'a Paths,
    is_new: bool,
    is_decided: bool,
    /// Let go last.
    _lock: Lock,
}

impl<'a> State<'a> {
    fn take(paths: &'a Paths) -> Result<Self, BackupError> {
        let is_new = !exists(&paths.state);
        if let Some(parent) = paths.state.parent().filter(|_| is_new) {
            fs::create_dir_all(parent).map_err(BackupError::writing(parent))?;
        }
        files::directory(&paths.state).map_err(up)?;
        let lock = Lock::take(&paths.lock()).map_err(|error| match error {
            LockError::AlreadyRunning(_) => BackupError::Running(paths.state.clone()),
            other => up(other),
        })?;
        swap::finish_locked(paths)?;
        Ok(Self {
            paths,
            is_new,
            is_decided: false,
            _lock: lock,
        })
    }
}

impl Drop for State<'_> {
    fn drop(&mut self) {
        if self.is_decided {
            return;
        }
        // What cannot be removed now is forgotten by whoever has the lock next.
        swap::forget(self.paths).ok();
        if self.is_new {
            fs::remove_file(self.paths.lock()).ok();
            fs::remove_dir(&self.paths.state).ok();
        }
    }
}

/// Refuses to replace anything unless that is said.
fn check_free(paths: &Paths, replaces: bool) -> Result<(), BackupError> {
    let items = [Item::Store, Item::Journal, Item::Keys, Item::Configuration];
    let there = items
        .iter()
        .map(|item| item.place(paths))
        .find(|path| exists(path));
    match there {
        Some(there) if !replaces => Err(BackupError::Occupied(there)),
        _ => Ok(()),
    }
}

/// Checks that what was extracted is a whole state, and of no later version.
fn verify(manifest: &Manifest, staging: &Path) -> Result<(), BackupError> {
    let (store, keys) = (staging.join(STORE), staging.join("keys"));
    let look = Look::at(&store, &keys).map_err(|error| of_store(manifest, error))?;
    if look.is_none() {
        return Err(BackupError::Damaged("its store is missing".to_owned()));
    }
    let identity = Identity::load(&keys).map_err(|error| BackupError::Damaged(error.to_string()))?;
    match identity.map(|identity| identity.pin().to_string()) {
        Some(pin) if pin == manifest.pin => Ok(()),
        _ => Err(BackupError::Damaged(
            "its identity key is not the one that it names".to_owned(),
        )),
    }
}

/// What is wrong with the store of a back-up.
fn of_store(manifest: &Manifest, error: StoreError) -> BackupError {
    match error {
        StoreError::Newer { found, supported, .. } => BackupError::Newer {
            version: manifest.version.clone(),
            what: "store",
            found: found.cast_unsigned(),
            supported: supported.cast_unsigned(),
        },
        // This machine's fault.
        error @ (StoreError::File(_) | StoreError::Copy(_) | StoreError::Sql(_)) => up(error),
        other => BackupError::Damaged(other.to_string()),
    }
}

/// What the configuration asks for that is not here.
fn warnings(configuration: &Path) -> Vec<String> {
    if !exists(configuration) {
        return Vec::new();
    }
    let config = match Config::load(configuration, &[]) {
        Ok((config, _)) => config,
        Err(error) => return vec![format!("its configuration cannot be used here: {error}")],
    };
    let pair = config.pair.iter();
    let named = pair
        .flat_map(|pair| {
            [
                ("listen.certificate", &pair.certificate),
                ("listen.key", &pair.key),
            ]
        })
        .chain(
            config
                .tailnet_node
                .auth_key
                .as_ref()
                .map(|file| ("tailnet.auth_key_file", file)),
        );
    named
        .filter(|(_, file)| !file.exists())
        .map(|(key, file)| {
            format!(
                "{key} names {}, which is not here and in no back-up",
                file.display()
            )
        })
        .collect()
}

/// Puts the configuration where it waits beside its place.
fn stage_configuration(paths: &Paths, from: &Path) -> Result<(), BackupError> {
    let staged = Item::Configuration.staged(paths);
    let text = fs::read(from).map_err(BackupError::reading(from))?;
    if let Some(folder) = staged.parent() {
        fs::create_dir_all(folder).map_err(BackupError::writing(folder))?;
    }
    files::overwrite(&staged, &text).map_err(up)
}

fn plan(paths: &Paths, restored: &Restored) -> Result<Plan, BackupError> {
    let staging = swap::staging(paths);
    let has_configuration = exists(&staging.join(CONFIGURATION));
    // Nobody lifts a lock-down by this, neither the one here nor the one of the back-up.
    let locks_down = exists(&staging.join(LOCK_DOWN)) && !LockdownFile::new(&paths.state).is_locked();
    let moves = [
        Some((Item::Journal, false)),
        Some((Item::JournalIndex, false)),
        Some((Item::Store, true)),
        Some((Item::Keys, true)),
        Some((Item::Configuration, has_configuration)),
        locks_down.then_some((Item::LockDown, true)),
        restored.is_anothers.then_some((Item::Sessions, false)),
    ];
    Ok(Plan {
        aside: free_name(paths)?,
        moves: moves
            .into_iter()
            .flatten()
            .map(|(item, comes)| Move { item, comes })
            .collect(),
    })
}

/// A name that nothing has yet for the folder of what was there.
fn free_name(paths: &Paths) -> Result<String, BackupError> {
    let now = clock::timestamp(clock::now());
    let base = format!("before-restore-{}", now.strftime("%Y%m%dT%H%M%SZ"));
    let names = std::iter::once(base.clone()).chain((2..100).map(|count| format!("{base}-{count}")));
    let is_free =
        |name: &String| !exists(&paths.state.join(name)) && !exists(&Item::Configuration.aside(paths, name));
    let mut free = names.filter(is_free);
    free.next()
        .ok_or_else(|| BackupError::Occupied(paths.state.join(base)))
}

/// Whether a keeper holds sessions here, or may.
fn has_keeper(paths: &Paths) -> bool {
    [paths.keeper(), paths.former_keeper()]
        .iter()
        .any(|socket| !matches!(reach(socket), Err(Errno::NOENT | Errno::CONNREFUSED)))
}

/// Connects as daemons do, and says nothing.
fn reach(socket: &Path) -> Result<(), Errno> {
    let address = SocketAddrUnix::new(socket)?;
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let connection = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    connect(&connection, &address)
}

fn row(manifest: &Manifest) -> AuditRow {
    let peer = Peer::Local(LocalPeer {
        uid: rustix::process::geteuid().as_raw(),
        pid: i32::try_from(std::process::id()).ok(),
    });
    let row = AuditRow::new(clock::now(), "owner", peer, action::BACKUP_RESTORED, "");
    row.detail(format!(
        "made {} by transom {}",
        manifest.made_at, manifest.version
    ))
}
