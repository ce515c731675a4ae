use std::{fs, os::unix::fs::MetadataExt};

use ::client::{Change, Credential};
use certs::files;
use protocol::WireSecret;
use tempfile::TempDir;

use super::{Record, Store};
use crate::failure::Failure;

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store(folder.path().join("state/remotes"));
    (folder, store)
}

fn record(label: &str) -> Record {
    let credential = Credential {
        address: "desk:7443".parse().unwrap(),
        pin: "sha256/LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM"
            .parse()
            .unwrap(),
        next_pin: None,
        instance: "0011223344556677".to_owned(),
        device_id: "dev_0000000000000001".parse().unwrap(),
        label: label.to_owned(),
        role: pairing::Role::Viewer,
        token: WireSecret::new("tsm_dev_secret"),
        key: WireSecret::new("a key"),
        uncommitted: Some("req_0000000000000001".parse().unwrap()),
    };
    Record::of(credential, jiff::Timestamp::UNIX_EPOCH)
}

fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
    match result.unwrap_err() {
        Failure::Problem { problem, .. } => problem.code,
        Failure::ClosedPipe => panic!("a closed pipe has no code"),
    }
}

#[test]
fn a_remote_reads_back_from_a_file_that_only_its_owner_may_read() {
    let (_folder, store) = store();
    store.insert("desk", &record("laptop")).unwrap();
    let kept = store.get("desk").unwrap();
    assert_eq!(
        (kept.label.as_str(), kept.token.expose()),
        ("laptop", "tsm_dev_secret")
    );
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&store.path("desk")), 0o600);
    assert_eq!(mode(&store.0), 0o700);
    assert_eq!(mode(&store.0.join("lock")), 0o600);
}

#[test]
fn a_remote_is_not_written_over_by_another() {
    let (_folder, store) = store();
    store.insert("desk", &record("former")).unwrap();
    assert_eq!(code(store.insert("desk", &record("new"))), "remote_exists");
    assert_eq!(store.get("desk").unwrap().label, "former");
}

#[test]
fn a_change_that_was_cut_off_leaves_the_former_and_does_not_stop_the_next() {
    let (_folder, store) = store();
    store.insert("desk", &record("former")).unwrap();
    fs::write(files::partial(&store.path("desk")), b"{\"version\": 1, \"addr").unwrap();
    assert_eq!(store.get("desk").unwrap().label, "former");
    assert_eq!(store.list().unwrap().len(), 1);
    let device = record("former").device_id;
    let known = Change::Known {
        label: "new".to_owned(),
        role: pairing::Role::Viewer,
    };
    let changed = store.change("desk", device, |record| {
        record.with(&Change::Committed).with(&known)
    });
    changed.unwrap();
    let kept = store.get("desk").unwrap();
    assert_eq!((kept.label.as_str(), kept.uncommitted), ("new", None));
}

#[test]
fn a_remote_that_was_removed_meanwhile_does_not_come_back() {
    let (_folder, store) = store();
    store.insert("desk", &record("laptop")).unwrap();
    store.remove("desk").unwrap();
    let changed = store.change("desk", record("laptop").device_id, |record| {
        record.with(&Change::Committed)
    });
    assert_eq!(code(changed), "unknown_remote");
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn a_remote_keeps_all_but_its_name_when_renamed_and_takes_no_other_s_place() {
    let (_folder, store) = store();
    store.insert("a", &record("one")).unwrap();
    store.insert("b", &record("two")).unwrap();
    assert_eq!(code(store.rename("a", "b")), "remote_exists");
    store.rename("a", "c").unwrap();
    assert_eq!(store.get("c").unwrap().label, "one");
    assert_eq!(store.get("b").unwrap().label, "two");
    assert_eq!(code(store.get("a")), "unknown_remote");
}

#[test]
fn names_that_are_paths_or_flags_are_refused() {
    let (_folder, store) = store();
    for name in ["", ".", "..", "../a", "a/b", "-a", ".a", "a b", "ä"] {
        assert_eq!(code(store.insert(name, &record("x"))), "usage", "{name:?}");
        assert_eq!(code(store.get(name)), "usage", "{name:?}");
    }
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, store) = store();
    store.insert("desk", &record("laptop")).unwrap();
    fs::set_permissions(store.path("desk"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(code(store.get("desk")), "remote_file");
}

#[test]
fn a_damaged_file_and_one_of_a_newer_version_are_said_and_can_be_removed() {
    let (_folder, store) = store();
    for bytes in [&b"{"[..], b"{\"version\": 2, \"new\": true}"] {
        store.insert("desk", &record("laptop")).unwrap();
        files::overwrite(&store.path("desk"), bytes).unwrap();
        assert_eq!(code(store.get("desk")), "damaged_remote");
        store.remove("desk").unwrap();
    }
}

#[test]
fn those_who_change_remotes_at_the_same_time_wait_for_each_other() {
    let (_folder, store) = store();
    let names: Vec<String> = (0..8).map(|n| format!("r{n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let store = &store;
            scope.spawn(move || store.insert(name, &record(name)).unwrap());
        }
    });
    assert_eq!(store.list().unwrap().len(), names.len());
}
