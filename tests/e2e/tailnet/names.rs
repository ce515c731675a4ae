//! Each of the daemon's names, for all that a browser asks for.

use std::net::SocketAddr;

use harness::{Device, RawRequest, TestDaemon, Tunnel, accepts, shown, until};
use pairing::Role;

use super::{NODE, PHONE, listener_at, paired, tailnet};

/// An address of this machine's that is neither the tailnet's nor plain loopback, as one of its network would be.
const NEAR: &str = "127.0.0.8";

#[tokio::test]
async fn each_of_the_daemons_names_is_in_its_certificate_and_opens_pages_requests_and_sockets() {
    let tailscaled = tailnet();
    let mut options = tailscaled.options(r#"["self"]"#);
    options.config.push_str("[listen]\nnames = [\"desk.example\"]\n");
    options
        .arguments
        .extend(["--tls".to_owned(), format!("{NEAR}:0")]);
    let daemon = TestDaemon::start_with(options).await;
    let session = daemon.owner().shell("echo seen; cat").await.id;
    let instance = format!("{}.localhost", daemon.ready().instance);
    let anywhere = ["localhost", "127.0.0.1", "::1", &instance, "desk.example"];

    let at = listener_at(&daemon, NODE).await;
    let tunnel = Tunnel::from(PHONE, at).await;
    let phone = paired(&daemon, &tunnel).await;
    for name in [&anywhere[..], &[NODE, tailscaled.name()]].concat() {
        let to = (tunnel.address(), name, at.port());
        opens(&daemon, &phone, to, &session).await;
    }
    let mut laptop = daemon.device(Role::Viewer).await;
    let near = daemon.ready().tls.iter().map(|endpoint| endpoint.address.parse());
    let near: Vec<SocketAddr> = near.map(Result::unwrap).collect();
    let near = near.iter().find(|at| at.ip().to_string() == NEAR).unwrap();
    laptop.go_by(*near);
    for name in [&anywhere[..], &[NEAR, tailscaled.name()]].concat() {
        let to = (*near, name, near.port());
        opens(&daemon, &laptop, to, &session).await;
    }
}

/// Comes to this address by a name, and the listener's port, as a browser does that trusts what it is shown there.
async fn opens(
    daemon: &TestDaemon,
    device: &Device,
    (by, name, port): (SocketAddr, &str, u16),
    session: &str,
) {
    until(name, async || {
        let leaf = shown(by, name).await;
        accepts(by, name, &leaf).await.ok()
    })
    .await;
    let host = match name.contains(':') {
        true => format!("[{name}]:{port}"),
        false => format!("{name}:{port}"),
    };
    let origin = format!("https://{host}");
    let page = RawRequest::get("/").header("Host", &host);
    let page = page.over_tls(by, daemon.pin()).await;
    // Without the app the page says so.
    assert!([200, 503].contains(&page.status), "{host}: {page:?}");
    let request = RawRequest::get("/v1/whoami").header("Host", &host);
    let request = request.header("Origin", &origin).bearer(&device.access().await);
    assert_eq!(
        request.over_tls(by, daemon.pin()).await.verdict(),
        "200",
        "{host}"
    );
    let mut socket = device.look_from_page(&host, &origin, session).await.unwrap();
    socket.until("seen").await;
}
