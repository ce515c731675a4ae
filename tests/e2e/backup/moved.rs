//! A daemon that moves to another machine.

use std::{fs, path::Path, sync::Arc};

use harness::{DaemonOptions, Elsewhere, TestDaemon, accepts, shown};
use pairing::Role;

use super::{Desk, rows};

#[tokio::test]
async fn a_daemon_moves_to_another_machine_and_its_devices_go_on_under_other_names() {
    let config = "[listen]\nnames = [\"desk.example\"]\n".to_owned();
    let mut daemon = TestDaemon::start_with(DaemonOptions {
        config,
        ..DaemonOptions::default()
    })
    .await;
    let laptop = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let mut phone = daemon.device(Role::Viewer).await;
    let before = shown(daemon.address(), "desk.example").await;
    let (pin, instance) = (daemon.pin().to_owned(), daemon.ready().instance.clone());
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    super::end(&mut daemon).await;

    let folder = desk.restored(&file).await;
    let configured = fs::read_to_string(folder.join("config.toml")).unwrap();
    assert!(configured.contains("desk.example"), "{configured}");
    fs::write(
        folder.join("config.toml"),
        "[listen]\nnames = [\"tower.example\"]\n",
    )
    .unwrap();
    let moved = started_in(&folder, &DaemonOptions::default()).await;
    assert_eq!((moved.pin(), &moved.ready().instance), (pin.as_str(), &instance));
    let after = shown(moved.address(), "tower.example").await;
    assert_ne!(after, before, "another certificate");
    assert_eq!(accepts(moved.address(), "tower.example", &after).await, Ok(()));
    assert!(accepts(moved.address(), "desk.example", &after).await.is_err());
    // A native device checks the key, and nothing else.
    laptop.go_by(moved.address());
    let started = laptop.on_desk(&["run", "--", "echo", "still here"]).await;
    assert!(
        started.code == 0 && started.stdout.contains("still here"),
        "{started:?}"
    );
    phone.follow(&moved);
    assert_eq!(phone.get("/v1/whoami").await.status, 200);
    assert!(rows(&moved).await.contains(&"backup_restored".to_owned()));
}

#[tokio::test]
async fn a_lock_down_is_neither_lost_nor_lifted_by_a_restore() {
    let mut daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let open = desk.plain(&daemon, "open.backup").await;
    assert_eq!(daemon.cli(&["lockdown"]).await.code, 0);
    let locked = desk.plain(&daemon, "locked.backup").await;
    let folder = desk.restored(&locked).await;
    assert!(folder.join("lockdown").exists());
    let done = super::restore_over(&mut daemon, &open, &[]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert!(daemon.folder().join("lockdown").exists());
}

#[tokio::test]
async fn what_the_configuration_names_and_is_not_here_is_said() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let config = "[tailnet]\nauth_key_file = \"/nowhere/auth.key\"\n";
    fs::write(daemon.folder().join("config.toml"), config).unwrap();
    let file = desk.plain(&daemon, "a.backup").await;
    let folder = desk.0.folder().join("restored");
    let done = desk.restore(&file, &folder, &["--json"]).await;
    let warnings = done.json()["warnings"].to_string();
    assert!(warnings.contains("/nowhere/auth.key"), "{warnings}");
}

/// A daemon on what was restored into a folder, which is moved to where the harness has it.
pub(super) async fn started_in(folder: &Path, options: &DaemonOptions) -> TestDaemon {
    let mut builder = tempfile::Builder::new();
    let place = builder.prefix("transom").tempdir().unwrap();
    fs::rename(folder, place.path()).unwrap();
    TestDaemon::start_in(Arc::new(place), options).await
}
