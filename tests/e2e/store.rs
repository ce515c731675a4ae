//! Stores that must not be used.

use std::{fs, path::Path};

use harness::{DaemonOptions, TestDaemon};
use pairing::Role;

#[tokio::test]
async fn a_newer_store_is_refused_and_stays_byte_identical() {
    let folder = used_folder().await;
    let store = folder.path().join("transom.db");
    let connection = rusqlite::Connection::open(&store).unwrap();
    let own: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    connection.pragma_update(None, "user_version", 1_000_000).unwrap();
    connection.close().unwrap();
    let before = fs::read(&store).unwrap();
    let words = refused(folder.path());
    assert!(
        words.contains("transom.db") && words.contains("1000000"),
        "{words}"
    );
    assert_eq!(fs::read(&store).unwrap(), before);
    // The lock is free again: putting the version back is all it takes.
    let connection = rusqlite::Connection::open(&store).unwrap();
    connection.pragma_update(None, "user_version", own).unwrap();
    connection.close().unwrap();
    TestDaemon::start_in(folder, &DaemonOptions::default()).await;
}

#[tokio::test]
async fn a_corrupt_store_is_refused_by_name_and_left_alone() {
    let folder = used_folder().await;
    let store = folder.path().join("transom.db");
    let mut bytes = fs::read(&store).unwrap();
    let middle = bytes.len() / 2;
    bytes[100..middle].fill(0xa5);
    fs::write(&store, &bytes).unwrap();
    let words = refused(folder.path());
    assert!(
        words.contains("transom.db") && words.contains("restore"),
        "{words}"
    );
    assert_eq!(fs::read(&store).unwrap(), bytes);
}

#[tokio::test]
async fn a_store_that_is_gone_is_missed_and_none_begins_unless_that_is_said() {
    let folder = used_folder().await;
    let store = folder.path().join("transom.db");
    fs::remove_file(&store).unwrap();
    let words = refused(folder.path());
    assert!(
        words.contains("transom.db is missing") && words.contains("--accept-older-store"),
        "{words}"
    );
    assert!(!store.exists());
    let looked = std::process::Command::new(harness::binary())
        .args(["doctor", "--json"])
        .env("TRANSOM_DIR", folder.path())
        .output()
        .unwrap();
    let said: Vec<serde_json::Value> = serde_json::from_slice(&looked.stdout).unwrap();
    let found = said.iter().find(|found| found["check"] == "store").unwrap();
    assert_eq!(found["state"], "failed", "{found}");
    assert!(found["hint"].as_str().unwrap().contains("newest copy"), "{found}");
}

#[tokio::test]
async fn a_store_whose_token_key_is_gone_is_refused() {
    let folder = used_folder().await;
    fs::remove_file(folder.path().join("keys/token.key")).unwrap();
    let words = refused(folder.path());
    assert!(words.contains("token.key"), "{words}");
}

#[tokio::test]
async fn a_key_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = used_folder().await;
    let key = folder.path().join("keys/identity.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let words = refused(folder.path());
    assert!(words.contains("identity.pem"), "{words}");
}

/// A folder whose store knows a device, and whose daemon has ended properly.
async fn used_folder() -> std::sync::Arc<tempfile::TempDir> {
    let mut daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    daemon.signal(rustix::process::Signal::TERM);
    daemon.ended().await;
    daemon.keep_folder()
}

/// What the daemon says when it does not start.
fn refused(folder: &Path) -> String {
    let output = std::process::Command::new(harness::binary())
        .args(["up", "--tls", "127.0.0.1:0"])
        .env("TRANSOM_DIR", folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!folder.join("transom.sock").exists());
    String::from_utf8_lossy(&output.stderr).into_owned()
}
