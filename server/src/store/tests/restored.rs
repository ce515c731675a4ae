//! Stores out of back-ups.

use std::{fs, path::Path};

use certs::files;
use pairing::{Device, Role};
use tempfile::TempDir;

use super::{NOW, device, open, row, tombstone};
use crate::{
    audit::{AuditRow, action},
    store::{AuditReader, Beyond, Former, Opened, Restored, Store, StoreCopy, StoreError, Trust, restore},
};

/// A store with two devices.
async fn of_two() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    for device in [device(1), device(2)] {
        pair(&store, device).await;
    }
    home
}

async fn pair(store: &Store, device: Device) {
    let row = row(action::PAIRING_COMMITTED, device.id);
    store.commit_device(device, row).await.unwrap();
}

async fn revoke(home: &Path, n: u8) {
    let store = open(home).unwrap().store;
    let row = row(action::DEVICE_REVOKED, device(n).id);
    store.revoke_device(tombstone(n, NOW), row).await.unwrap();
}

/// What a back-up has of a store, in a folder of its own.
fn backup(home: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = (home.join("transom.db"), home.join("keys"));
    let copy = StoreCopy::of(&store, &keys).unwrap().unwrap();
    files::directory(&folder.path().join("keys")).unwrap();
    let put = |name: &str, bytes: &[u8]| files::create(&folder.path().join(name), bytes).unwrap();
    put("transom.db", &fs::read(copy.path()).unwrap());
    for name in ["keys/token.key", "keys/audit.key"] {
        put(name, &fs::read(home.join(name)).unwrap());
    }
    put("keys/epoch", copy.epoch.as_bytes());
    folder
}

fn restored(folder: &Path, former: Option<&Path>, trust: Trust) -> Result<Restored, StoreError> {
    let paths = former.map(|former| (former.join("transom.db"), former.join("keys")));
    let former = paths.as_ref().map(|(store, keys)| Former { store, keys });
    let row = AuditRow::new(NOW, "owner", "", action::BACKUP_RESTORED, "").detail("of a test");
    restore(
        &folder.join("transom.db"),
        &folder.join("keys"),
        former,
        trust,
        row,
    )
}

/// Opens it as a daemon does, and gives the numbers of its devices and what its trail says was done.
async fn seen(folder: &Path) -> (Vec<u8>, Vec<String>) {
    let Opened { store, devices, .. } = open(folder).unwrap();
    let numbers = (1..9).filter(|n| devices.iter().any(|found| found.id == device(*n).id));
    let rows = store.audit_rows(99).await.unwrap();
    let verdict = AuditReader::new(&folder.join("transom.db"), &folder.join("keys")).verify();
    assert_eq!(verdict.unwrap().faults, []);
    (
        numbers.collect(),
        rows.into_iter().map(|row| row.action.into_owned()).collect(),
    )
}

#[tokio::test]
async fn what_was_taken_away_since_is_not_given_back_and_what_came_since_is_not_there() {
    let home = of_two().await;
    let folder = backup(home.path());
    revoke(home.path(), 1).await;
    let store = open(home.path()).unwrap().store;
    let narrower = Device {
        role: Role::Viewer,
        can_revoke: false,
        expires_at: None,
        ..device(2)
    };
    let change = row(action::ROLE_CHANGED, narrower.id);
    store.change_device(narrower, Some(change)).await.unwrap();
    pair(&store, device(3)).await;
    drop(store);
    let found = restored(folder.path(), Some(home.path()), Trust::AsKnown).unwrap();
    assert_eq!((found.devices, found.last_row, found.faults), (1, 2, 0));
    assert_eq!(found.beyond, Beyond::Kept(5));
    assert_eq!(found.ended[0].id, device(1).id);
    assert_eq!(found.narrowed[0].id, device(2).id);
    let opened = open(folder.path()).unwrap();
    assert_eq!(
        (opened.devices[0].role, opened.devices[0].expires_at),
        (Role::Viewer, device(2).expires_at),
        "the lesser of both"
    );
    assert_eq!(opened.tombstones[0].id, device(1).id);
    drop(opened);
    let (devices, rows) = seen(folder.path()).await;
    assert_eq!(devices, [2]);
    assert_eq!(
        rows[2..],
        [
            "device_revoked",
            "role_changed",
            "pairing_committed",
            "backup_restored"
        ]
    );
}

#[tokio::test]
async fn who_was_revoked_comes_back_where_that_is_said_and_the_trail_has_it_all() {
    let home = of_two().await;
    let folder = backup(home.path());
    revoke(home.path(), 1).await;
    let found = restored(folder.path(), Some(home.path()), Trust::Kept).unwrap();
    assert_eq!((found.devices, found.beyond), (2, Beyond::Kept(3)));
    let (devices, rows) = seen(folder.path()).await;
    assert_eq!(devices, [1, 2]);
    assert_eq!(rows[2..], ["device_revoked", "backup_restored"]);
}

#[tokio::test]
async fn where_it_is_not_known_who_was_revoked_nobody_comes_back_before_that_is_decided() {
    let home = of_two().await;
    let folders = [(); 3].map(|()| backup(home.path()));
    revoke(home.path(), 1).await;
    fs::write(home.path().join("transom.db"), "no store").unwrap();
    let undecided = restored(folders[0].path(), Some(home.path()), Trust::AsKnown).unwrap_err();
    assert!(
        matches!(undecided, StoreError::Undecided { row: 2, .. }),
        "{undecided}"
    );
    assert!(undecided.to_string().contains("row 3"), "{undecided}");
    let kept = restored(folders[1].path(), Some(home.path()), Trust::Kept).unwrap();
    assert_eq!((kept.devices, kept.beyond), (2, Beyond::Lost(Some(3))));
    let ended = restored(folders[2].path(), Some(home.path()), Trust::Ended).unwrap();
    assert_eq!((ended.devices, ended.ended.len()), (0, 2));
    let (devices, rows) = seen(folders[2].path()).await;
    assert!(devices.is_empty());
    assert_eq!(rows[2..], ["device_revoked", "device_revoked", "backup_restored"]);
}

#[tokio::test]
async fn where_all_but_the_key_of_its_trail_is_gone_a_daemon_served_all_the_same() {
    let home = of_two().await;
    let folder = backup(home.path());
    revoke(home.path(), 2).await;
    for file in ["transom.db", "keys/epoch"] {
        fs::remove_file(home.path().join(file)).unwrap();
    }
    let undecided = restored(folder.path(), Some(home.path()), Trust::AsKnown).unwrap_err();
    assert!(matches!(undecided, StoreError::Undecided { .. }), "{undecided}");
}

#[tokio::test]
async fn a_backup_that_is_as_new_as_what_is_there_needs_no_decision_whatever_became_of_that() {
    let home = of_two().await;
    let folders = [(); 2].map(|()| backup(home.path()));
    let all = |folder: &TempDir, former| restored(folder.path(), former, Trust::AsKnown).unwrap();
    assert_eq!(all(&folders[0], Some(home.path())).devices, 2);
    fs::write(home.path().join("transom.db"), "no store").unwrap();
    let found = all(&folders[1], Some(home.path()));
    assert_eq!((found.devices, found.beyond), (2, Beyond::Nothing));
}

#[tokio::test]
async fn where_no_daemon_ever_served_what_came_after_a_backup_is_not_known() {
    let home = of_two().await;
    let folders = [(); 2].map(|()| backup(home.path()));
    let nowhere = home.path().join("nothing");
    for (folder, former) in folders.iter().zip([None, Some(&*nowhere)]) {
        let found = restored(folder.path(), former, Trust::AsKnown).unwrap();
        assert_eq!((found.devices, found.beyond), (2, Beyond::Unknown));
    }
}

#[tokio::test]
async fn a_backup_of_an_older_version_is_brought_to_the_present_one() {
    let home = of_two().await;
    let folder = backup(home.path());
    let path = folder.path().join("transom.db");
    // What version 3 made out of version 2.
    let older = rusqlite::Connection::open(&path).unwrap();
    older
        .execute_batch("DROP TABLE guest_sights; DROP TABLE guests; PRAGMA user_version = 2")
        .unwrap();
    older.close().unwrap();
    revoke(home.path(), 1).await;
    let found = restored(folder.path(), Some(home.path()), Trust::AsKnown).unwrap();
    assert_eq!(
        (found.devices, found.beyond, found.faults),
        (1, Beyond::Kept(3), 0)
    );
    let (devices, rows) = seen(folder.path()).await;
    assert_eq!(devices, [2]);
    assert_eq!(rows[2..], ["device_revoked", "backup_restored"]);
}

#[tokio::test]
async fn a_backup_from_later_on_brings_who_was_paired_then() {
    let home = of_two().await;
    let earlier = backup(home.path());
    pair(&open(home.path()).unwrap().store, device(3)).await;
    let later = backup(home.path());
    let found = restored(later.path(), Some(earlier.path()), Trust::AsKnown).unwrap();
    assert_eq!((found.devices, found.beyond), (3, Beyond::Nothing));
}

#[tokio::test]
async fn a_backup_that_went_another_way_is_decided_on() {
    let home = of_two().await;
    let other = backup(home.path());
    revoke(home.path(), 1).await;
    revoke(other.path(), 2).await;
    let folder = backup(other.path());
    let undecided = restored(folder.path(), Some(home.path()), Trust::AsKnown).unwrap_err();
    assert!(undecided.to_string().contains("different ways"), "{undecided}");
}

#[tokio::test]
async fn what_is_known_of_another_daemon_does_not_matter() {
    let (home, other) = (of_two().await, of_two().await);
    revoke(other.path(), 1).await;
    let folder = backup(home.path());
    let found = restored(folder.path(), Some(other.path()), Trust::AsKnown).unwrap();
    assert!(found.is_anothers);
    assert_eq!((found.devices, found.beyond), (2, Beyond::Unknown));
}

#[tokio::test]
async fn a_store_is_copied_as_of_one_moment_while_it_is_written_to() {
    let home = of_two().await;
    let store = open(home.path()).unwrap().store;
    let writing = {
        let store = store.clone();
        tokio::spawn(async move {
            loop {
                store.append_audit(row("test", "x")).await.unwrap();
            }
        })
    };
    for _ in 0..10 {
        let path = home.path().to_owned();
        let folder = tokio::task::spawn_blocking(move || backup(&path)).await.unwrap();
        open(folder.path()).unwrap();
    }
    writing.abort();
}

#[tokio::test]
async fn a_store_that_a_daemon_would_not_open_is_not_copied() {
    let home = of_two().await;
    let older = fs::read(home.path().join("transom.db")).unwrap();
    revoke(home.path(), 1).await;
    let (path, keys) = (home.path().join("transom.db"), home.path().join("keys"));
    fs::write(&path, older).unwrap();
    assert!(matches!(
        StoreCopy::of(&path, &keys),
        Err(StoreError::Older { .. })
    ));
    let nothing = home.path().join("nothing");
    assert!(StoreCopy::of(&nothing, &nothing).unwrap().is_none());
}
