//! The pool of those who have not authenticated: the oldest goes, the newest comes in.

use harness::{
    DaemonOptions, RawHttp2, RawRequest, TestDaemon, TlsClient, open_files, raise_descriptors, until,
};
use pairing::Role;
use protocol::attach::Mode;
use tokio::net::TcpStream;

#[tokio::test]
async fn two_thousand_silent_peers_at_once_stop_no_device_and_no_newcomer_and_only_the_pool_is_kept() {
    raise_descriptors();
    let daemon = TestDaemon::start().await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("echo ready; read x; echo on; read x").await;
    let mut attached = device.attach(&session.id, Mode::View, "0").await;
    attached.until("ready").await;
    let access = device.access().await;
    let mut crowd = Vec::new();
    for _ in 0..4 {
        for _ in 0..500 {
            crowd.push(TcpStream::connect(daemon.address()).await.unwrap());
        }
        let newcomer = TlsClient::new(daemon.address(), daemon.pin());
        assert_eq!(newcomer.get("/v1/health", None).await.verdict(), "200");
        assert_eq!(newcomer.get("/v1/whoami", Some(&access)).await.verdict(), "200");
    }
    until("only the pool to be left", || async {
        let sockets = open_files(daemon.pid());
        let sockets = sockets.iter().filter(|file| file.starts_with("socket:")).count();
        // Listeners, the keeper, the owner's and the device's connections are few.
        (sockets < 256 + 32).then_some(())
    })
    .await;
    let (owner, path) = (daemon.owner(), format!("/v1/sessions/{}/input", session.id));
    owner
        .post(&path, &serde_json::json!({ "text": "", "enter": true }))
        .await;
    attached.until("on").await;
    // One of them comes in, among all of them.
    daemon.device(Role::Viewer).await;
}

#[tokio::test]
async fn streams_go_in_the_order_in_which_they_came_and_one_that_authenticated_stays() {
    let daemon = start("[limits]\nunauthenticated = 3\n").await;
    let device = daemon.device(Role::Viewer).await;
    let access = device.access().await;
    let open = async || RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    let mut known = open().await;
    assert!(
        ask(&daemon, &mut known, 1, Some(&access))
            .await
            .contains("\"device\"")
    );
    // To have asked for something makes nobody known.
    let mut oldest = open().await;
    assert!(
        ask(&daemon, &mut oldest, 1, None)
            .await
            .contains("unauthenticated")
    );
    let (mut second, mut third) = (open().await, open().await);
    for stream in [&mut oldest, &mut second, &mut third] {
        stream.settled().await;
    }
    let mut fourth = open().await;
    while oldest.next().await.is_some() {}
    for stream in [&mut second, &mut third, &mut fourth, &mut known] {
        stream.settled().await;
    }
    let mut fifth = open().await;
    while second.next().await.is_some() {}
    for stream in [&mut third, &mut fourth, &mut fifth, &mut known] {
        stream.settled().await;
    }
    // One of them makes itself known, and gives its place in the pool to another.
    assert!(
        ask(&daemon, &mut third, 1, Some(&access))
            .await
            .contains("\"device\"")
    );
    let mut sixth = open().await;
    for stream in [&mut third, &mut fourth, &mut fifth, &mut sixth, &mut known] {
        stream.settled().await;
    }
}

#[tokio::test]
async fn a_websocket_without_its_token_and_a_body_that_does_not_come_are_streams_of_the_pool() {
    let daemon = start("[limits]\nunauthenticated = 2\n").await;
    let device = daemon.device(Role::Viewer).await;
    let session = daemon.owner().shell("echo ready; read x").await;
    device.access().await;
    let mut silent = device.attach_silently(&session.id).await;
    let mut slow = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    slow.request(1, &head(&daemon, "POST", "/v1/pairing/requests"), false)
        .await;
    slow.settled().await;
    let mut newest = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    assert_eq!(silent.until_closed().await, 1006, "it was there first");
    slow.settled().await;
    let mut another = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    while slow.next().await.is_some() {}
    for stream in [&mut newest, &mut another] {
        stream.settled().await;
    }
    let health = RawRequest::get("/v1/health").header("Host", "localhost");
    assert_eq!(health.over_tls(daemon.address(), daemon.pin()).await.status, 200);
}

pub(super) async fn start(config: &str) -> TestDaemon {
    let config = config.to_owned();
    TestDaemon::start_with(DaemonOptions {
        config,
        ..DaemonOptions::default()
    })
    .await
}

/// The body of what the daemon says to who asks who it is.
pub(super) async fn ask(
    daemon: &TestDaemon,
    raw: &mut RawHttp2,
    stream: u32,
    access: Option<&str>,
) -> String {
    let bearer = access.map(|access| format!("Bearer {access}"));
    let mut fields = head(daemon, "GET", "/v1/whoami");
    fields.extend(
        bearer
            .as_deref()
            .map(|bearer| ("authorization".to_owned(), bearer.to_owned())),
    );
    raw.request(stream, &fields, true).await;
    raw.body(stream).await.expect("it is answered")
}

fn head(daemon: &TestDaemon, method: &str, path: &str) -> Vec<(String, String)> {
    let authority = daemon.address().to_string();
    [
        (":method", method),
        (":scheme", "https"),
        (":path", path),
        (":authority", &authority),
        ("content-type", "application/json"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}
