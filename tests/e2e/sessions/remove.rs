//! `DELETE /v1/sessions/{id}` and `POST /v1/sessions/{id}/restore`.

use harness::{Answer, Device, EventReader, Owner, TestDaemon, descendants, until};
use pairing::Role;
use protocol::{
    access::{LIFE_HEADER, WhoAmI},
    events::Event,
    sessions::{Output, Session, SessionState},
};
use serde_json::json;

async fn remove(owner: &Owner, session: &Session, query: &str) -> Answer {
    let path = format!("/v1/sessions/{}{query}", session.id);
    owner.request("DELETE", &path, None::<&()>).await
}

/// Stops a session as a page does that saw it in this life of the daemon; the status of the answer.
async fn stop(device: &Device, session: &Session, life: &str) -> u16 {
    let path = format!("/v1/sessions/{}/stop", session.id);
    let token = device.access().await;
    let request = device.client().build("POST", &path, Some(&token), None::<&()>);
    let answer = request.header(LIFE_HEADER, life).send().await;
    answer.unwrap().status().as_u16()
}

async fn listed(owner: &Owner, query: &str) -> Vec<String> {
    let sessions: Vec<Session> = owner.get(&format!("/v1/sessions{query}")).await.ok();
    sessions.into_iter().map(|session| session.id).collect()
}

async fn until_event(events: &mut EventReader, is_it: impl Fn(&Event) -> bool) {
    while !is_it(&events.next().await.expect("the daemon runs").1) {}
}

#[tokio::test]
async fn what_is_meant_for_another_life_of_the_daemon_is_not_done() {
    let mut daemon = TestDaemon::start().await;
    let mut device = daemon.device(Role::Operator).await;
    let session = daemon.owner().shell("sleep 999").await;
    let before: WhoAmI = device.get("/v1/whoami").await.ok();
    daemon.kill_and_restart().await;
    device.follow(&daemon);
    let now: WhoAmI = device.get("/v1/whoami").await.ok();
    assert_eq!(stop(&device, &session, &before.life).await, 409);
    assert_eq!(
        daemon.owner().session(&session.id).await.state,
        SessionState::Running
    );
    assert_eq!(stop(&device, &session, &now.life).await, 200);
}

#[tokio::test]
async fn a_deleted_session_is_stopped_and_can_be_restored_without_its_program() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo hello; sleep 999").await;
    owner
        .get(&format!("/v1/sessions/{}/wait?text=hello", session.id))
        .await;
    let mut events = owner.events(None).await;
    let deleted: Session = remove(&owner, &session, "").await.ok();
    let deadline = deleted.purge_at.expect("it is deleted");
    assert_eq!(deleted.state, SessionState::Exited);
    until_event(
        &mut events,
        |event| matches!(event, Event::SessionRemoved { id } if *id == session.id),
    )
    .await;
    until("no process to be left", || async {
        descendants(daemon.pid()).is_empty().then_some(())
    })
    .await;
    assert!(listed(&owner, "").await.is_empty());
    assert_eq!(
        listed(&owner, "?deleted=true").await,
        std::slice::from_ref(&session.id)
    );
    let output = format!("/v1/sessions/{}/output", session.id);
    assert_eq!(owner.get(&output).await.verdict(), "410 session_deleted");
    let again: Session = remove(&owner, &session, "").await.ok();
    assert_eq!(again.purge_at, Some(deadline));
    let restore = format!("/v1/sessions/{}/restore", session.id);
    let restored: Session = owner.post(&restore, &json!({})).await.ok();
    assert_eq!((restored.purge_at, restored.state), (None, SessionState::Exited));
    assert_eq!(listed(&owner, "").await, std::slice::from_ref(&session.id));
    let output: Output = owner.get(&output).await.ok();
    assert!(output.data.0.starts_with(b"hello"));
    assert_eq!(
        owner.post(&restore, &json!({})).await.verdict(),
        "409 not_deleted"
    );
}

#[tokio::test]
async fn a_purged_session_is_gone_at_once() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("sleep 999").await;
    assert_eq!(remove(&owner, &session, "?purge=true").await.status, 200);
    assert!(listed(&owner, "?deleted=true").await.is_empty());
    let restore = format!("/v1/sessions/{}/restore", session.id);
    let gone = owner.post(&restore, &json!({})).await;
    assert_eq!(gone.verdict(), "404 session_not_found");
}

#[tokio::test]
async fn the_name_of_a_deleted_session_is_free() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let first = owner.shell("sleep 999").await;
    remove(&owner, &first, "").await;
    assert_eq!(owner.shell("sleep 999").await.name, first.name);
}
