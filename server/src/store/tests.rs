mod restored;
mod trail;

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::MetadataExt,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use pairing::{
    Device, DeviceId, EndCause, PublicKey, Role, TailnetIdentity, TokenHash, Tombstone, UnixMillis,
};

use super::{Opened, Store, StoreError};
use crate::audit::{AuditRow, action};

const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
const CHILD_DIRECTORY: &str = "TRANSOM_TEST_STORE";
const CHILD_UMASK: &str = "TRANSOM_TEST_UMASK";

fn open(home: &Path) -> Result<Opened, StoreError> {
    Store::open(&home.join("transom.db"), &home.join("keys"), NOW)
}

fn device(n: u8) -> Device {
    let mut key = [n; 65];
    key[0] = 4;
    Device {
        id: DeviceId::from_bytes([n; 8]),
        label: format!("phone {n}").parse().unwrap(),
        public_key: Some(PublicKey::from_bytes(key).unwrap()),
        role: Role::Operator,
        can_revoke: true,
        any_path: false,
        token_hash: TokenHash::from_bytes([n; 32]),
        created: NOW,
        approved_from: "127.0.0.1:4711".to_owned(),
        tailnet: Some(TailnetIdentity {
            user_id: "u1".to_owned(),
            user: "alice@example.com".to_owned(),
            node_id: "n1".to_owned(),
            node: "phone.tail1234.ts.net".to_owned(),
            tags: Vec::new(),
        }),
        expires_at: Some(NOW.plus(Duration::from_secs(3600))),
        last_seen: None,
        last_address: None,
    }
}

fn tombstone(n: u8, ended: UnixMillis) -> Tombstone {
    let (id, token_hash) = (DeviceId::from_bytes([n; 8]), TokenHash::from_bytes([n; 32]));
    Tombstone {
        id,
        token_hash,
        cause: EndCause::Revoked,
        ended,
    }
}

fn row(action: &'static str, target: impl ToString) -> AuditRow {
    AuditRow::new(NOW, "owner", "unix:uid=1000", action, target)
}

#[tokio::test]
async fn a_device_comes_back_whole() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    opened
        .store
        .commit_device(device(1), row(action::PAIRING_COMMITTED, device(1).id))
        .await
        .unwrap();
    opened
        .store
        .seen(device(1).id, NOW, "127.0.0.1:9".to_owned())
        .await
        .unwrap();
    drop(opened);
    let seen = Device {
        last_seen: Some(NOW),
        last_address: Some("127.0.0.1:9".to_owned()),
        ..device(1)
    };
    let again = open(home.path()).unwrap();
    assert_eq!(format!("{:?}", again.devices), format!("{:?}", [&seen]));
    assert!(again.devices[0].token_hash.matches(&seen.token_hash));
}

#[tokio::test]
async fn a_device_without_key_tailnet_and_end_comes_back_as_such() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    let bare = Device {
        public_key: None,
        tailnet: None,
        expires_at: None,
        ..device(1)
    };
    opened
        .store
        .commit_device(bare.clone(), row(action::PAIRING_COMMITTED, bare.id))
        .await
        .unwrap();
    drop(opened);
    assert_eq!(
        format!("{:?}", open(home.path()).unwrap().devices),
        format!("{:?}", [bare])
    );
}

#[tokio::test]
async fn a_revoked_device_is_gone_and_its_tombstone_stays_for_90_days() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    opened
        .store
        .commit_device(device(1), row(action::PAIRING_COMMITTED, device(1).id))
        .await
        .unwrap();
    opened
        .store
        .revoke_device(tombstone(1, NOW), row(action::DEVICE_REVOKED, device(1).id))
        .await
        .unwrap();
    drop(opened);
    let at = |days: u64| {
        let then = NOW.plus(Duration::from_secs(days * 24 * 60 * 60));
        Store::open(&home.path().join("transom.db"), &home.path().join("keys"), then).unwrap()
    };
    assert!(at(0).devices.is_empty());
    let kept = at(90).tombstones;
    assert!(matches!(kept.as_slice(), [one] if one.id == device(1).id && one.cause == EndCause::Revoked));
    assert!(kept[0].token_hash.matches(&device(1).token_hash));
    assert!(at(91).tombstones.is_empty());
}

#[tokio::test]
async fn a_change_and_its_audit_row_are_one_transaction() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    let commit = || {
        opened
            .store
            .commit_device(device(1), row(action::PAIRING_COMMITTED, device(1).id))
    };
    commit().await.unwrap();
    assert!(commit().await.is_err(), "the same id twice");
    assert_eq!(
        opened.store.audit_rows(10).await.unwrap(),
        [row(action::PAIRING_COMMITTED, device(1).id)]
    );
}

#[tokio::test]
async fn audit_rows_come_back_in_order_with_everything_they_said() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    let rows = [
        row("a", "x"),
        row("b", "").outcome("denied"),
        row("c", "y").detail("viewer"),
    ];
    for row in rows.clone() {
        store.append_audit(row).await.unwrap();
    }
    assert_eq!(store.audit_rows(2).await.unwrap(), rows[1..]);
}

#[tokio::test]
async fn audit_rows_can_neither_be_changed_nor_removed() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap().store;
    store.append_audit(row("a", "x")).await.unwrap();
    let other = rusqlite::Connection::open(home.path().join("transom.db")).unwrap();
    assert!(other.execute("UPDATE audit SET outcome = 'nothing'", []).is_err());
    assert!(other.execute("DELETE FROM audit", []).is_err());
}

#[tokio::test]
async fn a_store_that_cannot_write_says_so_and_keeps_nothing() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    opened.store.break_writes().await;
    assert!(matches!(
        opened.store.append_audit(row("a", "x")).await,
        Err(StoreError::Sql(_))
    ));
    assert!(
        opened
            .store
            .commit_device(device(1), row("b", "x"))
            .await
            .is_err()
    );
    drop(opened);
    assert!(open(home.path()).unwrap().devices.is_empty());
}

#[test]
fn the_instance_is_made_once() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path()).unwrap().instance;
    assert_eq!(first.len(), 16);
    assert!(
        first
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
        "{first}"
    );
    assert_eq!(open(home.path()).unwrap().instance, first);
}

#[test]
fn the_token_key_is_made_once() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path()).unwrap().token_key.id();
    assert_eq!(open(home.path()).unwrap().token_key.id(), first);
}

#[tokio::test]
async fn a_missing_or_another_token_key_is_refused_while_devices_are_paired() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    opened
        .store
        .commit_device(device(1), row(action::PAIRING_COMMITTED, device(1).id))
        .await
        .unwrap();
    drop(opened);
    let path = home.path().join("keys/token.key");
    fs::remove_file(&path).unwrap();
    let refused = open(home.path()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("token.key is missing while there are devices or guests"),
        "{refused}"
    );
    assert!(!path.exists(), "no other key was put in its place");
    certs::files::create(&path, &[7; 32]).unwrap();
    assert!(matches!(open(home.path()), Err(StoreError::TokenKey { .. })));
}

#[test]
fn without_devices_a_lost_token_key_is_made_anew() {
    let home = tempfile::tempdir().unwrap();
    let first = open(home.path()).unwrap().token_key.id();
    fs::remove_file(home.path().join("keys/token.key")).unwrap();
    let second = open(home.path()).unwrap().token_key.id();
    assert_ne!(first, second);
    assert_eq!(open(home.path()).unwrap().token_key.id(), second);
}

#[test]
fn a_token_key_of_another_length_is_damage() {
    let home = tempfile::tempdir().unwrap();
    certs::files::directory(&home.path().join("keys")).unwrap();
    certs::files::create(&home.path().join("keys/token.key"), &[7; 31]).unwrap();
    assert!(matches!(open(home.path()), Err(StoreError::Corrupt { .. })));
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_damage_and_never_skipped() {
    let home = tempfile::tempdir().unwrap();
    let opened = open(home.path()).unwrap();
    opened
        .store
        .commit_device(device(1), row(action::PAIRING_COMMITTED, device(1).id))
        .await
        .unwrap();
    drop(opened);
    let other = rusqlite::Connection::open(home.path().join("transom.db")).unwrap();
    other.execute("UPDATE devices SET role = 'emperor'", []).unwrap();
    drop(other);
    let refused = open(home.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused}");
    assert!(refused.to_string().contains("transom.db"), "{refused}");
}

/// This test binary again, as a child that does one of the ignored tests below with `home`.
fn child(test: &str, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            &format!("store::tests::{test}"),
            "--ignored",
            "--nocapture",
        ])
        .env(CHILD_DIRECTORY, home);
    command
}

/// Lets a child commit devices one after the other, and kills it when it said `n` of them.
fn kill_after(home: &Path, n: usize) -> usize {
    let mut child = child("commits_until_killed", home)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .filter(|line| line.starts_with("committed "))
        .take(n)
        .count();
    child.kill().unwrap();
    child.wait().unwrap();
    said
}

#[test]
fn a_commit_that_was_answered_survives_a_kill_and_none_is_half() {
    for n in [1, 5, 20] {
        let home = tempfile::tempdir().unwrap();
        let said = kill_after(home.path(), n);
        assert_eq!(said, n);
        let opened = open(home.path()).unwrap();
        assert!(opened.devices.len() >= said, "{} of {said}", opened.devices.len());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let rows = runtime.block_on(opened.store.audit_rows(1000)).unwrap();
        assert_eq!(rows.len(), opened.devices.len(), "each device has its audit row");
    }
}

#[tokio::test]
#[ignore = "a child of the test above, which kills it"]
async fn commits_until_killed() {
    let home = std::env::var(CHILD_DIRECTORY).unwrap();
    let opened = open(Path::new(&home)).unwrap();
    for n in 1..=255 {
        opened
            .store
            .commit_device(device(n), row(action::PAIRING_COMMITTED, device(n).id))
            .await
            .unwrap();
        println!("committed {n}");
    }
}

#[test]
fn every_file_is_private_under_any_umask() {
    for umask in ["000", "777"] {
        let home = tempfile::tempdir().unwrap();
        let output = child("shows_modes_under_a_umask", home.path())
            .env(CHILD_UMASK, umask)
            .output()
            .unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let modes: Vec<_> = shown
            .lines()
            .filter_map(|line| line.strip_prefix("mode "))
            .collect();
        assert_eq!(
            modes,
            [
                "600 keys/audit.key",
                "600 keys/token.key",
                "600 transom.db",
                "600 transom.db-shm",
                "600 transom.db-wal",
                "700 keys"
            ],
            "{umask}"
        );
    }
}

#[test]
#[ignore = "a child of the test above: a umask is of the whole process"]
fn shows_modes_under_a_umask() {
    let home = std::env::var(CHILD_DIRECTORY).unwrap();
    let umask = u32::from_str_radix(&std::env::var(CHILD_UMASK).unwrap(), 8).unwrap();
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
    let _opened = open(Path::new(&home)).unwrap();
    let names = [
        "keys/audit.key",
        "keys/token.key",
        "transom.db",
        "transom.db-shm",
        "transom.db-wal",
        "keys",
    ];
    for name in names {
        println!(
            "mode {:o} {name}",
            fs::metadata(Path::new(&home).join(name)).unwrap().mode() & 0o7777
        );
    }
}
