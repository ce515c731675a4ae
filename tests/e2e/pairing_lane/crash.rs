//! `kill -9` of the daemon at each step of a pairing.

use harness::{Pairing, TestDaemon, TlsClient, until};
use pairing::Role;
use protocol::access::DeviceRecord;

use super::{exchange_nonce, fragment, stored_devices};

#[tokio::test]
async fn a_kill_after_the_offer_leaves_its_link_dead_and_nothing_else() {
    let mut daemon = TestDaemon::start().await;
    let link = fragment(&daemon.owner().offer(Role::Viewer, false).await);
    daemon.kill_and_restart().await;
    let answer = Pairing::with_fragment(&daemon, &link)
        .try_request("a phone")
        .await;
    assert_eq!(answer.verdict(), "401 unknown_offer");
    assert_no_trace_and_pairs_anew(&daemon).await;
}

#[tokio::test]
async fn a_kill_after_the_request_forgets_it() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    device.request().await;
    restart(&mut daemon, &mut device).await;
    assert_eq!(device.reveal().await.verdict(), "401 unknown_request");
    assert_no_trace_and_pairs_anew(&daemon).await;
}

#[tokio::test]
async fn a_kill_after_the_reveal_forgets_the_request() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.pairing(Role::Viewer).await;
    device.ask().await;
    restart(&mut daemon, &mut device).await;
    let answer = device.poll(25).await;
    assert_eq!(answer.verdict(), "401 unknown_request");
    assert_eq!(answer.problem().detail, "there is no such pairing request");
    assert_eq!(answer.problem().hint, "begin the pairing again");
    assert_eq!(
        daemon.owner().approve(device.id()).await.verdict(),
        "404 unknown_request"
    );
    assert_no_trace_and_pairs_anew(&daemon).await;
}

#[tokio::test]
async fn a_kill_after_the_approval_forgets_the_request() {
    let mut daemon = TestDaemon::start().await;
    let mut device = super::approved(&daemon).await;
    let nonce = exchange_nonce(&device.poll(0).await);
    restart(&mut daemon, &mut device).await;
    assert_eq!(device.try_exchange(&nonce).await.verdict(), "401 unknown_request");
    assert_no_trace_and_pairs_anew(&daemon).await;
}

#[tokio::test]
async fn a_kill_after_the_exchange_leaves_no_half_device() {
    let mut daemon = TestDaemon::start().await;
    let mut device = super::approved(&daemon).await;
    let exchanged = device.exchange().await;
    restart(&mut daemon, &mut device).await;
    let token = exchanged.token.expose();
    assert_eq!(device.try_commit(token).await.verdict(), "401 unknown_token");
    let client = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(
        client.get("/v1/whoami", Some(token)).await.verdict(),
        "401 invalid_token"
    );
    assert_no_trace_and_pairs_anew(&daemon).await;
}

#[tokio::test]
async fn a_kill_after_the_commit_loses_nothing_and_the_commit_can_be_asked_again() {
    let mut daemon = TestDaemon::start().await;
    let mut device = super::approved(&daemon).await;
    let exchanged = device.exchange().await;
    assert_eq!(device.try_commit(exchanged.token.expose()).await.verdict(), "204");
    restart(&mut daemon, &mut device).await;
    assert_eq!(
        device.try_commit(exchanged.token.expose()).await.verdict(),
        "204",
        "idempotent by token"
    );
    assert_eq!(device.poll(0).await.verdict(), "401 unknown_request");
    let device = device.into_device(&exchanged);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    assert_eq!(daemon.owner().devices().await.len(), 1);
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_commit_leaves_a_whole_device_or_none() {
    let mut daemon = TestDaemon::start().await;
    for round in 0..10 {
        let before = daemon.owner().devices().await.len();
        let mut device = super::approved(&daemon).await;
        let exchanged = device.exchange().await;
        let token = exchanged.token.expose();
        let path = format!("/v1/pairing/requests/{}/commit", device.id());
        let client = TlsClient::new(daemon.address(), daemon.pin());
        let committing = tokio::spawn(
            client
                .build("POST", &path, Some(token), Some(&serde_json::json!({})))
                .send(),
        );
        // Each round kills a little later in the life of the commit.
        for _ in 0..round * 3 {
            TlsClient::new(daemon.address(), daemon.pin())
                .get("/v1/health", None)
                .await;
        }
        restart(&mut daemon, &mut device).await;
        let was_told = committing
            .await
            .unwrap()
            .is_ok_and(|answer| answer.status().as_u16() == 204);
        let known = daemon
            .owner()
            .devices()
            .await
            .iter()
            .any(|record| record.id == exchanged.device_id);
        assert!(
            known || !was_told,
            "a device was told that it is paired, and is not"
        );
        assert_eq!(daemon.owner().devices().await.len(), before + usize::from(known));
        let again = device.try_commit(token).await.verdict();
        assert_eq!(again, if known { "204" } else { "401 unknown_token" });
        let who = device.into_device(&exchanged).get("/v1/whoami").await.verdict();
        assert_eq!(who, if known { "200" } else { "401 invalid_token" });
    }
}

#[tokio::test]
async fn after_a_kill_the_same_device_works_the_list_knows_it_and_the_revoked_stay_revoked() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Operator).await;
    let mut revoked = daemon.device(Role::Viewer).await;
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    assert_eq!(revoked.get("/v1/whoami").await.verdict(), "200");
    daemon.owner().revoke(revoked.id()).await;
    // When a device was seen is stored beside the request, not before its answer.
    until("the device to be stored as seen", || async {
        seen_on_disk(&daemon).then_some(())
    })
    .await;
    let before = only(daemon.owner().devices().await);
    daemon.kill_and_restart().await;
    let after = only(daemon.owner().devices().await);
    assert_eq!((after.id, after.label.as_str()), (device.id(), "a test's phone"));
    assert_eq!((after.role, after.created_at), (before.role, before.created_at));
    assert!(after.last_seen_at.is_some());
    assert_eq!(
        (after.last_seen_at, after.last_address.as_deref()),
        (before.last_seen_at, Some("127.0.0.1"))
    );
    device.follow(&daemon);
    revoked.follow(&daemon);
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    assert_eq!(revoked.get("/v1/whoami").await.verdict(), "401 revoked");
    let listed = daemon.cli(&["devices"]).await;
    assert!(
        listed.stdout.contains("a test's phone") && listed.stdout.contains("127.0.0.1"),
        "{listed:?}"
    );
    assert!(!listed.stdout.contains(&revoked.id().to_string()), "{listed:?}");
}

async fn restart(daemon: &mut TestDaemon, device: &mut Pairing) {
    daemon.kill_and_restart().await;
    device.follow(daemon);
}

/// The store opened, there is no half device in it, and pairing works as before.
async fn assert_no_trace_and_pairs_anew(daemon: &TestDaemon) {
    assert!(daemon.owner().devices().await.is_empty());
    assert_eq!(stored_devices(daemon), 0);
    let requests: Vec<protocol::pairing::RequestView> = daemon.owner().get("/v1/pairing/requests").await.ok();
    assert!(requests.is_empty(), "{requests:?}");
    let device = daemon.device(Role::Viewer).await;
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
}

fn only(mut devices: Vec<DeviceRecord>) -> DeviceRecord {
    assert_eq!(devices.len(), 1, "{devices:?}");
    devices.remove(0)
}

fn seen_on_disk(daemon: &TestDaemon) -> bool {
    let store = rusqlite::Connection::open(daemon.folder().join("transom.db")).unwrap();
    let seen = "SELECT count(*) FROM devices WHERE last_seen_at IS NOT NULL";
    store.query_row(seen, [], |row| row.get::<_, u32>(0)).unwrap() == 1
}
