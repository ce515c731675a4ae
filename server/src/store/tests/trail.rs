//! The chain of the audit trail, and how far it had come.

use std::{fs, path::Path, time::Duration};

use pairing::UnixMillis;
use rusqlite::Connection;

use super::{NOW, device, open, row, tombstone};
use crate::{
    audit::{AuditFault, AuditFilter, AuditRow, action},
    store::{OlderStore, Store, StoreError},
};

/// A store that was closed properly, with this many rows.
async fn written(rows: u64) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    for n in 1..=rows {
        store.append_audit(row("a", n)).await.unwrap();
    }
    home
}

/// Does what only somebody does who goes round the daemon: the triggers are no wall.
fn tamper(home: &Path, sql: &str) {
    let other = Connection::open(home.join("transom.db")).unwrap();
    let triggers = "DROP TRIGGER audit_rows_never_change; DROP TRIGGER audit_rows_never_go;
        DROP TRIGGER audit_pruned_only_moves_on_to_a_row;";
    other.execute_batch(triggers).unwrap();
    other.execute_batch(sql).unwrap();
}

fn faults(home: &Path) -> Vec<AuditFault> {
    reader(home).verify().unwrap().faults
}

fn reader(home: &Path) -> crate::store::AuditReader {
    crate::store::AuditReader::new(&home.join("transom.db"), &home.join("keys"))
}

fn copy_of(home: &Path) -> Vec<u8> {
    fs::read(home.join("transom.db")).unwrap()
}

#[tokio::test]
async fn a_trail_that_nobody_touched_is_whole() {
    let home = written(5).await;
    let verdict = reader(home.path()).verify().unwrap();
    assert_eq!(verdict.faults, []);
    assert_eq!((verdict.rows, verdict.first, verdict.last), (5, Some(1), Some(5)));
    let store = open(home.path()).unwrap().store;
    store.append_audit(row("b", "x")).await.unwrap();
    assert_eq!(
        reader(home.path()).verify().unwrap().rows,
        6,
        "beside a daemon that runs"
    );
    assert_eq!(faults(home.path()), []);
}

#[tokio::test]
async fn nothing_is_written_to_a_store_whose_trail_is_damaged_and_its_devices_are_known() {
    let home = written(500).await;
    let store = open(home.path()).unwrap().store;
    let paired = row(action::PAIRING_COMMITTED, device(1).id);
    store.commit_device(device(1), paired).await.unwrap();
    drop(store);
    let path = home.path().join("transom.db");
    let mut bytes = fs::read(&path).unwrap();
    // The first page of rows, which begins as each that has no pages below it (SQLite, "Database File Format", 1.6).
    let rows = "unix:uid=1000".as_bytes();
    let has_rows = |page: &[u8]| page[0] == 0x0d && page.windows(rows.len()).any(|there| there == rows);
    let page = bytes.chunks(PAGE).position(has_rows).unwrap() * PAGE;
    // All but its head, by which the page itself looks well.
    bytes[page + 8..page + PAGE].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let opened = open(home.path()).unwrap();
    assert_eq!(opened.devices.len(), 1);
    let refused = opened.store.append_audit(row("a", "b")).await.unwrap_err();
    assert!(refused.to_string().contains("transom.db is damaged"), "{refused}");
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    let revoked = row(action::DEVICE_REVOKED, device(1).id);
    let revoked = opened.store.revoke_device(tombstone(1, NOW), revoked).await;
    assert!(matches!(revoked, Err(StoreError::Corrupt { .. })), "{revoked:?}");
    drop(opened);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[tokio::test]
async fn an_empty_trail_is_whole() {
    let home = written(0).await;
    let verdict = reader(home.path()).verify().unwrap();
    assert_eq!((verdict.rows, verdict.last, verdict.fault_count), (0, None, 0));
}

#[tokio::test]
async fn each_column_of_a_changed_row_is_noticed() {
    for column in ["principal", "peer", "action", "target", "outcome", "detail"] {
        let home = written(5).await;
        tamper(
            home.path(),
            &format!("UPDATE audit SET {column} = 'forged' WHERE sequence = 3"),
        );
        assert_eq!(faults(home.path()), [AuditFault::Changed(3)], "{column}");
    }
    let home = written(5).await;
    tamper(home.path(), "UPDATE audit SET time = time + 1 WHERE sequence = 3");
    assert_eq!(faults(home.path()), [AuditFault::Changed(3)]);
}

#[tokio::test]
async fn rows_that_are_removed_are_named_wherever_they_stood() {
    let gone = |from, to| vec![AuditFault::Missing(from, to)];
    for (which, expected) in [
        ("= 1", gone(1, 1)),
        ("BETWEEN 2 AND 3", gone(2, 3)),
        ("> 3", vec![AuditFault::CutOff(4, 5)]),
        ("> 0", vec![AuditFault::CutOff(1, 5)]),
    ] {
        let home = written(5).await;
        tamper(home.path(), &format!("DELETE FROM audit WHERE sequence {which}"));
        assert_eq!(faults(home.path()), expected, "{which}");
    }
}

#[tokio::test]
async fn rows_that_changed_places_are_noticed() {
    let home = written(5).await;
    tamper(
        home.path(),
        "UPDATE audit SET sequence = 99 WHERE sequence = 2; UPDATE audit SET sequence = 2 WHERE sequence = 3;
         UPDATE audit SET sequence = 3 WHERE sequence = 99;",
    );
    let faults = faults(home.path());
    assert!(
        faults.contains(&AuditFault::Changed(2)) && faults.contains(&AuditFault::Changed(3)),
        "{faults:?}"
    );
}

#[tokio::test]
async fn a_row_that_somebody_added_is_noticed() {
    let home = written(2).await;
    let forged = "INSERT INTO audit SELECT 3, time, principal, peer, action, target, outcome, detail, hmac
        FROM audit WHERE sequence = 2";
    tamper(home.path(), forged);
    assert_eq!(faults(home.path()), [AuditFault::Changed(3)]);
}

#[tokio::test]
async fn a_beginning_that_was_not_pruned_by_the_daemon_is_noticed() {
    let home = written(5).await;
    let forged =
        "UPDATE audit_pruned SET (sequence, hmac) = (SELECT sequence, hmac FROM audit WHERE sequence = 2);
        DELETE FROM audit WHERE sequence <= 2";
    tamper(home.path(), forged);
    assert_eq!(faults(home.path()), [AuditFault::Beginning(3)]);
}

#[tokio::test]
async fn rows_older_than_400_days_are_pruned_and_the_rest_stands_on_the_last_of_them() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    let at = |days: u64| NOW.plus(Duration::from_secs(days * 24 * 3600));
    for (days, what) in [(0, "x"), (1, "y"), (300, "z")] {
        let row = AuditRow::new(at(days), "owner", "", "a", what);
        store.append_audit(row).await.unwrap();
    }
    store.prune_audit(at(400)).await.unwrap();
    assert_eq!(store.audit_rows(9).await.unwrap().len(), 3, "not a day early");
    store.prune_audit(at(402)).await.unwrap();
    let left = store.audit_rows(9).await.unwrap();
    assert_eq!(
        left.iter().map(|row| row.target.as_str()).collect::<Vec<_>>(),
        ["z"]
    );
    assert_eq!(faults(home.path()), []);
    store.prune_audit(at(900)).await.unwrap();
    assert_eq!(store.audit_rows(9).await.unwrap(), []);
    drop(store);
    let store = open(home.path()).unwrap().store;
    store.append_audit(row("b", "after")).await.unwrap();
    let verdict = reader(home.path()).verify().unwrap();
    assert_eq!(
        (verdict.first, verdict.faults),
        (Some(4), vec![]),
        "no number is used twice"
    );
}

#[tokio::test]
async fn nothing_but_the_oldest_up_to_a_row_of_the_chain_can_be_deleted() {
    let home = written(3).await;
    let other = Connection::open(home.path().join("transom.db")).unwrap();
    for refused in [
        "DELETE FROM audit WHERE sequence = 1",
        "UPDATE audit_pruned SET sequence = 2",
        "UPDATE audit_pruned SET sequence = 9, hmac = (SELECT hmac FROM audit WHERE sequence = 3)",
        "DELETE FROM audit_pruned",
        "UPDATE audit SET hmac = NULL",
    ] {
        assert!(other.execute(refused, []).is_err(), "{refused}");
    }
    let point =
        "UPDATE audit_pruned SET (sequence, hmac) = (SELECT sequence, hmac FROM audit WHERE sequence = 2)";
    other.execute(point, []).unwrap();
    assert_eq!(
        other
            .execute("DELETE FROM audit WHERE sequence <= 2", [])
            .unwrap(),
        2
    );
    assert!(other.execute("DELETE FROM audit", []).is_err());
    assert!(other.execute("UPDATE audit_pruned SET sequence = 1", []).is_err());
}

#[tokio::test]
async fn rows_of_before_there_was_a_chain_are_kept_and_chained() {
    let home = written(3).await;
    // As the migration finds it: no audit key in the store, and no HMAC in a row.
    tamper(
        home.path(),
        "UPDATE audit SET hmac = NULL; DELETE FROM meta WHERE key = 'audit_key'",
    );
    fs::remove_file(home.path().join("keys/epoch")).unwrap();
    let store = open(home.path()).unwrap().store;
    store.append_audit(row("b", "x")).await.unwrap();
    let verdict = reader(home.path()).verify().unwrap();
    assert_eq!((verdict.rows, verdict.faults), (4, vec![]));
}

#[tokio::test]
async fn a_trail_is_chained_anew_only_as_it_was() {
    let home = written(3).await;
    tamper(
        home.path(),
        "DELETE FROM meta WHERE key = 'audit_key'; UPDATE audit SET hmac = NULL, target = 'forged' WHERE sequence = 2",
    );
    assert!(matches!(open(home.path()), Err(StoreError::Older { .. })));
}

#[tokio::test]
async fn an_older_store_is_refused_by_name_unless_the_owner_accepts_it() {
    let home = written(2).await;
    let older = copy_of(home.path());
    let store = open(home.path()).unwrap().store;
    store.append_audit(row("b", "x")).await.unwrap();
    drop(store);
    fs::write(home.path().join("transom.db"), &older).unwrap();
    let refused = open(home.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Older { .. }), "{refused}");
    assert!(
        refused.to_string().contains("transom.db") && refused.to_string().contains("row 3"),
        "{refused}"
    );
    assert_eq!(copy_of(home.path()), older, "it is left as it is");
    let (path, keys) = (home.path().join("transom.db"), home.path().join("keys"));
    let accepted = Store::open_with(&path, &keys, NOW, OlderStore::Accepted)
        .unwrap()
        .store;
    let last = accepted.audit_rows(1).await.unwrap();
    assert_eq!(last[0].action, action::OLDER_STORE_ACCEPTED);
    drop(accepted);
    assert_eq!(faults(home.path()), [], "it is the present one from now on");
    open(home.path()).unwrap();
}

#[tokio::test]
async fn a_store_in_which_a_revoked_device_is_back_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    let row = |action| row(action, device(1).id);
    store
        .commit_device(device(1), row(action::PAIRING_COMMITTED))
        .await
        .unwrap();
    drop(store);
    let older = copy_of(home.path());
    let store = open(home.path()).unwrap().store;
    store
        .revoke_device(tombstone(1, NOW), row(action::DEVICE_REVOKED))
        .await
        .unwrap();
    drop(store);
    fs::write(home.path().join("transom.db"), older).unwrap();
    assert!(matches!(open(home.path()), Err(StoreError::Older { .. })));
}

#[tokio::test]
async fn a_store_whose_epoch_is_gone_or_unreadable_is_refused() {
    let home = written(1).await;
    let epoch = home.path().join("keys/epoch");
    let before = fs::read(&epoch).unwrap();
    fs::write(&epoch, "nonsense").unwrap();
    let refused = open(home.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Older { .. }), "{refused}");
    assert!(refused.to_string().contains("keys/epoch"), "{refused}");
    fs::remove_file(&epoch).unwrap();
    assert!(matches!(open(home.path()), Err(StoreError::Older { .. })));
    assert_eq!(faults(home.path()), [AuditFault::NoEpoch]);
    certs::files::create(&epoch, &before).unwrap();
    open(home.path()).unwrap();
}

#[tokio::test]
async fn a_damaged_epoch_is_gone_on_without_where_the_owner_accepts_it() {
    let home = written(1).await;
    fs::write(home.path().join("keys/epoch"), "nonsense").unwrap();
    let (path, keys) = (home.path().join("transom.db"), home.path().join("keys"));
    let accepted = Store::open_with(&path, &keys, NOW, OlderStore::Accepted).unwrap();
    drop(accepted);
    assert_eq!(faults(home.path()), []);
    open(home.path()).unwrap();
}

#[tokio::test]
async fn a_crash_after_rows_were_pruned_that_the_epoch_names_leaves_a_good_store() {
    let home = written(5).await;
    let epoch = home.path().join("keys/epoch");
    let before = fs::read(&epoch).unwrap();
    let later = NOW.plus(Duration::from_secs(500 * 24 * 3600));
    let store = open(home.path()).unwrap().store;
    for n in 6..=7 {
        let row = AuditRow::new(later, "owner", "", "a", n);
        store.append_audit(row).await.unwrap();
    }
    store.prune_audit(later).await.unwrap();
    drop(store);
    fs::write(&epoch, epoch_at(&before, 3)).unwrap();
    assert_eq!(faults(home.path()), []);
    open(home.path()).unwrap();
    fs::write(&epoch, epoch_at(&before, 3)).unwrap();
    tamper(home.path(), "UPDATE audit_pruned SET seal = x'00'");
    assert!(
        matches!(open(home.path()), Err(StoreError::Older { .. })),
        "another pruned it"
    );
}

/// An epoch file that names an earlier row.
fn epoch_at(file: &[u8], sequence: u64) -> String {
    let text = std::str::from_utf8(file).unwrap();
    let mut words: Vec<_> = text.split(' ').map(str::to_owned).collect();
    words[1] = sequence.to_string();
    words.join(" ")
}

#[tokio::test]
async fn a_row_with_a_number_that_none_can_have_is_noticed() {
    for number in [-3_i64, -1, 0] {
        let home = written(2).await;
        let forged = format!(
            "INSERT INTO audit SELECT {number}, time, principal, peer, action, target, outcome, detail, hmac
             FROM audit WHERE sequence = 2"
        );
        tamper(home.path(), &forged);
        assert_eq!(faults(home.path()), [AuditFault::Changed(number.cast_unsigned())]);
        let store = open(home.path()).unwrap().store;
        store.append_audit(row("b", "x")).await.unwrap();
        assert_eq!(reader(home.path()).verify().unwrap().last, Some(3));
    }
}

#[tokio::test]
async fn a_missing_or_another_audit_key_is_refused() {
    let home = written(1).await;
    let key = home.path().join("keys/audit.key");
    fs::remove_file(&key).unwrap();
    let refused = open(home.path()).unwrap_err().to_string();
    assert!(refused.contains("audit.key is missing"), "{refused}");
    assert!(!key.exists(), "no other key was put in its place");
    certs::files::create(&key, &[7; 32]).unwrap();
    assert!(matches!(open(home.path()), Err(StoreError::AuditKey { .. })));
}

#[tokio::test]
async fn the_epoch_is_on_the_disk_soon_after_a_revocation() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    let epoch = || fs::read_to_string(home.path().join("keys/epoch")).unwrap_or_default();
    store
        .revoke_device(tombstone(1, NOW), row(action::DEVICE_REVOKED, "x"))
        .await
        .unwrap();
    while !epoch().starts_with("1 1 ") || !epoch().ends_with(" 1\n") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_filter_lets_through_what_it_names() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    let device = device(1).id.to_string();
    let rows = [
        AuditRow::new(UnixMillis(10), "owner", "", "pairing_approved", "req_1"),
        AuditRow::new(UnixMillis(20), &device, "", "attached", "ses_1"),
        AuditRow::new(UnixMillis(30), "owner", "", "device_revoked", &device),
        AuditRow::new(UnixMillis(40), "ses_1", "", "attached", "ses_2"),
    ];
    for row in rows {
        store.append_audit(row).await.unwrap();
    }
    let found = |filter: AuditFilter| -> Vec<u64> {
        let rows = store.audit_reader().rows(&filter).unwrap();
        rows.iter().map(|entry| entry.sequence).collect()
    };
    let all = || AuditFilter {
        limit: 9,
        ..AuditFilter::default()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(all()), [1, 2, 3, 4]);
    assert_eq!(found(AuditFilter { limit: 2, ..all() }), [3, 4], "the latest");
    assert_eq!(
        found(AuditFilter {
            after: Some(1),
            limit: 2,
            ..all()
        }),
        [2, 3],
        "the next"
    );
    assert_eq!(
        found(AuditFilter {
            since: Some(UnixMillis(20)),
            ..all()
        }),
        [2, 3, 4]
    );
    assert_eq!(
        found(AuditFilter {
            until: Some(UnixMillis(20)),
            ..all()
        }),
        [1]
    );
    assert_eq!(
        found(AuditFilter {
            principal: text("owner"),
            ..all()
        }),
        [1, 3]
    );
    assert_eq!(
        found(AuditFilter {
            device: text(&device),
            ..all()
        }),
        [2, 3]
    );
    assert_eq!(
        found(AuditFilter {
            session: text("ses_1"),
            ..all()
        }),
        [2, 4]
    );
    assert_eq!(
        found(AuditFilter {
            action: text("attached"),
            ..all()
        }),
        [2, 4]
    );
}

#[tokio::test]
async fn rows_that_could_not_be_written_leave_no_hole() {
    let home = written(1).await;
    let store = open(home.path()).unwrap().store;
    store.break_writes().await;
    assert!(store.append_audit(row("a", "lost")).await.is_err());
    store.mend_writes().await;
    store.append_audit(row("a", "kept")).await.unwrap();
    let verdict = reader(home.path()).verify().unwrap();
    assert_eq!((verdict.last, verdict.faults), (Some(2), vec![]));
}

/// Bytes of a page of the store's file.
const PAGE: usize = 4096;
