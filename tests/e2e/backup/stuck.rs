//! Restores that cannot be finished, and who else is at work on a state meanwhile.

use std::{
    fs::{self, DirBuilder, Permissions},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use ::daemon::lock::Lock;
use harness::TestDaemon;
use pairing::Role;
use serde_json::json;

use super::{Desk, end, files, refusal, start_again};

#[tokio::test]
async fn what_cannot_be_moved_is_named_and_nothing_is_touched() {
    let mut daemon = TestDaemon::start().await;
    let config = daemon.folder().join("config.toml");
    fs::write(&config, "[listen]\nnames = [\"desk.example\"]\n").unwrap();
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    end(&mut daemon).await;
    let before = files(daemon.folder());
    for (how, name, why) in [
        (Held::MOUNTED, "config.toml", "mounted over it"),
        (Held::MOUNTED, "keys", "mounted over it"),
        (Held::MARKED, "config.toml", "not to be changed"),
    ] {
        let place = daemon.folder().join(name);
        let _held = Held::by(how, &place);
        let restore = ["backup", "restore", &file, "--force", "--json"];
        let (code, words) = refusal(&daemon.cli(&restore).await);
        assert_eq!(code, "immovable", "{words}");
        let named = format!("{} cannot be moved", place.display());
        assert!(words.contains(&named) && words.contains(why), "{words}");
        assert!(files(daemon.folder()) == before, "{name}");
        assert!(!daemon.folder().join("restoring").exists());
    }
    start_again(&mut daemon).await;
}

#[tokio::test]
async fn a_start_that_cannot_finish_a_restore_undoes_it_and_says_so_and_the_next_serves_as_before() {
    let mut old = TestDaemon::start().await;
    old.device(Role::Viewer).await;
    let own = old.ready().instance.clone();
    let config = old.folder().join("config.toml");
    fs::write(&config, "[listen]\nnames = [\"old.example\"]\n").unwrap();
    end(&mut old).await;
    let before = files(old.folder());
    cut_off(&old).await;
    {
        let _held = Held::by(Held::MOUNTED, &config);
        let up = old.cli(&["up"]).await;
        assert_eq!(up.code, 1, "{up:?}");
        for part in [
            "was undone",
            &format!("{} cannot be moved", config.display()),
            "as it was before the restore",
        ] {
            assert!(up.stderr.contains(part), "{part}: {up:?}");
        }
        assert!(!up.stderr.contains("nothing was changed"), "{up:?}");
    }
    assert!(files(old.folder()) == before);
    start_again(&mut old).await;
    assert_eq!(old.ready().instance, own);
    let devices = old.cli(&["devices", "--json"]).await.json();
    assert_eq!(devices.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_restore_that_was_cut_off_is_found_by_the_doctor_and_finished_by_the_next_start() {
    let mut old = TestDaemon::start().await;
    let own = old.ready().instance.clone();
    fs::write(old.folder().join("config.toml"), "").unwrap();
    end(&mut old).await;
    let new = cut_off(&old).await;
    let found = old.cli(&["doctor"]).await;
    let words = format!("{}{}", found.stdout, found.stderr);
    assert_ne!(found.code, 0, "{found:?}");
    assert!(words.contains("was cut off in its middle"), "{words}");
    assert!(words.contains("`transom up` finishes it"), "{words}");
    start_again(&mut old).await;
    assert_eq!(old.ready().instance, new);
    assert_ne!(new, own);
}

#[tokio::test]
async fn while_a_backup_is_restored_none_is_made_of_the_state_and_one_is_after_it() {
    let mut daemon = TestDaemon::start().await;
    let desk = Desk::new();
    end(&mut daemon).await;
    let (store, staging) = (
        daemon.folder().join("transom.db"),
        daemon.folder().join("restoring"),
    );
    let lock = Lock::take(&daemon.folder().join("transom.lock")).unwrap();
    DirBuilder::new().mode(0o700).create(&staging).unwrap();
    let elsewhere = desk.0.folder().join("transom.db");
    fs::rename(&store, &elsewhere).unwrap();
    let file = desk.file("a.backup");
    let create = ["backup", "create", &file, "--plain", "--json"];
    let (code, words) = refusal(&daemon.cli(&create).await);
    assert_eq!(code, "being_restored", "{words}");
    assert!(words.contains("try again"), "{words}");
    assert!(!Path::new(&file).exists());
    let up = daemon.cli(&["up"]).await;
    assert!(up.code == 1 && up.stderr.contains("is being restored"), "{up:?}");
    fs::rename(&elsewhere, &store).unwrap();
    fs::remove_dir(&staging).unwrap();
    drop(lock);
    let made = daemon.cli(&create).await;
    assert_eq!(made.code, 0, "{made:?}");
}

#[tokio::test]
async fn while_a_command_is_at_work_in_the_place_of_a_daemon_a_backup_is_made_and_none_is_restored() {
    let mut daemon = TestDaemon::start().await;
    let desk = Desk::new();
    end(&mut daemon).await;
    let lock = Lock::take(&daemon.folder().join("transom.lock")).unwrap();
    let file = desk.plain(&daemon, "a.backup").await;
    let restore = ["backup", "restore", &file, "--force", "--json"];
    let (code, words) = refusal(&daemon.cli(&restore).await);
    assert_eq!(code, "already_running");
    assert!(words.contains("a command ends by itself"), "{words}");
    drop(lock);
    desk.restored(&file).await;
}

/// Leaves a state as a restore of another daemon's back-up does that is killed once it is decided; says whose.
async fn cut_off(old: &TestDaemon) -> String {
    let new = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.plain(&new, "a.backup").await;
    let restored = desk.restored(&file).await;
    let staging = old.folder().join("restoring");
    DirBuilder::new().mode(0o700).create(&staging).unwrap();
    for name in ["transom.db", "keys"] {
        fs::rename(restored.join(name), staging.join(name)).unwrap();
    }
    private(&old.folder().join("config.toml.restoring"), "");
    let moves = ["store", "keys", "configuration"].map(|item| json!({"item": item, "comes": true}));
    let plan = json!({"aside": "before-restore-then", "moves": moves});
    let aside = old.folder().join("before-restore-then");
    DirBuilder::new().mode(0o700).create(aside).unwrap();
    private(&staging.join("decided"), &plan.to_string());
    new.ready().instance.clone()
}

fn private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// A file or folder that cannot be moved until this is dropped. It needs root.
struct Held {
    undo: &'static [&'static str],
    place: PathBuf,
}

impl Held {
    /// With itself mounted over it, and how that ends.
    const MOUNTED: [&'static [&'static str]; 2] =
        [&["sh", "-c", "mount --bind \"$1\" \"$1\"", "sh"], &["umount"]];
    /// With a mark of its file system.
    const MARKED: [&'static [&'static str]; 2] = [&["chattr", "+i"], &["chattr", "-i"]];

    fn by([make, undo]: [&'static [&'static str]; 2], place: &Path) -> Self {
        let done = Self::run(make, place);
        assert!(done.status.success(), "run this test as root: {done:?}");
        let place = place.to_owned();
        Self { undo, place }
    }

    fn run(words: &[&str], place: &Path) -> Output {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(place).output().unwrap()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        Self::run(self.undo, &self.place);
    }
}
