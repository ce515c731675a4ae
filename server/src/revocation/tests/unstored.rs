//! Ends that the store did not take.

use pairing::Role;

use super::path;
use crate::testing::{PATIENCE, TestServer};

/// Devices that the next daemon would let in.
fn in_the_store(server: &TestServer) -> i64 {
    let store = rusqlite::Connection::open(server.directory.path().join("transom.db")).unwrap();
    let count = store.query_row("SELECT count(*) FROM devices", [], |row| row.get(0));
    count.unwrap()
}

#[tokio::test]
async fn an_end_that_was_not_stored_is_made_again_when_it_is_asked_for_again() {
    let server = TestServer::start().await;
    let phone = server.device(Role::Viewer, false).await;
    server.access.store().break_writes().await;
    for _ in 0..2 {
        let answer = server.owner().await.delete(&path(&phone), None).await;
        assert_eq!(answer.problem(), (500, "revoked_in_memory_only".to_owned()));
    }
    assert_eq!(in_the_store(&server), 1);
    server.access.store().mend_writes().await;
    // Unless it was stored by itself meanwhile.
    let answer = server.owner().await.delete(&path(&phone), None).await;
    assert!([200, 404].contains(&answer.status.as_u16()), "{}", answer.status);
    assert_eq!(in_the_store(&server), 0);
}

#[tokio::test]
async fn an_end_that_was_not_stored_is_tried_again_until_it_is() {
    let server = TestServer::start().await;
    let phone = server.device(Role::Viewer, false).await;
    server.access.store().break_writes().await;
    let mut client = server.http2().await;
    let answer = client.delete("/v1/devices/self", Some(&phone)).await;
    assert_eq!(answer.problem(), (500, "revoked_in_memory_only".to_owned()));
    let mut rows = server.access.store().audit_growth();
    rows.mark_unchanged();
    server.access.store().mend_writes().await;
    tokio::time::timeout(PATIENCE, rows.changed())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(in_the_store(&server), 0);
    let rows = server.access.store().audit_rows(1).await.unwrap();
    assert_eq!(
        (&*rows[0].action, rows[0].principal.clone()),
        ("device_signed_out", phone.id.to_string())
    );
}

#[tokio::test]
async fn a_daemon_that_ends_stores_what_was_not_stored_before() {
    let mut server = TestServer::start().await;
    let phone = server.device(Role::Viewer, false).await;
    server.access.store().break_writes().await;
    server.owner().await.delete(&path(&phone), None).await;
    server.access.store().mend_writes().await;
    server.stop(crate::shutdown::Shutdown::Soft).await.unwrap();
    assert_eq!(in_the_store(&server), 0);
}
