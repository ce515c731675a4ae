//! What a principal that ends on the way may still do: nothing.

use pairing::{Authenticated, DeviceId, Manage, Permit, Principal, Role, Standing, View};
use protocol::sessions::NewSession;
use server::{
    clock,
    peer::{LocalPeer, Peer},
    store::Store,
};
use terminal::{DescriptorLimit, KeeperOptions, Size};

use super::{SessionError, Sessions, Settings};
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
    let keeper = KeeperLink::with(options, "transom-test".to_owned());
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
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(folder.path());
    let device = operator();
    let permit = device.permit::<Manage>(None).unwrap();
    device.standing().end();
    let refused = create(&sessions, &permit).await;
    assert!(matches!(refused, Err(SessionError::Ended)), "{refused:?}");
    let owner = Authenticated::new(Principal::Owner, Standing::new());
    assert!(
        sessions
            .list(&owner.permit::<View>(None).unwrap(), false)
            .is_empty()
    );
}

#[tokio::test]
async fn who_was_revoked_on_the_way_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(folder.path());
    let device = operator();
    let permit = device.permit::<Manage>(None).unwrap();
    let id = create(&sessions, &permit).await.unwrap();
    device.standing().end();
    let refused = sessions.find(&id).unwrap().stop(&permit, &PEER).await;
    assert!(matches!(refused, Err(SessionError::Ended)), "{refused:?}");
    assert_eq!(sessions.count(), (1, 1));
    sessions.stop_all().await;
    // The keeper ends with its last session.
    sessions.shared.keeper.forget(id.parse().unwrap()).await;
}
