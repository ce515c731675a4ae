//! A restore that is killed.

use std::{fs, path::Path};

use harness::{DaemonOptions, TestDaemon};
use pairing::Role;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use super::{Desk, end, rows};

/// What is in the state directory from some moment of a restore on.
const MOMENTS: [&str; 6] = [
    "restoring",
    "restoring/transom.db.partial",
    "restoring/transom.db",
    "restoring/decided",
    "before-restore-",
    "before-restore-/keys",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_leaves_the_old_state_or_the_new_one() {
    let daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    let new = daemon.ready().instance.clone();
    for moment in MOMENTS {
        let mut old = TestDaemon::start().await;
        let own = old.ready().instance.clone();
        end(&mut old).await;
        let mut restore = old.command(&["backup", "restore", &file, "--force"]);
        kill_at(restore.spawn().unwrap(), old.folder(), moment).await;
        let options = DaemonOptions::default();
        old.start_again_with(&options).await;
        let found = old.ready().instance.clone();
        let devices = old.cli(&["devices", "--json"]).await.json();
        let is_new = found == new;
        assert!(is_new || found == own, "{moment}: {found}");
        assert_eq!(devices.as_array().unwrap().len(), usize::from(is_new), "{moment}");
        assert_eq!(
            rows(&old).await.contains(&"backup_restored".to_owned()),
            is_new,
            "{moment}"
        );
        assert!(!old.folder().join("restoring").exists(), "{moment}");
        if moment.starts_with("before-restore-/") {
            assert!(is_new, "it was decided");
        }
    }
}

/// Kills it as soon as something is there, or lets it end.
async fn kill_at(mut restore: Child, folder: &Path, moment: &str) {
    let pid = Pid::from_raw(restore.id().unwrap().cast_signed()).unwrap();
    while restore.try_wait().unwrap().is_none() {
        if is_there(folder, moment) {
            kill_process(pid, Signal::KILL).ok();
            break;
        }
    }
    restore.wait().await.unwrap();
}

/// Whether there is such a file; the first folder may go on with anything.
fn is_there(folder: &Path, name: &str) -> bool {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(first)) && entry.path().join(rest).exists()
    })
}
