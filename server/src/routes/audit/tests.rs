use http::Method;
use pairing::Role;

use crate::{
    audit::AuditRow,
    clock,
    testing::{PATIENCE, TestServer},
};

async fn written(server: &TestServer, actions: &[&'static str]) {
    for action in actions {
        let row = AuditRow::new(clock::now(), "owner", "", *action, "x");
        server.access.store.append_audit(row).await.unwrap();
    }
}

fn actions(rows: &serde_json::Value) -> Vec<&str> {
    let rows = rows.as_array().unwrap();
    rows.iter().map(|row| row["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_owner_alone_reads_the_trail() {
    let server = TestServer::start().await;
    let device = server.device(Role::Operator, true).await;
    let mut client = server.http2().await;
    for path in ["/v1/audit", "/v1/audit/verify"] {
        assert_eq!(client.get(path, Some(&device)).await.status, 403);
        assert_eq!(server.owner().await.get(path, None).await.status, 200);
    }
}

#[tokio::test]
async fn rows_come_oldest_first_and_by_the_filter() {
    let server = TestServer::start().await;
    written(&server, &["a", "b", "a", "c"]).await;
    let mut owner = server.owner().await;
    let all = owner.get("/v1/audit", None).await.json();
    assert_eq!(actions(&all), ["a", "b", "a", "c"]);
    assert_eq!(
        actions(&owner.get("/v1/audit?limit=2", None).await.json()),
        ["a", "c"]
    );
    assert_eq!(
        actions(&owner.get("/v1/audit?after=1&limit=2", None).await.json()),
        ["b", "a"]
    );
    assert_eq!(
        actions(&owner.get("/v1/audit?action=a", None).await.json()),
        ["a", "a"]
    );
    let future = "/v1/audit?since=2999-01-01T00:00:00Z";
    assert_eq!(actions(&owner.get(future, None).await.json()), [] as [&str; 0]);
    let wrong = owner.get("/v1/audit?colour=red", None).await;
    assert_eq!(wrong.problem(), (400, "malformed_request".to_owned()));
}

#[tokio::test]
async fn an_answer_that_is_waited_for_comes_with_the_next_row_that_fits() {
    let server = TestServer::start().await;
    written(&server, &["a"]).await;
    let mut owner = server.owner().await;
    let waiting =
        tokio::spawn(async move { owner.get("/v1/audit?after=1&action=b&wait=25", None).await.json() });
    written(&server, &["a", "b"]).await;
    let rows = tokio::time::timeout(PATIENCE, waiting).await.unwrap().unwrap();
    assert_eq!(actions(&rows), ["b"]);
    let refused = server.owner().await.get("/v1/audit?wait=25", None).await;
    assert_eq!(refused.problem(), (400, "malformed_request".to_owned()));
}

#[tokio::test]
async fn a_trail_that_somebody_changed_is_not_whole() {
    let server = TestServer::start().await;
    written(&server, &["a", "b"]).await;
    let mut owner = server.owner().await;
    assert_eq!(owner.get("/v1/audit/verify", None).await.json()["whole"], true);
    let other = rusqlite::Connection::open(server.directory.path().join("transom.db")).unwrap();
    let forged = "DROP TRIGGER audit_rows_never_change; UPDATE audit SET target = 'y' WHERE sequence = 1";
    other.execute_batch(forged).unwrap();
    let verdict = owner.ask(Method::GET, "/v1/audit/verify", None).await.json();
    assert_eq!(verdict["whole"], false);
    assert_eq!(verdict["faults"][0]["kind"], "changed");
}
