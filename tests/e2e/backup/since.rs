//! Back-ups that are older than what they replace.

use std::{fs, os::unix::fs::DirBuilderExt};

use harness::TestDaemon;
use pairing::Role;
use serde_json::json;

use super::{Desk, refusal, restore_over, rows, start_again};

#[tokio::test]
async fn who_was_revoked_since_stays_out_and_the_trail_goes_on() {
    let mut daemon = TestDaemon::start().await;
    let mut lost = daemon.device(Role::Operator).await;
    let mut kept = daemon.device(Role::Operator).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    daemon.owner().revoke(lost.id()).await;
    let role = daemon
        .cli(&["devices", "role", &kept.id().to_string(), "viewer"])
        .await;
    assert_eq!(role.code, 0, "{role:?}");
    let mut newer = daemon.device(Role::Viewer).await;
    let before = rows(&daemon).await;
    let done = restore_over(&mut daemon, &file, &["--json"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    let told = done.json();
    assert_eq!(told["devices"], 1);
    assert_eq!(told["ended"][0]["device_id"], lost.id().to_string());
    assert_eq!(told["narrowed"][0]["device_id"], kept.id().to_string());
    // Its end is a row, too.
    assert_eq!(told["audit"]["known_row"], before.len() + 1);
    assert_eq!(told["audit"]["is_whole"], true);
    start_again(&mut daemon).await;
    for device in [&mut lost, &mut kept, &mut newer] {
        device.follow(&daemon);
    }
    assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
    let me: serde_json::Value = kept.get("/v1/whoami").await.ok();
    assert_eq!(me["role"], "viewer");
    assert_ne!(newer.get("/v1/whoami").await.status, 200);
    let after = rows(&daemon).await;
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after[before.len()..][..2], ["shutdown", "backup_restored"]);
}

#[tokio::test]
async fn who_was_revoked_since_comes_back_where_the_owner_says_so() {
    let mut daemon = TestDaemon::start().await;
    let mut lost = daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    daemon.owner().revoke(lost.id()).await;
    let done = restore_over(&mut daemon, &file, &["--keep-devices"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    start_again(&mut daemon).await;
    lost.follow(&daemon);
    assert_eq!(lost.get("/v1/whoami").await.status, 200);
}

#[tokio::test]
async fn where_the_store_cannot_tell_who_was_revoked_the_owner_decides() {
    let mut daemon = TestDaemon::start().await;
    let mut lost = daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    daemon.owner().revoke(lost.id()).await;
    super::end(&mut daemon).await;
    fs::write(daemon.folder().join("transom.db"), "damaged").unwrap();
    let before = super::files(daemon.folder());
    let restore = ["backup", "restore", &file, "--force", "--json"];
    let (code, words) = refusal(&daemon.cli(&restore).await);
    assert_eq!(code, "undecided");
    for part in ["row", "--keep-devices", "--end-devices", "not known"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(before == super::files(daemon.folder()), "nothing was changed");
    let ended = daemon.cli(&[&restore[..], &["--end-devices"]].concat()).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.json()["devices"], 0);
    assert_eq!(ended.json()["audit"]["is_whole"], false);
    start_again(&mut daemon).await;
    lost.follow(&daemon);
    assert_eq!(lost.get("/v1/whoami").await.verdict(), "401 revoked");
    assert!(rows(&daemon).await.contains(&"device_revoked".to_owned()));
}

#[tokio::test]
async fn where_nothing_is_known_of_the_time_since_a_backup_its_trail_is_not_said_to_be_whole() {
    let daemon = TestDaemon::start().await;
    daemon.device(Role::Viewer).await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    let mut other = TestDaemon::start().await;
    let over_anothers = restore_over(&mut other, &file, &["--json"]).await;
    let folder = desk.0.folder().join("restored");
    let into_nothing = desk.restore(&file, &folder, &["--json"]).await;
    for done in [over_anothers, into_nothing] {
        assert_eq!(done.code, 0, "{done:?}");
        let trail = &done.json()["audit"];
        assert_eq!(
            (&trail["is_whole"], &trail["known_row"]),
            (&json!(null), &json!(null))
        );
        assert_eq!(trail["faults"], 0);
    }
    // A configuration alone says nothing of it either, and a person is told.
    let configured = desk.0.folder().join("configured");
    fs::DirBuilder::new().mode(0o700).create(&configured).unwrap();
    fs::write(configured.join("config.toml"), "").unwrap();
    let told = desk.restore(&file, &configured, &["--force"]).await;
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.stderr.contains("is not known here"), "{told:?}");
}

#[tokio::test]
async fn what_was_there_is_moved_aside_whole_and_sessions_go_on() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x; echo got-$x; read x").await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    daemon.device(Role::Viewer).await;
    let done = restore_over(&mut daemon, &file, &["--json"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    let aside: Vec<String> = serde_json::from_value(done.json()["aside"].clone()).unwrap();
    let store = aside.iter().find(|path| path.ends_with("transom.db")).unwrap();
    let folder = std::path::Path::new(store).parent().unwrap();
    for name in ["keys/identity.pem", "keys/epoch", "keys/token.key"] {
        assert!(folder.join(name).is_file(), "{name} of {aside:?}");
    }
    // Put back by hand, it is as it was.
    start_again(&mut daemon).await;
    assert_eq!(
        daemon.owner().session(&session.id).await.state,
        protocol::sessions::SessionState::Running
    );
    assert_eq!(daemon.cli(&["devices", "--json"]).await.json(), json!([]));
    super::end(&mut daemon).await;
    for name in ["transom.db", "keys"] {
        let place = daemon.folder().join(name);
        fs::rename(&place, desk.0.folder().join(name)).unwrap();
        fs::rename(folder.join(name), &place).unwrap();
    }
    start_again(&mut daemon).await;
    assert_eq!(
        daemon
            .cli(&["devices", "--json"])
            .await
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn anothers_sessions_are_in_the_way_while_they_run_and_moved_aside_after() {
    let mut other = TestDaemon::start().await;
    let daemon = TestDaemon::start().await;
    let desk = Desk::new();
    let file = desk.plain(&daemon, "a.backup").await;
    let session = other.owner().shell("read x").await;
    let (code, words) = refusal(&restore_over(&mut other, &file, &["--json"]).await);
    assert_eq!(code, "sessions_run", "{words}");
    start_again(&mut other).await;
    assert_eq!(other.cli(&["shutdown", "--sessions"]).await.code, 0);
    other.ended().await;
    let done = other
        .cli(&["backup", "restore", &file, "--force", "--json"])
        .await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.json()["instance"], daemon.ready().instance);
    assert!(!other.folder().join("sessions").join(&session.id).exists());
    assert!(done.json()["aside"].to_string().contains("/sessions"), "{done:?}");
}
