//! Restores that cannot be finished.

use std::{
    fs::{self, DirBuilder, Permissions},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};

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
async fn a_start_that_can_finish_a_restore_serves_what_was_restored() {
    let mut old = TestDaemon::start().await;
    let own = old.ready().instance.clone();
    fs::write(old.folder().join("config.toml"), "").unwrap();
    end(&mut old).await;
    let new = cut_off(&old).await;
    start_again(&mut old).await;
    assert_eq!(old.ready().instance, new);
    assert_ne!(new, own);
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
