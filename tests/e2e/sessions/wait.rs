//! `GET /v1/sessions/{id}/wait`.

use harness::{Owner, TestDaemon};
use protocol::sessions::{Session, Waited, WaitedFor};
use serde_json::json;

async fn wait(owner: &Owner, session: &Session, query: &str) -> harness::Answer {
    owner
        .get(&format!(
            "/v1/sessions/{}/wait?timeout_ms=60000&{query}",
            session.id
        ))
        .await
}

async fn enter(owner: &Owner, session: &Session) {
    owner
        .post(
            &format!("/v1/sessions/{}/keys", session.id),
            &json!({ "keys": ["Enter"] }),
        )
        .await;
}

#[tokio::test]
async fn a_wait_ends_with_the_program() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x; exit 3").await;
    let (waited, ()) = tokio::join!(wait(&owner, &session, ""), enter(&owner, &session));
    let waited: Waited = waited.ok();
    assert_eq!(waited.reason, WaitedFor::Exit);
    assert_eq!(waited.session.exit.unwrap().code, Some(3));
}

#[tokio::test]
async fn a_wait_ends_with_a_line_also_with_one_that_scrolled_off() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner
        .shell("echo before; while read x; do echo serving on port 80; seq 1 500; done")
        .await;
    let text = wait(&owner, &session, "text=bef").await;
    assert_eq!(text.ok::<Waited>().line.as_deref(), Some("before"));
    let query = "text=on%20port%20%5Cd%2B";
    let mut waiting = std::pin::pin!(wait(&owner, &session, query));
    // Again and again: what was printed before the wait began does not count.
    let waited = loop {
        tokio::select! {
            waited = &mut waiting => break waited,
            () = enter(&owner, &session) => {}
        }
    };
    let waited: Waited = waited.ok();
    assert_eq!(waited.reason, WaitedFor::Text);
    assert_eq!(waited.line.as_deref(), Some("serving on port 80"));
}

#[tokio::test]
async fn a_line_that_fills_several_rows_is_one_line() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("printf 'begin%0300dend\\n' 0; read x").await;
    let waited: Waited = wait(&owner, &session, "text=%5Ebegin0%2Bend%24").await.ok();
    assert_eq!(waited.line.unwrap().len(), 308);
}

#[tokio::test]
async fn a_wait_ends_when_nothing_was_written_for_so_long() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo done; read x").await;
    let waited: Waited = wait(&owner, &session, "idle_ms=50").await.ok();
    assert_eq!(waited.reason, WaitedFor::Idle);
}

#[tokio::test]
async fn a_wait_that_is_in_vain_says_so_and_a_bad_one_too() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x").await;
    let path = format!("/v1/sessions/{}/wait", session.id);
    let vain = owner.get(&format!("{path}?text=never&timeout_ms=30")).await;
    assert_eq!(vain.verdict(), "504 timed_out");
    let bad = owner.get(&format!("{path}?text=%28")).await;
    assert_eq!(bad.verdict(), "400 malformed_pattern");
    let huge = owner.get(&format!("{path}?text=%28a%7B999%7D%29%7B999%7D")).await;
    assert_eq!(huge.verdict(), "400 malformed_pattern");
    let long = owner.get(&format!("{path}?timeout_ms=3600001")).await;
    assert_eq!(long.verdict(), "400 wait_too_long");
}
