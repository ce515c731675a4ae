//! Files that are not restored, and places where nothing is: nothing is touched.

use std::{
    fs,
    io::{Cursor, Read},
    path::Path,
};

use harness::TestDaemon;
use pairing::Role;
use sha2::{Digest, Sha256};

use super::{Desk, end, files, refusal, rows};

#[tokio::test]
async fn a_backup_that_is_not_what_was_written_is_refused_and_nothing_is_touched() {
    let daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let right = desk.passphrase("right", "correct horse\n");
    let wrong = desk.passphrase("wrong", "correct house\n");
    let (sealed, plain) = (desk.file("sealed"), desk.plain(&daemon, "plain").await);
    let made = daemon
        .cli(&["backup", "create", &sealed, "--passphrase-file", &right])
        .await;
    assert_eq!(made.code, 0, "{made:?}");
    let (whole, tar) = (fs::read(&sealed).unwrap(), fs::read(&plain).unwrap());
    let changed = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let store = tar
        .windows(16)
        .position(|bytes| bytes == b"SQLite format 3\0")
        .unwrap();
    for (what, bytes, secret, code) in [
        ("another passphrase", whole.clone(), &wrong, "wrong_passphrase"),
        ("cut off in its header", whole[..100].to_vec(), &right, "damaged"),
        (
            "cut off in its middle",
            whole[..whole.len() / 2].to_vec(),
            &right,
            "damaged",
        ),
        (
            "cut off at its end",
            whole[..whole.len() - 1].to_vec(),
            &right,
            "damaged",
        ),
        (
            "one bit is another",
            changed(&whole, whole.len() / 2),
            &right,
            "damaged",
        ),
        (
            "something behind it",
            [&whole[..], b"x"].concat(),
            &right,
            "damaged",
        ),
        ("no back-up", b"hello".to_vec(), &right, "no_backup"),
        ("another archive", vec![0; 4096], &right, "no_backup"),
        ("plain, cut off", tar[..tar.len() / 2].to_vec(), &right, "damaged"),
        (
            "plain, one bit is another",
            changed(&tar, store + 5000),
            &right,
            "damaged",
        ),
    ] {
        let file = desk.file("changed");
        fs::write(&file, bytes).unwrap();
        let folder = desk.0.folder().join("restored");
        let done = desk
            .restore(&file, &folder, &["--json", "--passphrase-file", secret])
            .await;
        assert_eq!(refusal(&done).0, code, "{what}: {done:?}");
        assert!(!folder.exists(), "{what}");
    }
    let folder = desk.0.folder().join("restored");
    let asked = desk.restore(&sealed, &folder, &[]).await;
    assert!(
        asked.code == 2 && asked.stderr.contains("--passphrase-file"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn nothing_is_replaced_while_a_daemon_runs_nor_without_saying_so() {
    let mut daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    let restore = ["backup", "restore", &file, "--json"];
    let forced = [&restore[..], &["--force"]].concat();
    let (code, words) = refusal(&daemon.cli(&forced).await);
    assert!(
        code == "already_running" && words.contains("transom shutdown"),
        "{words}"
    );
    end(&mut daemon).await;
    let before = files(daemon.folder());
    let (code, words) = refusal(&daemon.cli(&restore).await);
    assert!(code == "state_exists" && words.contains("--force"), "{words}");
    assert!(files(daemon.folder()) == before);
    let nothing = desk
        .0
        .cli(&["backup", "create", &desk.file("b"), "--plain", "--json"])
        .await;
    assert_eq!(refusal(&nothing).0, "no_state");
}

#[tokio::test]
async fn a_backup_of_a_newer_version_is_refused_with_what_to_do() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    let tar = fs::read(&file).unwrap();
    let newer_store = rewritten(&tar, |name, bytes| {
        if name == "transom.db" {
            let path = desk.file("newer.db");
            fs::write(&path, &bytes).unwrap();
            let store = rusqlite::Connection::open(&path).unwrap();
            store.pragma_update(None, "user_version", 1_000_000).unwrap();
            store.close().unwrap();
            *bytes = fs::read(&path).unwrap();
        }
    });
    let newer_format = rewritten(&tar, |name, bytes| {
        if name == "manifest.json" {
            let text = String::from_utf8(bytes.clone()).unwrap();
            *bytes = text.replace("\"format\": 1", "\"format\": 2").into_bytes();
        }
    });
    for (what, bytes) in [("store", newer_store), ("format", newer_format)] {
        fs::write(&file, bytes).unwrap();
        let folder = desk.0.folder().join("restored");
        let (code, words) = refusal(&desk.restore(&file, &folder, &["--json"]).await);
        assert_eq!(code, "newer_backup", "{words}");
        assert!(
            words.contains(what) && words.contains("install transom"),
            "{words}"
        );
        assert!(!folder.exists());
    }
}

#[tokio::test]
async fn a_backup_of_an_older_version_is_brought_up_to_date_and_lets_the_same_devices_in() {
    let daemon = TestDaemon::start().await;
    let mut phone = daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    drop(daemon);
    // What version 3 of the store made out of version 2.
    let older = "DROP TABLE guest_sights; DROP TABLE guests; PRAGMA user_version = 2";
    let tar = rewritten(&fs::read(&file).unwrap(), |name, bytes| {
        if name == "transom.db" {
            let path = desk.file("older.db");
            fs::write(&path, &bytes).unwrap();
            let store = rusqlite::Connection::open(&path).unwrap();
            store.execute_batch(older).unwrap();
            store.close().unwrap();
            *bytes = fs::read(&path).unwrap();
        }
        if name == "manifest.json" {
            let text = String::from_utf8(bytes.clone()).unwrap();
            *bytes = text.replace("\"schema\": 3", "\"schema\": 2").into_bytes();
        }
    });
    fs::write(&file, tar).unwrap();
    let folder = desk.0.folder().join("restored");
    let done = desk.restore(&file, &folder, &["--json"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.json()["devices"], 1);
    let daemon = super::create::started_in(&folder).await;
    phone.follow(&daemon);
    assert_eq!(phone.get("/v1/whoami").await.status, 200);
    assert!(rows(&daemon).await.contains(&"backup_restored".to_owned()));
    let invited = daemon.cli(&["guests", "--json"]).await;
    assert_eq!(invited.json(), serde_json::json!([]), "{invited:?}");
}

#[tokio::test]
async fn an_archive_that_leads_elsewhere_is_refused() {
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    let tar = fs::read(&file).unwrap();
    for name in ["../escaped", "keys/../../escaped", "sessions/ses_1/session.json"] {
        let mut archive = tar::Builder::new(Vec::new());
        for (known, bytes) in members(&tar) {
            append(&mut archive, &known, &bytes);
        }
        append(&mut archive, name, b"x");
        fs::write(&file, archive.into_inner().unwrap()).unwrap();
        let folder = desk.0.folder().join("restored");
        assert_eq!(
            refusal(&desk.restore(&file, &folder, &["--json"]).await).0,
            "damaged"
        );
        assert!(!folder.exists() && !Path::new(&desk.file("escaped")).exists());
    }
}

fn members(tar: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(Cursor::new(tar));
    let members = archive.entries().unwrap().map(|member| {
        let mut member = member.unwrap();
        let name = member.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    });
    members.collect()
}

/// The archive with other contents, of which its manifest says what they are.
fn rewritten(tar: &[u8], change: impl Fn(&str, &mut Vec<u8>)) -> Vec<u8> {
    let mut all = members(tar);
    let mut manifest: serde_json::Value = serde_json::from_slice(&all[0].1).unwrap();
    for (name, bytes) in &mut all[1..] {
        change(name, bytes);
        let files = manifest["files"].as_array_mut().unwrap();
        let file = files.iter_mut().find(|file| file["name"] == *name).unwrap();
        file["bytes"] = bytes.len().into();
        file["sha256"] = certs::hex(&Sha256::digest(&*bytes)).into();
    }
    all[0].1 = serde_json::to_vec_pretty(&manifest).unwrap();
    let (name, bytes) = &mut all[0];
    change(name, bytes);
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in &all {
        append(&mut archive, name, bytes);
    }
    archive.into_inner().unwrap()
}

/// A member under a name that need not be one for this folder.
fn append(archive: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_mode(0o600);
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    archive.append(&header, bytes).unwrap();
}
