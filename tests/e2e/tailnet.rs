//! The tailnet: who comes in over it, and that it follows what tailscaled says. The node's address is one of loopback's many.

mod certificate;
mod embedded;
mod follow;
mod names;
mod reload;

use std::{net::SocketAddr, sync::Arc};

use harness::{
    Attached, Device, Pairing, RawRequest, Tailscaled, TestDaemon, TlsClient, Tunnel, until, within,
};
use pairing::Role;
use protocol::{access::Status, attach::Mode, condition::TailnetProblemKind};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

/// The daemon's own address in the tailnet.
pub(crate) const NODE: &str = "127.0.0.2";
/// A phone of alice's, whom the daemon's node belongs to.
pub(crate) const PHONE: &str = "127.0.0.3";
/// Her laptop.
pub(crate) const LAPTOP: &str = "127.0.0.4";
/// Bob's.
pub(crate) const BOB: &str = "127.0.0.5";
/// Nobody's.
const STRANGER: &str = "127.0.0.9";

/// A tailnet of alice's with these nodes in it.
pub(crate) fn tailnet() -> Tailscaled {
    let tailscaled = Tailscaled::start(&[NODE]);
    tailscaled.user_at(PHONE, "nPhone", 42, "alice@example.com");
    tailscaled.user_at(LAPTOP, "nLaptop", 42, "alice@example.com");
    tailscaled.user_at(BOB, "nBob", 43, "bob@example.com");
    tailscaled
}

async fn status(daemon: &TestDaemon) -> Status {
    daemon.owner().get("/v1/status").await.ok()
}

/// Whether the status says that this keeps devices away.
async fn says(daemon: &TestDaemon, kind: TailnetProblemKind) -> bool {
    let problems = status(daemon).await.tailnet.unwrap().problems;
    problems.iter().any(|problem| problem.kind == kind)
}

/// Where the daemon listens at an address of the tailnet, once it does.
pub(crate) async fn listener_at(daemon: &TestDaemon, address: &str) -> SocketAddr {
    let look = || async {
        let tailnet = status(daemon).await.tailnet.unwrap();
        let open = tailnet
            .listeners
            .iter()
            .map(|at| at.parse::<SocketAddr>().unwrap());
        open.into_iter().find(|at| at.ip().to_string() == address)
    };
    until("the listener of the tailnet", look).await
}

/// A stream from one of its nodes, which has said nothing.
async fn stream(source: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(source.parse().unwrap(), 0)).unwrap();
    socket.connect(to).await.unwrap()
}

/// Waits until who comes from there is closed. It asks for a handshake: whoever is heard is answered.
async fn shut_out(source: &str, to: SocketAddr) {
    let mut stream = stream(source, to).await;
    // Where it is closed already, nothing can be said to it either.
    stream.write_all(&client_hello()).await.ok();
    let mut piece = [0; 16];
    let read = within("the peer to be closed", stream.read(&mut piece)).await;
    assert!(
        matches!(read, Ok(0) | Err(_)),
        "{source} is told nothing: {read:?}"
    );
}

/// How a TLS client begins.
fn client_hello() -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut hello = Vec::new();
    ClientConnection::new(Arc::new(config), name)
        .unwrap()
        .write_tls(&mut hello)
        .unwrap();
    hello
}

/// A device that is paired from one of the nodes, and stays there.
pub(crate) async fn paired(daemon: &TestDaemon, tunnel: &Tunnel) -> Device {
    let pairing = Pairing::with_offer(daemon, Role::Operator).await.through(tunnel);
    pairing.finish(daemon).await
}

/// A phone that is paired, and attached to a session.
struct AttachedPhone {
    /// Where it comes in.
    at: SocketAddr,
    tunnel: Tunnel,
    device: Device,
    attached: Attached,
}

/// Has the phone come to a daemon in the tailnet.
async fn attached_phone(daemon: &TestDaemon, mode: Mode) -> AttachedPhone {
    let at = listener_at(daemon, NODE).await;
    let tunnel = Tunnel::from(PHONE, at).await;
    let device = paired(daemon, &tunnel).await;
    let session = daemon.owner().shell("cat").await;
    let attached = device.attach(&session.id, mode, "0").await;
    AttachedPhone {
        at,
        tunnel,
        device,
        attached,
    }
}

#[tokio::test]
async fn a_phone_pairs_over_the_tailnet_and_is_bound_to_its_node() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    let made = daemon.owner().offer(Role::Viewer, false).await;
    let link = format!("https://{}:{}/pair#", tailscaled.name(), at.port());
    assert!(made.url.expose().starts_with(&link), "{}", made.url.expose());
    let phone = Tunnel::from(PHONE, at).await;
    let device = paired(&daemon, &phone).await;
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    let listed = daemon.owner().devices().await;
    assert_eq!(listed[0].tailnet_node.as_deref(), Some("nPhone"));
    let host = format!("{}:{}", tailscaled.name(), at.port());
    let by_name = RawRequest::get("/v1/health").header("Host", &host);
    assert_eq!(
        by_name.over_tls(phone.address(), daemon.pin()).await.verdict(),
        "200"
    );
    // What it holds is worth nothing elsewhere: neither from another node of hers, nor where nobody can say.
    let access = device.access().await;
    let laptop = Tunnel::from(LAPTOP, at).await;
    for elsewhere in [laptop.address(), daemon.address()] {
        let thief = TlsClient::new(elsewhere, daemon.pin());
        let refused = thief.get("/v1/whoami", Some(&access)).await;
        assert!([401, 403].contains(&refused.status), "{refused:?}");
    }
}

#[tokio::test]
async fn whom_nobody_listed_and_whom_the_tailnet_does_not_know_are_closed_unheard() {
    let tailscaled = tailnet();
    tailscaled.tagged_at("127.0.0.6", "nCi", "tag:ci");
    let daemon = tailscaled.daemon(r#"["self", "tag:phone"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    for source in [BOB, STRANGER, "127.0.0.6", "127.0.0.1"] {
        shut_out(source, at).await;
    }
    let local = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(local.get("/v1/health", None).await.verdict(), "200");
}

#[tokio::test]
async fn logins_and_tags_come_by_the_list() {
    let tailscaled = tailnet();
    tailscaled.tagged_at("127.0.0.6", "nKiosk", "tag:kiosk");
    let daemon = tailscaled.daemon(r#"["bob@example.com", "tag:kiosk"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    for source in [BOB, "127.0.0.6"] {
        let node = Tunnel::from(source, at).await;
        let device = paired(&daemon, &node).await;
        assert_eq!(device.get("/v1/whoami").await.verdict(), "200", "{source}");
    }
    // Not even who owns the node.
    shut_out(PHONE, at).await;
}

#[tokio::test]
async fn on_a_tagged_machine_self_is_nobody_and_the_start_says_so() {
    let tailscaled = tailnet();
    tailscaled.tag("tag:box");
    tailscaled.user_at(STRANGER, "nOdd", 9_000, "tagged-devices");
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let warnings = daemon.ready().warnings.join(" ");
    assert!(
        warnings.contains("tag:box") && warnings.contains("means nobody"),
        "{warnings}"
    );
    let at = listener_at(&daemon, NODE).await;
    for source in [PHONE, STRANGER] {
        shut_out(source, at).await;
    }
}

#[tokio::test]
async fn a_connection_costs_one_question_at_most_and_a_request_none() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    let before = tailscaled.asked("whois");
    let client = TlsClient::http2(phone.address(), daemon.pin());
    for _ in 0..50 {
        assert_eq!(client.get("/v1/health", None).await.verdict(), "200");
    }
    assert_eq!(tailscaled.asked("whois") - before, 1);
    for _ in 0..5 {
        let another = TlsClient::new(phone.address(), daemon.pin());
        assert_eq!(another.get("/v1/health", None).await.verdict(), "200");
    }
    assert!(tailscaled.asked("whois") - before <= 6);
}

#[tokio::test]
async fn headers_that_name_a_user_change_nothing_and_ask_nobody() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let before = tailscaled.asked("whois");
    for (name, value) in [
        ("Tailscale-User-Login", "alice@example.com"),
        ("Tailscale-User-Name", "Alice"),
        ("X-Forwarded-For", PHONE),
        ("Forwarded", "for=127.0.0.3"),
    ] {
        let request = RawRequest::get("/v1/whoami").header("Host", "localhost");
        let request = request.header(name, value);
        let answer = request.over_tls(daemon.address(), daemon.pin()).await;
        assert_eq!(answer.verdict(), "401 unauthenticated", "{name}");
    }
    assert_eq!(tailscaled.asked("whois"), before);
}

#[tokio::test]
async fn this_machine_itself_is_as_over_loopback_and_nobody_is_asked() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    let own = Tunnel::from(NODE, at).await;
    let before = tailscaled.asked("whois");
    let device = paired(&daemon, &own).await;
    assert_eq!(device.get("/v1/whoami").await.verdict(), "200");
    assert_eq!(tailscaled.asked("whois"), before);
    assert_eq!(daemon.owner().devices().await[0].tailnet_node, None);
}

#[tokio::test]
async fn status_shows_the_tailnet_and_what_is_wrong_with_it() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    listener_at(&daemon, NODE).await;
    let said = daemon.cli(&["status"]).await;
    let line = format!("running, {}, {NODE}, of alice@example.com", tailscaled.name());
    assert!(said.stdout.contains(&line), "{}", said.stdout);
    tailscaled.is_now("NeedsLogin");
    let seen = || async {
        daemon
            .cli(&["status"])
            .await
            .stdout
            .contains("not signed in")
            .then_some(())
    };
    until("the status to say so", seen).await;
    let said = daemon.cli(&["status"]).await;
    assert!(said.stdout.contains("sudo tailscale up"), "{}", said.stdout);
    let status = status(&daemon).await;
    assert_eq!(status.tailnet.unwrap().listeners, [""; 0]);
}
