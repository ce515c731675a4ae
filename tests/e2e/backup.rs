//! `transom backup`: made while a daemon serves, and restored here and elsewhere.

mod create;
mod cut_off;
mod moved;
mod refused;
mod since;
mod stuck;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use harness::{DaemonOptions, Elsewhere, Finished, TestDaemon};
use serde_json::Value;

#[test]
fn every_code_of_an_error_stands_in_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let (errors, page) = (read("daemon/src/backup/error.rs"), read("docs/backup.md"));
    let codes = errors.split_once("pub fn code(").unwrap().1;
    let codes = codes.split_once("\n    }\n").unwrap().0;
    let named = codes.split('"').skip(1).step_by(2);
    let others = [
        "usage",
        "owner_only",
        "bad_configuration",
        "open_file",
        "not_the_same",
    ];
    let all: Vec<&str> = named.chain(others).collect();
    assert!(all.len() > others.len() + 15, "{all:?}");
    for code in all {
        assert!(page.contains(&format!("`{code}`")), "{code}");
    }
}

/// Where files of a test are, on a machine where no daemon runs; commands are run there.
struct Desk(Elsewhere);

impl Desk {
    fn new() -> Self {
        Self(Elsewhere::new())
    }

    fn file(&self, name: &str) -> String {
        self.0.folder().join(name).display().to_string()
    }

    /// A file with a passphrase.
    fn passphrase(&self, name: &str, text: &str) -> String {
        let path = self.file(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// Has the daemon's state backed up, unencrypted.
    async fn plain(&self, daemon: &TestDaemon, name: &str) -> String {
        let file = self.file(name);
        let made = daemon.cli(&["backup", "create", &file, "--plain"]).await;
        assert_eq!(made.code, 0, "{made:?}");
        file
    }

    /// Restores a back-up into a new folder.
    async fn restored(&self, file: &str) -> PathBuf {
        let folder = self.0.folder().join("restored");
        let done = self.restore(file, &folder, &[]).await;
        assert_eq!(done.code, 0, "{done:?}");
        folder
    }

    async fn restore(&self, file: &str, folder: &Path, more: &[&str]) -> Finished {
        let folder = folder.display().to_string();
        let mut words = vec!["backup", "restore", file, "--dir", &folder];
        words.extend(more);
        self.0.cli(&words).await
    }
}

/// Ends a daemon in good order, and restores a back-up over its state.
async fn restore_over(daemon: &mut TestDaemon, file: &str, more: &[&str]) -> Finished {
    end(daemon).await;
    let mut words = vec!["backup", "restore", file, "--force"];
    words.extend(more);
    daemon.cli(&words).await
}

async fn end(daemon: &mut TestDaemon) {
    assert_eq!(daemon.cli(&["shutdown"]).await.code, 0);
    daemon.ended().await;
}

/// Starts a daemon on what was restored over the state of one that ended.
async fn start_again(daemon: &mut TestDaemon) {
    daemon.start_again_with(&DaemonOptions::default()).await;
}

/// The problem that a command ended with.
fn refusal(done: &Finished) -> (String, String) {
    assert_eq!(done.code, 1, "{done:?}");
    let problem = done.json();
    let text = |key: &str| problem[key].as_str().unwrap().to_owned();
    assert!(!text("hint").is_empty(), "{problem}");
    (text("code"), text("detail") + "; " + &text("hint"))
}

/// What the audit trail says was done, oldest first; it must be whole.
async fn rows(daemon: &TestDaemon) -> Vec<String> {
    let verdict = daemon.cli(&["audit", "--verify"]).await;
    assert_eq!(verdict.code, 0, "{verdict:?}");
    let listed = daemon.cli(&["audit", "-n", "1000", "--json"]).await.json();
    let action = |row: &Value| row["action"].as_str().unwrap().to_owned();
    listed.as_array().unwrap().iter().map(action).collect()
}

/// Every file below a folder with what it says, but for sockets and what a daemon logs.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() && !path.ends_with("log") {
                open.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}
