use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pairing::UnixMillis;
use rusqlite::Connection;

use super::{MIGRATIONS, open, open_with};
use crate::store::{Store, StoreError};

const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
const NEXT: &[&str] = &[
    MIGRATIONS[0],
    MIGRATIONS[1],
    MIGRATIONS[2],
    "ALTER TABLE devices ADD COLUMN colour TEXT",
];

fn made() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("transom.db");
    drop(open(&path, NOW).unwrap());
    (home, path)
}

fn version(connection: &Connection) -> i64 {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

fn files(home: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(home)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

#[test]
fn the_file_and_its_journals_are_private() {
    let (home, path) = made();
    let connection = open(&path, NOW).unwrap();
    connection
        .execute("INSERT INTO meta VALUES ('a', 'b')", [])
        .unwrap();
    let found = files(home.path());
    assert_eq!(found.len(), 3, "{found:?}");
    for file in found {
        assert_eq!(
            fs::metadata(&file).unwrap().mode() & 0o7777,
            0o600,
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_newer_file_is_refused_and_stays_byte_identical() {
    let (_home, path) = made();
    drop(open_with(&path, NEXT, NOW).unwrap());
    let before = fs::read(&path).unwrap();
    let refused = open(&path, NOW).unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Newer {
                found: 4,
                supported: 3,
                ..
            }
        ),
        "{refused}"
    );
    assert!(refused.to_string().contains("transom.db"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_version_is_seen_while_it_is_in_the_journal_only() {
    let (_home, path) = made();
    let newer = open(&path, NOW).unwrap();
    newer.pragma_update(None, "user_version", 4).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(open(&path, NOW), Err(StoreError::Newer { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_older_file_is_copied_aside_and_migrated() {
    let (home, path) = made();
    open(&path, NOW)
        .unwrap()
        .execute("INSERT INTO meta VALUES ('kept', 'yes')", [])
        .unwrap();
    let migrated = open_with(&path, NEXT, NOW).unwrap();
    assert_eq!(version(&migrated), 4);
    let copy = home.path().join(format!("transom.db.v3-{}", NOW.0));
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7777, 0o600);
    for connection in [migrated, Connection::open(&copy).unwrap()] {
        let kept: String = connection
            .query_row("SELECT value FROM meta WHERE key = 'kept'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, "yes");
    }
    assert_eq!(version(&Connection::open(&copy).unwrap()), 3);
}

#[test]
fn a_migration_that_fails_leaves_the_old_version() {
    let (_home, path) = made();
    let broken = &[
        MIGRATIONS[0],
        MIGRATIONS[1],
        MIGRATIONS[2],
        "ALTER TABLE devices ADD COLUMN colour TEXT; SELECT nonsense",
    ];
    assert!(open_with(&path, broken, NOW).is_err());
    assert_eq!(version(&open(&path, NOW).unwrap()), 3);
}

#[test]
fn damage_is_refused_by_name_and_left_alone() {
    let page = |byte: u8| vec![byte; 4096];
    for damage in [Vec::new(), page(0), page(b'x'), b"SQLite format 3\0".to_vec()] {
        let (_home, path) = made();
        fs::write(&path, &damage).unwrap();
        let refused = open(&path, NOW).unwrap_err().in_file(&path);
        assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
        assert!(refused.to_string().contains("transom.db"), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), damage);
    }
}

#[test]
fn a_torn_page_in_the_middle_is_refused() {
    let (_home, path) = made();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let refused = open(&path, NOW).unwrap_err().in_file(&path);
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn the_database_of_another_program_is_refused() {
    let (_home, path) = made();
    open(&path, NOW)
        .unwrap()
        .pragma_update(None, "application_id", 7)
        .unwrap();
    assert!(matches!(open(&path, NOW), Err(StoreError::Corrupt { .. })));
}

#[test]
fn a_journal_without_its_file_is_refused() {
    let (home, path) = made();
    let connection = open(&path, NOW).unwrap();
    connection
        .execute("INSERT INTO meta VALUES ('a', 'b')", [])
        .unwrap();
    fs::rename(&path, home.path().join("elsewhere")).unwrap();
    assert!(matches!(open(&path, NOW), Err(StoreError::Corrupt { .. })));
    assert!(!path.exists());
}

#[test]
fn the_leftover_of_a_crash_while_it_was_made_does_not_count() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("transom.db");
    fs::write(certs::files::partial(&path), "half").unwrap();
    assert_eq!(version(&open(&path, NOW).unwrap()), 3);
}

#[test]
fn a_link_is_refused() {
    let (home, path) = made();
    let link = home.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(open(&link, NOW), Err(StoreError::File(_))));
}

#[tokio::test]
async fn the_audit_rows_of_the_first_version_are_kept_and_chained() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("transom.db");
    let first = open_with(&path, &MIGRATIONS[..1], NOW).unwrap();
    let insert = "INSERT INTO audit (time, principal, peer, action, target, outcome, detail)
        VALUES (1, 'owner', '', 'a', 'x', 'ok', NULL), (2, 'nobody', '', 'b', '', 'denied', 'y')";
    first.execute(insert, []).unwrap();
    drop(first);
    let store = Store::open(&path, &home.path().join("keys"), NOW).unwrap().store;
    let rows = store.audit_rows(9).await.unwrap();
    assert_eq!(
        rows.iter().map(|row| row.action.as_ref()).collect::<Vec<_>>(),
        ["a", "b"]
    );
    let verdict = store.audit_reader().verify().unwrap();
    assert_eq!((verdict.rows, verdict.fault_count), (2, 0), "{verdict:?}");
}
