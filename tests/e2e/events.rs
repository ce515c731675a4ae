//! `GET /v1/events`.

use std::collections::{BTreeMap, BTreeSet};

use harness::{Device, EventReader, TestDaemon};
use pairing::Role;
use protocol::{events::Event, sessions::Session};
use serde_json::json;

#[tokio::test]
async fn a_stream_begins_with_a_gap_and_tells_of_a_new_session_and_its_end() {
    let daemon = TestDaemon::start().await;
    let mut events = daemon.owner().events(None).await;
    assert_eq!(events.next().await.unwrap().1, Event::Gap);
    let session = daemon.owner().shell("printf 'last words'; exit 3").await;
    let ended = until_exit(&mut events, &session.id).await;
    assert_eq!(ended.exit.unwrap().code, Some(3));
    assert_eq!(ended.last_line, "last words");
}

#[tokio::test]
async fn a_cut_stream_resumes_without_a_hole() {
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let mut events = device.events(None).await;
    let (seen, _) = events.next().await.unwrap();
    drop(events);
    let mut missed = BTreeSet::new();
    for number in 0..50 {
        missed.insert(daemon.owner().shell(&format!("exit {number}")).await.id);
    }
    let mut events = device.events(Some(seen)).await;
    while !missed.is_empty() {
        match events.next().await.expect("the stream goes on") {
            (_, Event::Session { session }) if session.exit.is_some() => missed.remove(&session.id),
            (_, Event::Gap) => panic!("nothing was missed"),
            _ => false,
        };
    }
}

#[tokio::test]
async fn what_fifty_missed_events_lead_to_is_what_a_fresh_load_shows() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let device = daemon.device(Role::Viewer).await;
    let before = owner.shell("read x").await;
    let mut events = device.events(None).await;
    let (seen, _) = events.next().await.unwrap();
    let mut state = loaded(&device).await;
    drop(events);
    let delete = async |session: &Session| {
        let path = format!("/v1/sessions/{}", session.id);
        assert_eq!(owner.request("DELETE", &path, None::<&()>).await.status, 200);
    };
    delete(&before).await;
    for number in 0..13 {
        let session = owner.shell(&format!("echo {number}; exit {number}")).await;
        let path = format!("/v1/sessions/{}", session.id);
        let name = json!({ "name": format!("renamed-{number}") });
        assert_eq!(owner.request("PATCH", &path, Some(&name)).await.status, 200);
        let note = json!({ "text": format!("note {number}") });
        assert_eq!(owner.post(&format!("{path}/note"), &note).await.status, 200);
        if number % 2 == 0 {
            owner.ended(&session.id).await;
            delete(&session).await;
        }
        if number % 4 == 0 {
            assert_eq!(
                owner.post(&format!("{path}/restore"), &json!({})).await.status,
                200
            );
        }
    }
    let mut events = device.events(Some(seen)).await;
    while state != loaded(&device).await {
        match events.next().await.expect("the stream goes on").1 {
            Event::Session { session } => drop(state.insert(session.id.clone(), session)),
            Event::SessionRemoved { id } => drop(state.remove(&id)),
            Event::DevicePaired { .. } => panic!("nobody came"),
            Event::Gap => panic!("nothing was missed"),
        }
    }
    assert_eq!(state.len(), 6 + 4);
}

/// The sessions as a page that was just loaded has them.
async fn loaded(device: &Device) -> BTreeMap<String, Session> {
    let sessions: Vec<Session> = device.get("/v1/sessions").await.ok();
    sessions
        .into_iter()
        .map(|session| (session.id.clone(), session))
        .collect()
}

#[tokio::test]
async fn a_number_of_another_life_is_answered_with_a_gap() {
    let mut daemon = TestDaemon::start().await;
    let seen = daemon.owner().events(None).await.next().await.unwrap().0;
    daemon.kill_and_restart().await;
    assert_eq!(
        daemon.owner().events(Some(seen)).await.next().await.unwrap().1,
        Event::Gap
    );
    assert_eq!(
        daemon
            .owner()
            .events(Some(u64::MAX >> 12))
            .await
            .next()
            .await
            .unwrap()
            .1,
        Event::Gap
    );
}

/// Reads until the session has ended; what else comes is about others.
async fn until_exit(events: &mut EventReader, id: &str) -> protocol::sessions::Session {
    loop {
        match events.next().await.expect("the stream goes on") {
            (_, Event::Session { session }) if session.id == id && session.exit.is_some() => return session,
            (_, Event::Gap) => panic!("nothing was missed"),
            _ => {}
        }
    }
}
