//! `PATCH /v1/sessions/{id}` and `POST /v1/sessions/{id}/note`.

use harness::{EventReader, TestDaemon};
use pairing::Role;
use protocol::{events::Event, sessions::Session};
use serde_json::{Value, json};

async fn patch(daemon: &TestDaemon, session: &Session, changes: Value) -> harness::Answer {
    let path = format!("/v1/sessions/{}", session.id);
    daemon.owner().request("PATCH", &path, Some(&changes)).await
}

async fn note(daemon: &TestDaemon, session: &Session, note: Value) -> harness::Answer {
    let path = format!("/v1/sessions/{}/note", session.id);
    daemon.owner().post(&path, &note).await
}

async fn until_event(events: &mut EventReader, is_it: impl Fn(&Event) -> bool) {
    while !is_it(&events.next().await.expect("the daemon runs").1) {}
}

#[tokio::test]
async fn a_session_gets_another_name_and_other_labels() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x").await;
    let changes = json!({ "name": "build", "labels": { "branch": "main" } });
    let changed: Session = patch(&daemon, &session, changes).await.ok();
    assert_eq!(changed.name, "build");
    assert_eq!(owner.session(&session.id).await.labels["branch"], "main");
    let same: Session = patch(&daemon, &session, json!({ "name": "build" })).await.ok();
    assert_eq!(same.labels["branch"], "main");
}

#[tokio::test]
async fn a_name_of_a_live_session_cannot_be_taken() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let first = owner.shell("read x").await;
    let second = owner.shell("read x").await;
    let taken = patch(&daemon, &second, json!({ "name": first.name })).await;
    assert_eq!(taken.verdict(), "409 name_taken");
    let bad = patch(&daemon, &second, json!({ "name": "a b" })).await;
    assert_eq!(bad.verdict(), "400 malformed_name");
    let large = patch(&daemon, &second, json!({ "labels": { "k": "v".repeat(257) } })).await;
    assert_eq!(large.verdict(), "400 too_large");
}

#[tokio::test]
async fn a_note_is_shown_until_its_time_is_over() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("read x").await;
    let mut events = owner.events(None).await;
    let noted: Session = note(&daemon, &session, json!({ "text": "tests run" })).await.ok();
    assert_eq!(noted.note.unwrap().text, "tests run");
    let with_note = |event: &Event| matches!(event, Event::Session { session } if session.note.is_some());
    until_event(&mut events, with_note).await;
    let brief: Session = note(&daemon, &session, json!({ "text": "brief", "ttl": 1 }))
        .await
        .ok();
    assert!(brief.note.unwrap().expires_at.is_some());
    until_event(
        &mut events,
        |event| matches!(event, Event::Session { session } if session.note.is_none()),
    )
    .await;
    let gone: Session = note(&daemon, &session, json!({ "text": "" })).await.ok();
    assert_eq!(gone.note, None);
    let long = note(&daemon, &session, json!({ "text": "x".repeat(101) })).await;
    assert_eq!(long.verdict(), "400 malformed_note");
    let turned = note(&daemon, &session, json!({ "text": "a\u{202e}b" })).await;
    assert_eq!(turned.verdict(), "400 malformed_note");
}

#[tokio::test]
async fn who_may_only_look_changes_nothing() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("read x").await;
    let viewer = daemon.device(Role::Viewer).await;
    let path = format!("/v1/sessions/{}/note", session.id);
    let refused = viewer.post(&path, &json!({ "text": "hello" })).await;
    assert_eq!(refused.verdict(), "403 not_permitted");
}
