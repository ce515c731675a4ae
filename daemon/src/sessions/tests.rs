//! What a principal that ends on the way may still do: nothing.

mod panics;

use std::task::Poll;

use pairing::{Authenticated, DeviceId, Manage, Permit, Principal, Role, Standing, View};
use protocol::{
    events::Event,
    sessions::{NewSession, SessionState},
};
use server::{
    clock,
    peer::{LocalPeer, Peer},
    store::Store,
};
use tempfile::TempDir;
use terminal::{DescriptorLimit, KeeperOptions, Offset, Size, UnixMs};

use super::{
    Handle, SessionError, Sessions, Settings, publish,
    record::{Kept, Made, Record},
    sight::screen_of,
};
use crate::{events::Events, keeper::KeeperLink};

const PEER: Peer = Peer::Local(LocalPeer { uid: 0, pid: None });

fn sessions(folder: &std::path::Path) -> Sessions {
    let opened = Store::open(&folder.join("transom.db"), &folder.join("keys"), clock::now()).unwrap();
    let settings = Settings {
        max: 4,
        scrollback_memory: 64 << 10,
        scrollback_disk: 4 << 20,
        disk: 64 << 20,
        folder: folder.join("sessions"),
        default_size: Size::default(),
        environment: std::env::vars_os().collect(),
        home: "/".into(),
        socket: folder.join("transom.sock"),
        descriptors: DescriptorLimit::current(),
    };
    let options = KeeperOptions {
        socket: folder.join("keeper.sock"),
        program: std::env::current_exe().unwrap(),
        arguments: ["--exact", "sessions::tests::keeper_process", "--ignored"]
            .map(Into::into)
            .to_vec(),
    };
    let keeper = KeeperLink::with(options, None, "transom-test".to_owned());
    Sessions::new(settings, Events::new(0), opened.store, keeper)
}

/// Not a test: the keeper of the others.
#[test]
#[ignore = "it is the keeper of other tests"]
fn keeper_process() {
    terminal::keep(["transom-test".into(), "--no-cgroups".into()]);
}

fn operator() -> Authenticated {
    let principal = Principal::Device {
        id: DeviceId::from_bytes([1; 8]),
        role: Role::Operator,
        can_revoke: false,
    };
    Authenticated::new(principal, Standing::new())
}

fn owner() -> Authenticated {
    Authenticated::new(Principal::Owner, Standing::new())
}

/// Sessions in a folder of their own, and the permit of who manages them.
fn desk(who: &Authenticated) -> (TempDir, Sessions, Permit<Manage>) {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(folder.path());
    (folder, sessions, who.permit(None).unwrap())
}

/// A session that runs.
async fn begun(sessions: &Sessions, permit: &Permit<Manage>) -> Handle {
    let id = create(sessions, permit).await.unwrap();
    sessions.find(&id).unwrap()
}

async fn create(sessions: &Sessions, permit: &Permit<Manage>) -> Result<String, SessionError> {
    let new = NewSession {
        command: "sleep".to_owned(),
        args: vec!["600".to_owned()],
        ..NewSession::default()
    };
    sessions
        .create(permit, &PEER, new)
        .await
        .map(|session| session.id)
}

#[tokio::test]
async fn who_was_revoked_on_the_way_starts_nothing() {
    let device = operator();
    let (_folder, sessions, permit) = desk(&device);
    device.standing().end();
    let refused = create(&sessions, &permit).await;
    assert!(matches!(refused, Err(SessionError::Ended)), "{refused:?}");
    assert!(
        sessions
            .list(&owner().permit::<View>(None).unwrap(), false)
            .is_empty()
    );
}

/// Waits until the record of an ended session is complete.
async fn until_kept(handle: &Handle) {
    let mut revised = handle.record.revised.subscribe();
    while handle.record.kept().ended.is_none() {
        revised.changed().await.unwrap();
    }
}

#[tokio::test]
async fn a_deletion_whose_time_is_over_is_not_taken_back() {
    let (_folder, sessions, permit) = desk(&owner());
    let handle = begun(&sessions, &permit).await;
    handle.remove(&permit, &PEER, false).await.unwrap();
    until_kept(&handle).await;
    handle
        .record
        .kept()
        .purge_at
        .replace(clock::timestamp(clock::now()));
    let late = handle.restore(&permit, &PEER).await;
    assert!(matches!(late, Err(SessionError::NotFound)), "{late:?}");
    handle.remove(&permit, &PEER, true).await.unwrap();
    let gone = handle.restore(&permit, &PEER).await;
    assert!(matches!(gone, Err(SessionError::NotFound)), "{gone:?}");
}

#[tokio::test]
async fn a_deletion_can_be_taken_back_for_a_day_however_long_ago_the_program_ended() {
    let (_folder, sessions, permit) = desk(&owner());
    let handle = begun(&sessions, &permit).await;
    handle.remove(&permit, &PEER, false).await.unwrap();
    until_kept(&handle).await;
    let long_ago = clock::timestamp(clock::now()) - jiff::SignedDuration::from_hours(8 * 24);
    handle.record.kept().ended.as_mut().unwrap().at = long_ago;
    sessions.tidied().await;
    handle.restore(&permit, &PEER).await.unwrap();
    sessions.tidied().await;
    let found = sessions.find(handle.id());
    assert!(found.is_ok(), "it is not forgotten a moment later");
}

#[tokio::test]
async fn nothing_is_told_of_a_session_after_its_end() {
    let (_folder, sessions, permit) = desk(&owner());
    let handle = begun(&sessions, &permit).await;
    let mut events = sessions.shared.events.after(None);
    assert_eq!(*events.next().await.unwrap().1, Event::Gap);
    handle.remove(&permit, &PEER, true).await.unwrap();
    // As something that still holds the record would announce it.
    publish::spawn(sessions.clone(), &handle.record);
    sessions.shared.events.publish(Event::Gap);
    let mut last = None;
    loop {
        match &*events.next().await.unwrap().1 {
            Event::Gap => break,
            event => last = Some(event.clone()),
        }
    }
    let id = handle.id().to_owned();
    assert_eq!(last, Some(Event::SessionRemoved { id }));
}

/// The record of a session that was made at a time and whose keeper died just now.
fn lost_just_now(folder: &std::path::Path, at: jiff::Timestamp) -> Record {
    let last = terminal::Ended {
        exit: None,
        end: Offset(0),
        size: Size::default(),
        began: UnixMs(0),
    };
    let engine = terminal::Session::stored(folder.to_owned(), last).unwrap();
    let made = Made {
        command: "sleep".to_owned(),
        args: Vec::new(),
        cwd: "/".to_owned(),
        at,
        parent: None,
        trusted: false,
        size: None,
    };
    let resource = "ses_1".parse().unwrap();
    Record::new(resource, made, Kept::default(), Some(engine), folder.to_owned())
}

#[tokio::test]
async fn a_session_that_is_lost_after_eight_days_ended_when_it_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let now = clock::timestamp(clock::now());
    let record = lost_just_now(folder.path(), now - jiff::SignedDuration::from_hours(8 * 24));
    let shown = record.show();
    assert_eq!(shown.state, SessionState::Lost);
    assert!(shown.ended_at >= Some(now), "{:?}", shown.ended_at);
}

#[tokio::test]
async fn who_is_revoked_while_a_program_is_stopped_deletes_nothing() {
    let device = operator();
    let (_folder, sessions, permit) = desk(&device);
    let handle = begun(&sessions, &permit).await;
    let turn = handle.record.saving.clone().lock_owned().await;
    let mut removing = Box::pin(handle.remove(&permit, &PEER, true));
    let mut state = handle.record.live().unwrap().state();
    tokio::select! {
        removed = &mut removing => panic!("{removed:?}"),
        ended = state.wait_for(|state| !state.is_running()) => drop(ended.unwrap()),
    }
    device.standing().end();
    assert!(device.standing().is_quiet());
    drop(turn);
    let refused = removing.await;
    assert!(matches!(refused, Err(SessionError::Ended)), "{refused:?}");
    assert_eq!(sessions.count(), (0, 1));
    sessions.stop_all().await;
}

#[tokio::test]
async fn who_was_revoked_on_the_way_stops_nothing() {
    let device = operator();
    let (_folder, sessions, permit) = desk(&device);
    let id = create(&sessions, &permit).await.unwrap();
    device.standing().end();
    let refused = sessions.find(&id).unwrap().stop(&permit, &PEER).await;
    assert!(matches!(refused, Err(SessionError::Ended)), "{refused:?}");
    assert_eq!(sessions.count(), (1, 1));
    sessions.stop_all().await;
    // The keeper ends with its last session.
    sessions.shared.keeper.forget(id.parse().unwrap()).await;
}

#[tokio::test]
async fn a_session_that_is_being_written_down_takes_one_place() {
    let (_folder, sessions, permit) = desk(&owner());
    for _ in 0..2 {
        create(&sessions, &permit).await.unwrap();
    }
    let mut third = std::pin::pin!(create(&sessions, &permit));
    // Not polled again once it is listed: its file is not written yet.
    std::future::poll_fn(|context| {
        let _ = third.as_mut().poll(context);
        match sessions.count() {
            (3, 3) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
    let fourth = create(&sessions, &permit).await;
    assert!(fourth.is_ok(), "{fourth:?}");
    let fifth = create(&sessions, &permit).await;
    assert!(matches!(fifth, Err(SessionError::TooMany(4))), "{fifth:?}");
    sessions.stop_all().await;
}

#[tokio::test]
async fn a_program_that_ended_since_its_output_was_read_still_ran_then() {
    let (_folder, sessions, permit) = desk(&owner());
    let handle = begun(&sessions, &permit).await;
    let engine = handle.record.live().unwrap();
    let state = *engine.state().borrow();
    let output = engine.output(Offset(0), 10).await.unwrap();
    engine.stop().await;
    until_kept(&handle).await;
    let piece = handle.piece(output.clone(), false, state);
    assert!(piece.running && piece.exit.is_none(), "{piece:?}");
    let state = *engine.state().borrow();
    let piece = handle.piece(output, false, state);
    assert!(!piece.running && piece.exit.is_some(), "{piece:?}");
    sessions.stop_all().await;
}

#[tokio::test]
async fn what_a_guest_is_shown_ends_where_the_output_ended_when_it_asked() {
    let (_folder, sessions, permit) = desk(&owner());
    let new = NewSession {
        command: "seq".to_owned(),
        args: vec!["1".to_owned(), "100000".to_owned()],
        ..NewSession::default()
    };
    let id = sessions.create(&permit, &PEER, new).await.unwrap().id;
    let handle = sessions.find(&id).unwrap();
    until_kept(&handle).await;
    let engine = handle.record.live().unwrap();
    // Behind `54`, as the terminal makes two bytes of the end of each line.
    let until = Offset(9 * 3 + 45 * 4);
    let screen = screen_of(engine, Offset(0), until).await.unwrap();
    let lines = screen.text_lines();
    let last = lines.iter().rfind(|line| !line.is_empty());
    assert_eq!(last.map(String::as_str), Some("54"));
    assert!(engine.end() > until);
    sessions.stop_all().await;
}
