//! `GET /v1/events`.

use std::collections::BTreeSet;

use harness::{EventReader, TestDaemon};
use pairing::Role;
use protocol::events::Event;

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
