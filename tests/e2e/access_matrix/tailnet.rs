//! Every route from a tailnet: by a device on another node than its own, and by whom an invitation alone lets in.

use harness::{Answer, DeviceKey, Invitation, TestDaemon, TlsClient, Tunnel};
use pairing::{DeviceId, Role, Scope};
use protocol::{attach::CLOSE_NOT_PERMITTED, guests::NewInvitation};
use rusqlite::{Connection, params};
use serde_json::json;
use server::RouteInfo;

use super::{PRINCIPALS, admits, concrete, expectation, routes};
use crate::{
    devices::add,
    tailnet::{BOB, LAPTOP, NODE, PHONE, listener_at, paired, tailnet},
};

/// One request that asks for nothing.
async fn ask(client: &TlsClient, route: &RouteInfo, token: Option<&str>, session: &str) -> Answer {
    let body = (route.method == http::Method::POST).then(|| json!({ "nothing": true }));
    let path = concrete(route, session);
    client
        .request(route.method.as_str(), &path, token, body.as_ref())
        .await
}

/// Whether the table admits somebody.
fn expected(route: &RouteInfo, principal: &str) -> bool {
    let place = PRINCIPALS.iter().position(|name| *name == principal);
    expectation(route)[place.expect("the table has a column of that name")]
}

/// Has a device without a key bound to the node of another.
fn bind_like(daemon: &TestDaemon, device: DeviceId, other: DeviceId) {
    let store = Connection::open(daemon.folder().join("transom.db")).unwrap();
    let bound = store.execute(
        "UPDATE devices SET (tailnet_user_id, tailnet_user, tailnet_node_id, tailnet_node) =
            (SELECT tailnet_user_id, tailnet_user, tailnet_node_id, tailnet_node FROM devices WHERE id = ?2)
         WHERE id = ?1",
        params![device.to_string(), other.to_string()],
    );
    assert_eq!(bound, Ok(1));
}

#[tokio::test]
async fn every_route_admits_a_bound_device_from_its_own_node_alone() {
    let tailscaled = tailnet();
    let allow = r#"["self"]"#;
    let mut daemon = tailscaled.daemon(allow).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    let (there, script) = (paired(&daemon, &phone).await, add(&daemon, Role::Operator).await);
    daemon.kill().await;
    bind_like(&daemon, script.device_id, there.id());
    daemon.start_again_with(&tailscaled.options(allow)).await;
    let at = listener_at(&daemon, NODE).await;
    let session = daemon.owner().shell("sleep 600").await.id;
    let token = script.token.expose();
    let (phone, laptop) = (Tunnel::from(PHONE, at).await, Tunnel::from(LAPTOP, at).await);
    let [own, other] = [&phone, &laptop].map(|node| TlsClient::new(node.address(), daemon.pin()));
    let mut faults = Vec::new();
    for route in routes() {
        let refused = ask(&other, &route, Some(token), &session).await;
        let is_refused = refused.verdict() == "403 wrong_node";
        if is_refused == (route.scope == Scope::Public) {
            faults.push(format!(
                "{} {} elsewhere: {}",
                route.method,
                route.path,
                refused.verdict()
            ));
        }
        let answer = ask(&own, &route, Some(token), &session).await;
        if admits(&answer, route.scope) != expected(&route, "operator") {
            faults.push(format!("{} {}: {}", route.method, route.path, answer.verdict()));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn a_stream_of_a_bound_device_on_another_node_is_refused_however_it_shows_its_token() {
    let tailscaled = tailnet();
    let allow = r#"["self"]"#;
    let mut daemon = tailscaled.daemon(allow).await;
    let phone = Tunnel::from(PHONE, listener_at(&daemon, NODE).await).await;
    let (there, script) = (paired(&daemon, &phone).await, add(&daemon, Role::Operator).await);
    daemon.kill().await;
    bind_like(&daemon, script.device_id, there.id());
    daemon.start_again_with(&tailscaled.options(allow)).await;
    let session = daemon.owner().shell("sleep 600").await.id;
    let laptop = Tunnel::from(LAPTOP, listener_at(&daemon, NODE).await).await;
    let other = TlsClient::new(laptop.address(), daemon.pin());
    let token = script.token.expose();
    let refused = other.look(Some(token), None, &session).await.err();
    assert_eq!(refused.expect("it is refused").verdict(), "403 wrong_node");
    let mut opened = other.look(None, Some(token), &session).await.unwrap();
    let closed = opened.until_closed_for().await;
    assert_eq!(closed, (CLOSE_NOT_PERMITTED, "wrong_node".to_owned()));
    assert!(opened.output().is_empty(), "nothing was shown");
}

#[tokio::test]
async fn every_route_admits_whom_an_invitation_alone_lets_in_as_a_guest_and_as_nothing_else() {
    let tailscaled = tailnet();
    let daemon = tailscaled.daemon(r#"["self"]"#).await;
    let at = listener_at(&daemon, NODE).await;
    let session = daemon.owner().shell("sleep 600").await.id;
    let wish = NewInvitation {
        sessions: vec![session.clone()],
        expires_in: 3600,
        count: None,
        with_scrollback: false,
        login: Some("bob@example.com".to_owned()),
    };
    let invitation = Invitation::by(&daemon.owner(), &wish).await.remove(0);
    let lane = Tunnel::from(BOB, at).await;
    let guest = invitation.open_at(lane.address(), DeviceKey::generate()).await;
    let guest = guest.unwrap_or_else(|refused| panic!("{refused:?}"));
    let script = add(&daemon, Role::Operator).await;
    let mut all = routes();
    // With the guest the lane closes.
    all.sort_by_key(|route| route.path == "/v1/guests/self" && route.method == http::Method::DELETE);
    let mut faults = Vec::new();
    for route in all {
        let is_open = route.scope == Scope::Public;
        let what = format!("{} {}", route.method, route.path);
        // Each on a connection of its own, as it belongs to the first who shows who it is.
        let client = || TlsClient::new(lane.address(), daemon.pin());
        let device = ask(&client(), &route, Some(script.token.expose()), &session).await;
        let nobody = match route.is_websocket {
            // It is upgraded first, to be shown a token.
            true => None,
            false => Some(ask(&client(), &route, None, &session).await),
        };
        let said = nobody.as_ref().map(Answer::verdict);
        let closed_to_all = is_open && !OPEN_TO_GUESTS.contains(&route.path);
        let wanted = match is_open {
            true if closed_to_all => Some("403 guests_only"),
            true => None,
            false => Some("401 unauthenticated"),
        };
        if let (Some(said), Some(wanted)) = (&said, wanted)
            && said != wanted
        {
            faults.push(format!("{what} as nobody: {said}"));
        }
        if (device.verdict() == "403 guests_only") != (!is_open || closed_to_all) {
            faults.push(format!("{what} as a device: {}", device.verdict()));
        }
        let access = guest.access().await;
        let answer = ask(&client(), &route, Some(&access), &session).await;
        let is_admitted = expected(&route, "guest") && !closed_to_all;
        if admits(&answer, route.scope) != is_admitted {
            faults.push(format!("{what} as a guest: {}", answer.verdict()));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// What a guest needs to become one, and to prove its key.
const OPEN_TO_GUESTS: [&str; 4] = [
    "/v1/health",
    "/v1/auth/challenge",
    "/v1/auth/proof",
    "/v1/guests/exchange",
];
