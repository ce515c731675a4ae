//! Every route × every way in, by somebody who shows nothing.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use harness::{Answer, Device, RawRequest, TestDaemon, TlsClient, Tunnel};
use pairing::Role;
use protocol::{
    Bytes64,
    attach::CLOSE_REVOKED,
    pairing::{OfferView, RequestStatus, RequestView},
    sessions::Session,
};
use serde_json::json;
use server::RouteInfo;

use super::{concrete, routes};

#[tokio::test]
async fn no_listener_and_no_tunnel_opens_a_route_without_credentials() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    let tunnel = Tunnel::to(daemon.address()).await;
    let mut device = daemon.device(Role::Operator).await;
    let mut faults = Vec::new();
    for (way, address) in [("TLS", daemon.address()), ("a tunnel", tunnel.address())] {
        device.go_by(address);
        let clients = [TlsClient::new, TlsClient::http2].map(|client| client(address, daemon.pin()));
        for route in routes() {
            let expected = without_credentials(&route);
            for answer in answers(&clients, &device, &route, &session.id).await {
                if answer != expected {
                    let (method, path) = (&route.method, route.path);
                    faults.push(format!(
                        "{method} {path} by {way}: {answer} instead of {expected}"
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert_untouched(&daemon, &session).await;
}

#[tokio::test]
async fn another_users_process_opens_no_route_of_the_unix_socket_not_even_a_public_one() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("sleep 600").await;
    daemon.device(Role::Operator).await;
    // What a careless person, or a shared runtime folder, would leave open.
    for path in [daemon.folder().to_owned(), daemon.socket()] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    for route in routes() {
        let path = concrete(&route, &session.id);
        let plain = RawRequest::new(route.method.as_str(), &path).header("Host", "transom");
        let plain = match route.method == http::Method::POST {
            true => plain.json(&said(route.path)),
            false => plain,
        };
        let asked = match route.is_websocket {
            true => RawRequest::upgrade(&path).header("Host", "transom"),
            false => plain,
        };
        let answer = asked.over_unix_as(&daemon.socket(), NOBODY).await;
        assert_eq!(answer.verdict(), "403 other_user", "{} {path}", route.method);
    }
    for path in ["/", "/pair", "/nothing", "/v1/nothing"] {
        let asked = RawRequest::get(path).header("Host", "transom");
        let answer = asked.over_unix_as(&daemon.socket(), NOBODY).await;
        assert_eq!(answer.verdict(), "403 other_user", "{path}");
    }
    assert_untouched(&daemon, &session).await;
}

/// What a route says to somebody who shows nothing. Public routes are named one by one: a new one has no expectation here.
fn without_credentials(route: &RouteInfo) -> &'static str {
    if route.scope != pairing::Scope::Public {
        return "401 unauthenticated";
    }
    match (route.method.as_str(), route.path) {
        ("GET", "/v1/health" | "/v1/auth/challenge") => "200",
        // There is none before its owner has one made; then it is what devices are told to trust, and no secret.
        ("GET", "/v1/certificates/root") => "404 not_found",
        // What they say makes no request and shows no secret of a link.
        ("POST", "/v1/pairing/requests" | "/v1/guests/exchange") => "400 malformed_request",
        ("GET", "/v1/pairing/requests/{id}")
        | (
            "POST",
            "/v1/auth/proof"
            | "/v1/pairing/requests/{id}/reveal"
            | "/v1/pairing/requests/{id}/exchange"
            | "/v1/pairing/requests/{id}/commit",
        ) => "401 unauthenticated",
        (method, path) => panic!("{method} {path} is open to everybody, and nothing says what it tells them"),
    }
}

/// What each client is told. A WebSocket is upgraded, as browsers show their token behind that, and closed for want of one.
async fn answers(clients: &[TlsClient], device: &Device, route: &RouteInfo, session: &str) -> Vec<String> {
    if route.is_websocket {
        let mut opened = device.attach_with_first_frame(session, "nobody").await;
        assert_eq!(opened.until_closed().await, CLOSE_REVOKED);
        assert!(opened.output().is_empty(), "nothing was shown");
        return vec!["401 unauthenticated".to_owned()];
    }
    let path = concrete(route, session);
    let method = route.method.as_str();
    let body = (method == "POST").then(|| said(route.path));
    let mut verdicts = Vec::new();
    for client in clients {
        let answer: Answer = client.request(method, &path, None, body.as_ref()).await;
        verdicts.push(answer.verdict());
    }
    verdicts
}

/// A body of the right shape where a credential is looked for behind it, and else one that says nothing.
fn said(path: &str) -> serde_json::Value {
    let bytes = |count| Bytes64(vec![4; count]);
    let signature = bytes(64);
    match path.rsplit('/').next() {
        Some("reveal") => json!({ "public_key": bytes(65), "nonce": bytes(32) }),
        Some("exchange") => json!({ "audience": "origin:https://localhost", "signature": signature }),
        Some("proof") => {
            json!({ "challenge": "x", "audience": "origin:https://localhost", "signature": signature })
        }
        _ => json!({ "nothing": true }),
    }
}

/// Nothing that was asked for happened.
async fn assert_untouched(daemon: &TestDaemon, session: &Session) {
    let sessions: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    let seen: Vec<_> = sessions
        .iter()
        .map(|one| (&one.id, &one.exit, &one.name))
        .collect();
    assert_eq!(seen, [(&session.id, &None, &session.name)]);
    assert_eq!(daemon.owner().devices().await.len(), 1);
    let offers: Vec<OfferView> = daemon.owner().get("/v1/pairing/offers").await.ok();
    assert_eq!(offers.len(), 1, "that of the device");
    let requests: Vec<RequestView> = daemon.owner().get("/v1/pairing/requests").await.ok();
    let states: Vec<_> = requests.iter().map(|request| request.state).collect();
    assert_eq!(states, [RequestStatus::Committed]);
    assert_eq!(daemon.owner().get("/v1/guests").await.body, "[]");
}

/// The user that owns nothing (Debian's and Fedora's `nobody`).
const NOBODY: u32 = 65534;
