use std::net::SocketAddr;

use http::Method;
use pairing::Role;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::DoorChange;
use crate::{access::ServerConfig, listen::Listener, lockdown::Order, testing::TestServer};

async fn another(server: &TestServer) -> (Listener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let config = std::sync::Arc::clone(&server.config);
    (Listener::Tls { listener, config }, at)
}

#[tokio::test]
async fn what_a_closed_listener_accepted_is_closed_and_a_new_one_serves_by_then() {
    let mut server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let mut before = server.http2().await;
    assert_eq!(before.get("/v1/whoami", Some(&device)).await.status, 200);
    let mut owner = server.owner().await;
    assert_eq!(owner.get("/v1/health", None).await.status, 200);
    let (listener, at) = another(&server).await;
    let (former, access) = (server.tls, server.access.clone());
    let change = DoorChange {
        open: vec![listener],
        close: vec![former],
        ..DoorChange::default()
    };
    let closed = access.hold_doors().await.change(change, None).await;
    assert_eq!(closed, 1);
    assert_eq!(server.access.connections().count_of(device.id), 0);
    assert!(TcpStream::connect(former).await.is_err());
    server.tls = at;
    assert_eq!(
        server.http2().await.get("/v1/whoami", Some(&device)).await.status,
        200
    );
    assert_eq!(
        owner.get("/v1/health", None).await.status,
        200,
        "the owner's goes on"
    );
}

#[tokio::test]
async fn a_new_generation_at_the_same_socket_cuts_nobody_and_asks_for_another_proof() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let challenge = |answer: crate::testing::Answer| answer.json()["challenge"].as_str().unwrap().to_owned();
    let mut before = server.http2().await;
    let first = challenge(before.get("/v1/devices", None).await);
    let change = DoorChange {
        renew: vec![server.tls],
        ..DoorChange::default()
    };
    assert_eq!(server.access.hold_doors().await.change(change, None).await, 0);
    assert_eq!(before.get("/v1/whoami", Some(&device)).await.status, 200);
    let mut after = server.http2().await;
    let second = challenge(after.get("/v1/devices", None).await);
    let generation = |challenge: &str, number| {
        let proofs = server.access.proofs();
        let opened = proofs.open(challenge, pairing::Generation(number), crate::clock::latest());
        opened.is_ok()
    };
    let numbers = |challenge: &str| {
        (1..5)
            .filter(|number| generation(challenge, *number))
            .collect::<Vec<_>>()
    };
    assert_ne!(numbers(&first), numbers(&second));
    assert_eq!((numbers(&first).len(), numbers(&second).len()), (1, 1));
}

#[tokio::test]
async fn while_it_is_locked_down_nothing_is_opened() {
    let server = TestServer::start().await;
    let mut owner = server.owner().await;
    owner.ask(Method::POST, "/v1/lockdown", None).await;
    let (listener, at) = another(&server).await;
    let change = DoorChange {
        open: vec![listener],
        ..DoorChange::default()
    };
    let doors = server.access.hold_doors().await;
    assert!(!doors.are_open());
    doors.change(change, None).await;
    assert!(TcpStream::connect(at).await.is_err());
}

#[tokio::test]
async fn a_lock_down_waits_for_no_change_and_nothing_opens_after_it() {
    let server = TestServer::start().await;
    let (before, first) = another(&server).await;
    let (after, second) = another(&server).await;
    let open = |listener| DoorChange {
        open: vec![listener],
        ..DoorChange::default()
    };
    let doors = server.access.hold_doors().await;
    doors.change(open(before), None).await;
    assert!(TcpStream::connect(first).await.is_ok());
    let locked = server.owner().await.ask(Method::POST, "/v1/lockdown", None).await;
    assert_eq!(locked.status, 200, "whoever holds the doors may be stuck");
    doors.change(open(after), None).await;
    for at in [first, second, server.tls] {
        assert!(TcpStream::connect(at).await.is_err(), "{at}");
    }
    drop(doors);
    assert_eq!(
        server.owner().await.delete("/v1/lockdown", None).await.status,
        200
    );
}

#[tokio::test]
async fn what_is_ordered_after_a_lock_down_is_dropped_by_whoever_looked_before_it() {
    let server = TestServer::start().await;
    let (listener, at) = another(&server).await;
    let doors = server.access.hold_doors().await;
    assert!(doors.are_open());
    let locked = server.owner().await.ask(Method::POST, "/v1/lockdown", None).await;
    assert_eq!(locked.status, 200);
    // As by one that found it open a moment ago.
    let change = DoorChange {
        open: vec![listener],
        ..DoorChange::default()
    };
    let (done, ended) = oneshot::channel();
    let order = Order::Change(change, done);
    server.access.lockdown.order_unless_locked(order);
    assert!(ended.await.is_err(), "nobody was told to do it");
    assert!(TcpStream::connect(at).await.is_err());
}

#[tokio::test]
async fn a_change_and_a_lock_down_at_once_leave_nothing_open() {
    for _ in 0..20 {
        let server = TestServer::start().await;
        let (listener, at) = another(&server).await;
        let change = DoorChange {
            open: vec![listener],
            ..DoorChange::default()
        };
        let doors = server.access.hold_doors().await;
        let mut owner = server.owner().await;
        let locking = owner.ask(Method::POST, "/v1/lockdown", None);
        let (_, locked) = tokio::join!(doors.change(change, None), locking);
        assert_eq!(locked.status, 200);
        assert!(TcpStream::connect(at).await.is_err() && TcpStream::connect(server.tls).await.is_err());
    }
}

#[tokio::test]
async fn other_names_and_limits_act_on_what_comes_next() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let mut client = server.http1().await;
    client.authority = format!("desk.example:{}", server.tls.port());
    assert_eq!(client.get("/v1/health", None).await.problem().1, "wrong_host");
    let mut config = ServerConfig::new("session", "1.0");
    config.names = vec!["desk.example".to_owned()];
    config.limits.per_principal = 1;
    server.access.set_tailnet_name(Some("Box.tail1234.ts.net."));
    server.access.reconfigure(&config);
    assert_eq!(client.get("/v1/whoami", Some(&device)).await.status, 200);
    client.authority = format!("box.tail1234.ts.net:{}", server.tls.port());
    assert_eq!(client.get("/v1/health", None).await.status, 200);
    server.access.set_tailnet_name(None);
    assert_eq!(client.get("/v1/health", None).await.problem().1, "wrong_host");
    client.authority = format!("desk.example:{}", server.tls.port());
    let mut second = server.http1().await;
    let refused = second.get("/v1/whoami", Some(&device)).await.problem();
    assert_eq!(refused.1, "too_many_connections");
    assert_eq!(client.get("/v1/whoami", Some(&device)).await.status, 200);
}

#[tokio::test]
async fn exactly_the_peers_that_are_meant_are_closed() {
    let server = TestServer::start().await;
    let (mut one, mut other) = (server.http2().await, server.http2().await);
    one.get("/v1/health", None).await;
    other.get("/v1/health", None).await;
    let seen = std::sync::Mutex::new(None);
    let closed = server.access.close_peers(|peer| {
        let mut seen = seen.lock().unwrap();
        *seen.get_or_insert(peer.address) == peer.address
    });
    assert_eq!(closed.await, 1);
    assert_eq!(server.access.connections().count(), 1);
}
