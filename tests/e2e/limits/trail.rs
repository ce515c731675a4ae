//! How much of the store strangers can fill, and those who are known.

use std::fs;

use harness::{Invitation, Pairing, TestDaemon, TlsClient};
use pairing::Role;
use protocol::audit::AuditRecord;
use serde_json::json;

#[tokio::test]
async fn a_flood_of_refusals_leaves_a_bounded_number_of_rows_and_says_how_many_there_were() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let device = daemon.device(Role::Viewer).await;
    let mut invitation = Invitation::to(&daemon, &[&session.id], 60).await;
    invitation.secret = "A".repeat(43);
    let offer = daemon.owner().offer(Role::Viewer, false).await;
    let (_, fragment) = offer.url.expose().split_once('#').unwrap();
    let before = (rows(&daemon).await.len(), bytes(&daemon));
    let client = TlsClient::new(daemon.address(), daemon.pin());
    for n in 0..FLOOD {
        client.get("/v1/whoami", Some("tsm_dev_x")).await;
        let mut proof = device.proof(&device.challenge().await);
        proof.signature.0[7] ^= 1;
        assert_ne!(device.prove(&proof).await.status, 200);
        let guess = invitation.exchange(&client, device.key()).await;
        assert_ne!(client.post("/v1/guests/exchange", None, &guess).await.status, 200);
        // An offer lets ask beyond what a stranger may have pending.
        let asked = Pairing::with_fragment(&daemon, fragment)
            .try_request(&format!("phone {n}"))
            .await;
        assert_eq!(asked.status, 201, "{asked:?}");
    }
    let after = (rows(&daemon).await, bytes(&daemon));
    let more = after.0.len() - before.0;
    // A stranger's share is 60 and one a minute; refused proofs have one row a minute.
    assert!(more <= 60 + 10, "{more} rows of {} refusals", 4 * FLOOD);
    let grown = after.1.saturating_sub(before.1);
    assert!(grown <= 1024 * 1024, "the store has grown by {grown} bytes");
    daemon.signal(rustix::process::Signal::TERM);
    daemon.ended().await;
    daemon.start_again().await;
    let last = rows(&daemon).await;
    let said = last.iter().filter(|row| row.action == "rows_omitted").count();
    assert_eq!(said, 1, "{last:?}");
    assert_eq!(daemon.cli(&["audit", "--verify"]).await.code, 0);
}

#[tokio::test]
async fn a_device_that_changes_names_without_end_has_its_share_of_rows_and_the_owner_all_of_them() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("sleep 600").await;
    let device = daemon.device(Role::Operator).await;
    let path = format!("/v1/sessions/{}", session.id);
    let (client, access) = (device.client(), device.access().await);
    let changes = KNOWN + 100;
    for n in 0..changes {
        // Its own name and that of a session in turn: both are among the rows of one.
        let (path, change) = match n % 2 {
            0 => ("/v1/devices/self", json!({ "label": format!("phone {n}") })),
            _ => (path.as_str(), json!({ "name": format!("name-{n}") })),
        };
        let changed = client.request("PATCH", path, Some(&access), Some(&change)).await;
        assert_eq!(changed.status, 200, "it is done all the same: {changed:?}");
    }
    assert_eq!(
        owner.session(&session.id).await.name,
        format!("name-{}", changes - 1)
    );
    assert_eq!(owner.devices().await[0].label, format!("phone {}", changes - 2));
    let id = device.id().to_string();
    let written = of(&daemon, &id).await;
    assert!((KNOWN..KNOWN + 50).contains(&written), "{written}");
    for n in 0..3 {
        let change = json!({ "name": format!("owner-{n}") });
        assert_eq!(owner.request("PATCH", &path, Some(&change)).await.status, 200);
    }
    assert_eq!(of(&daemon, "owner").await, 3);
    daemon.signal(rustix::process::Signal::TERM);
    daemon.ended().await;
    daemon.start_again().await;
    let rows = rows(&daemon).await;
    let said = rows.iter().find(|row| row.action == "rows_omitted").unwrap();
    assert_eq!(said.principal, id);
    let counts = said.detail.as_deref().unwrap().split(" since ").next().unwrap();
    let counted: usize = counts
        .split(", ")
        .map(|count| count.split(' ').next().unwrap().parse::<usize>().unwrap())
        .sum();
    assert_eq!(written + counted, changes, "{said:?}");
}

#[tokio::test]
async fn what_a_device_deletes_is_never_a_mere_count_and_beyond_its_share_it_is_refused() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let device = daemon.device(Role::Operator).await;
    let path = format!("/v1/sessions/{}", session.id);
    // What makes its other rows a count takes nothing from these.
    for n in 0..=KNOWN {
        let change = json!({ "name": format!("name-{n}") });
        assert_eq!(device.request("PATCH", &path, Some(&change)).await.status, 200);
    }
    let mut done = 0;
    let refused = loop {
        let answer = device.delete(&path).await;
        if answer.status != 200 {
            break answer;
        }
        done += 1;
    };
    assert_eq!(refused.verdict(), "429 too_many_changes");
    assert!(refused.problem().retry_after.is_some_and(|seconds| seconds > 0));
    assert!(done >= KNOWN, "{done}");
    let rows = rows(&daemon).await;
    let deleted = rows.iter().filter(|row| row.action == "session_deleted");
    assert_eq!(deleted.count(), done);
    let owner = daemon.owner().request("DELETE", &path, None::<&()>).await;
    assert_eq!(owner.status, 200, "the owner's are all written");
}

/// How many rows there are of a principal that gave names.
async fn of(daemon: &TestDaemon, who: &str) -> usize {
    let rows = rows(daemon).await;
    let gave = |row: &&AuditRecord| ["session_changed", "device_renamed"].contains(&row.action.as_str());
    rows.iter()
        .filter(|row| row.principal == who)
        .filter(gave)
        .count()
}

async fn rows(daemon: &TestDaemon) -> Vec<AuditRecord> {
    daemon.owner().get("/v1/audit?limit=10000").await.ok()
}

/// Bytes of the store and of what it has not taken over yet.
fn bytes(daemon: &TestDaemon) -> u64 {
    let size = |name: &str| fs::metadata(daemon.folder().join(name)).map_or(0, |file| file.len());
    size("transom.db") + size("transom.db-wal")
}

/// Rounds, each of several refusals.
const FLOOD: usize = 150;
/// Rows that one device may have at once.
const KNOWN: usize = 600;
