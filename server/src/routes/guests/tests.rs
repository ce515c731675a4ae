mod harness;
mod login;

use std::time::Duration;

use pairing::{GuestRecord, Guests, Role};

use self::harness::{Link, key};
use crate::{
    audit::{AuditRow, Share},
    clock,
    lockdown::LockdownFile,
    testing::TestServer,
};

/// How many guests live by the store alone.
fn stored_to_live(server: &TestServer) -> i64 {
    let store = rusqlite::Connection::open(server.directory.path().join("transom.db")).unwrap();
    let count = "SELECT count(*) FROM guests WHERE ended_at IS NULL";
    store.query_row(count, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn where_the_store_fails_a_guest_is_closed_and_can_be_ended_again() {
    let server = TestServer::start().await;
    let link = Link::to_a_session(&server).await;
    let guest = link.open(&server, &key()).await;
    let mut stream = server.http2().await;
    assert_eq!(stream.get("/v1/whoami", Some(&guest.access)).await.status, 200);
    server.access.store().break_writes().await;
    let path = format!("/v1/guests/{}", link.id);
    let failed = server.owner().await.delete(&path, None).await;
    assert_eq!(failed.problem(), (500, "revoked_in_memory_only".to_owned()));
    stream.closed().await;
    let refused = guest.whoami(&server).await;
    assert_eq!(refused.problem(), (401, "revoked".to_owned()));
    assert_eq!(stored_to_live(&server), 1);
    server.access.store().mend_writes().await;
    assert_eq!(server.owner().await.delete(&path, None).await.status, 200);
    assert_eq!(stored_to_live(&server), 0);
    let again = server.owner().await.delete(&path, None).await;
    assert_eq!(again.problem(), (404, "unknown_guest".to_owned()));
}

#[tokio::test]
async fn where_the_store_fails_nobody_is_invited_and_nobody_comes() {
    let server = TestServer::start().await;
    let link = Link::to_a_session(&server).await;
    server.access.store().break_writes().await;
    let refused = Link::ask(
        &server,
        &serde_json::json!({ "sessions": ["ses_1"], "expires_in": 60 }),
    )
    .await;
    assert_eq!(refused.problem(), (503, "store_failed".to_owned()));
    let key = key();
    let refused = link.exchange(&server, &key).await;
    assert_eq!(refused.problem(), (503, "store_failed".to_owned()));
    server.access.store().mend_writes().await;
    let list = server.owner().await.get("/v1/guests", None).await.json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    link.open(&server, &key).await;
}

#[tokio::test]
async fn a_lock_down_that_the_store_did_not_hear_of_ends_guests_there_when_it_is_lifted() {
    let server = TestServer::start().await;
    let link = Link::to_a_session(&server).await;
    server.access.store().break_writes().await;
    let mut owner = server.owner().await;
    let locked = owner.ask(http::Method::POST, "/v1/lockdown", None).await;
    assert_eq!(locked.status, 200);
    assert!(LockdownFile::new(server.directory.path()).is_locked());
    assert_eq!(stored_to_live(&server), 1);
    server.access.store().mend_writes().await;
    let lifted = owner.delete("/v1/lockdown", None).await;
    assert_eq!(lifted.status, 200);
    assert_eq!(stored_to_live(&server), 0);
    let refused = link.exchange(&server, &key()).await;
    assert_eq!(refused.problem(), (409, "invitation_ended".to_owned()));
}

#[tokio::test]
async fn guests_whose_time_ends_together_are_closed_together_whatever_the_store_does() {
    let server = TestServer::start().await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let link = Link::to_a_session(&server).await;
        let guest = link.open(&server, &key()).await;
        let mut stream = server.http2().await;
        assert_eq!(stream.get("/v1/whoami", Some(&guest.access)).await.status, 200);
        streams.push(stream);
    }
    let held = server.access.store().hold_writes();
    // Their end is moved near while they have a stream open.
    let soon = clock::latest().plus(Duration::from_millis(100));
    {
        let mut guests = server.access.guests();
        let records = guests.shown().cloned().map(|guest| GuestRecord {
            expires_at: soon,
            ..guest
        });
        *guests = Guests::load(records.collect::<Vec<_>>());
    }
    server.access.devices_changed.notify_waiters();
    for stream in &mut streams {
        stream.closed().await;
    }
    drop(held);
}

#[tokio::test]
async fn what_waited_for_the_store_when_a_guest_ended_does_not_bring_it_back() {
    let server = TestServer::start().await;
    let link = Link::to_a_session(&server).await;
    let held = server.access.store().hold_writes();
    let key = key();
    let joining = link.exchange(&server, &key);
    let ending = async {
        // It is a guest in memory from here on, and its record waits.
        while server.access.guests().get(link.id).unwrap().joined.is_none() {
            tokio::task::yield_now().await;
        }
        let path = format!("/v1/guests/{}", link.id);
        let mut owner = server.owner().await;
        let mut ended = std::pin::pin!(owner.delete(&path, None));
        while server.access.guests().get(link.id).unwrap().ended.is_none() {
            let early = tokio::time::timeout(Duration::from_millis(1), &mut ended).await;
            assert!(early.is_err(), "nothing is stored yet");
        }
        drop(held);
        ended.await
    };
    let (joined, ended) = tokio::join!(joining, ending);
    assert_eq!((joined.status.as_u16(), ended.status.as_u16()), (200, 200));
    assert_eq!(stored_to_live(&server), 0);
}

#[tokio::test]
async fn who_ends_a_guest_who_is_being_ended_waits_for_the_same_outcome() {
    let server = TestServer::start().await;
    let link = Link::to_a_session(&server).await;
    link.open(&server, &key()).await;
    let held = server.access.store().hold_writes();
    let path = format!("/v1/guests/{}", link.id);
    let (mut owner, mut other) = (server.owner().await, server.owner().await);
    let both = async { tokio::join!(owner.delete(&path, None), other.delete(&path, None)) };
    let unhold = async {
        while !server.access.guest_ends.is_waited_for(link.id) {
            tokio::task::yield_now().await;
        }
        drop(held);
    };
    let ((first, second), ()) = tokio::join!(both, unhold);
    assert_eq!((first.status.as_u16(), first.json()), (200, second.json()));
    let again = server.owner().await.delete(&path, None).await;
    assert_eq!(again.problem(), (404, "unknown_guest".to_owned()));
}

#[tokio::test]
async fn a_guest_that_exchanges_its_link_without_end_has_its_share_of_rows() {
    let server = TestServer::start().await;
    let (link, key) = (Link::to_a_session(&server).await, key());
    let joined = async || {
        assert_eq!(link.exchange(&server, &key).await.status, 200);
        let rows = server.access.store().audit_rows(10).await.unwrap();
        rows.iter().filter(|row| row.action == "guest_joined").count()
    };
    assert_eq!(joined().await, 1);
    use_up_the_rows_of(&server, link.id);
    assert_eq!(joined().await, 1, "it is a count from now on");
}

#[tokio::test]
async fn who_asks_without_end_to_end_whom_it_cannot_end_has_its_share_of_rows() {
    let server = TestServer::start().await;
    let mighty = server.device(Role::Viewer, true).await;
    let mut client = server.http2().await;
    let mut refused = async || {
        for path in [
            "/v1/guests/gst_0000000000000001",
            "/v1/devices/dev_0000000000000001",
        ] {
            assert_eq!(client.delete(path, Some(&mighty)).await.status, 404);
        }
        let rows = server.access.store().audit_rows(10).await.unwrap();
        let named = rows.iter().map(|row| row.outcome.clone());
        named.filter(|outcome| outcome.starts_with("unknown_")).count()
    };
    assert_eq!(refused().await, 2);
    use_up_the_rows_of(&server, mighty.id);
    assert_eq!(refused().await, 2, "they are a count from now on");
}

fn use_up_the_rows_of(server: &TestServer, who: impl ToString) {
    let name = who.to_string();
    let row = AuditRow::new(clock::now(), &name, "", "anything", "");
    while server.access.damper().admits(&name, Share::Known, &row) {}
}
