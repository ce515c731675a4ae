//! Every route × every principal, from the routers' own lists.

mod local;
mod tailnet;
mod without_credentials;

use harness::{Answer, Device, Guest, Inside, Invitation, Owner, Pairing, TestDaemon, TlsClient, until};
use pairing::{Role, Scope};
use protocol::{
    access::{DeviceAdded, NewDevice},
    attach::{CLOSE_NOT_PERMITTED, CLOSE_REVOKED},
};
use server::RouteInfo;

use crate::{
    devices::{add, bind_to_a_node},
    openapi::Description,
};

#[tokio::test]
async fn every_route_admits_exactly_the_principals_of_the_table() {
    let mut daemon = TestDaemon::start().await;
    let cast = Cast::assemble(&mut daemon).await;
    let session = cast.named.clone();
    let description = Description::of(&daemon).await;
    let mut faults = Vec::new();
    for route in routes() {
        let expected = expectation(&route);
        for (name, admitted) in PRINCIPALS.iter().zip(expected) {
            let answer = cast.ask(name, &route, &session).await;
            // Whatever somebody is told is described; by a close frame, nothing is.
            if !route.is_websocket {
                let fault = description.fault_of(&route, &answer);
                faults.extend(fault.map(|why| format!("{why} as {name}")));
            }
            if admits(&answer, route.scope) != admitted {
                faults.push(format!(
                    "{} {} as {name}: {}",
                    route.method,
                    route.path,
                    answer.verdict()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn every_route_admits_a_session_to_itself_and_its_children_by_the_table_and_to_nothing_else() {
    let daemon = TestDaemon::start().await;
    let inside = Inside::of(&daemon).await;
    let child = inside.client.shell("sleep 600").await;
    let other = daemon.owner().shell("sleep 600").await;
    let mut faults = Vec::new();
    for route in routes() {
        let expected = expectation_inside(&route);
        for (target, admitted) in [&inside.session, &child, &other].into_iter().zip(expected) {
            let path = concrete(&route, &target.id);
            let body = (route.method == http::Method::POST).then(|| serde_json::json!({ "nothing": true }));
            let answer = inside
                .client
                .request(route.method.as_str(), &path, body.as_ref())
                .await;
            if admits(&answer, route.scope) != admitted {
                faults.push(format!("{} {path}: {}", route.method, answer.verdict()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(daemon.owner().session(&other.id).await.state, other.state);
}

#[tokio::test]
async fn a_device_or_guest_is_told_apart_from_nobody_and_from_one_that_has_ended() {
    let mut daemon = TestDaemon::start().await;
    let cast = Cast::assemble(&mut daemon).await;
    for route in routes().iter().filter(|route| route.scope != Scope::Public) {
        for (name, expected) in TOLD_APART {
            if route.is_websocket {
                cast.assert_streams_say(name, expected).await;
                continue;
            }
            let answer = cast.ask(name, route, NO_SESSION).await;
            assert_eq!(answer.verdict(), expected, "{} as {name}", route.path);
        }
    }
}

#[test]
fn every_route_has_a_scope_with_an_expectation() {
    for route in routes() {
        // A scope about resources names the resource, or is a list or a creation.
        let names_one = route.path.contains('{') && route.scope.is_about_resource();
        assert_eq!(route.resource.is_some(), names_one, "{}", route.path);
        expectation(&route);
    }
}

/// Who asks; the ended, those that prove nothing or come from elsewhere, and strangers are admitted to nothing but the
/// public.
const PRINCIPALS: [&str; 15] = [
    "owner",
    "operator",
    "operator who may revoke",
    "viewer",
    "viewer who may revoke",
    "metrics device",
    "guest",
    "guest of another session",
    "expired guest",
    "ended guest",
    "revoked device",
    "expired device",
    "device without proof",
    "device on another node",
    "nobody",
];

/// What those are told whom nothing is open to.
const TOLD_APART: [(&str, &str); 7] = [
    ("nobody", "401 unauthenticated"),
    ("revoked device", "401 revoked"),
    ("expired device", "401 expired"),
    ("device without proof", "401 proof_required"),
    ("device on another node", "403 unknown_node"),
    ("expired guest", "401 expired"),
    ("ended guest", "401 revoked"),
];

const NO_SESSION: &str = "ses_0000000000000000";

/// What a route must say to each of the principals above.
fn expectation(route: &RouteInfo) -> [bool; PRINCIPALS.len()] {
    let is_list = route.resource.is_none();
    // Owner, the operators, the viewers, metrics device, guest, guest of another session.
    let living = match route.scope {
        Scope::Public => return [true; PRINCIPALS.len()],
        Scope::Any => [true, true, true, true, true, false, true, true],
        // Lists are filtered; of sessions a guest sees the named ones.
        Scope::View => [true, true, true, true, true, false, true, is_list],
        Scope::Write | Scope::Manage | Scope::Note => [true, true, true, false, false, false, false, false],
        Scope::OwnRecord => [false, true, true, true, true, false, true, true],
        Scope::DeviceList | Scope::DeviceRevoke | Scope::Lockdown => {
            [true, false, true, false, true, false, false, false]
        }
        Scope::MetricsView => [true, false, false, false, false, true, false, false],
        Scope::DeviceManage
        | Scope::GuestManage
        | Scope::AuditView
        | Scope::DaemonManage
        | Scope::LiftLockdown => [true, false, false, false, false, false, false, false],
    };
    std::array::from_fn(|place| living.get(place).copied().unwrap_or(false))
}

/// The table for a program inside of a session: on its own session, a child of it, another one.
fn expectation_inside(route: &RouteInfo) -> [bool; 3] {
    match route.scope {
        Scope::Public | Scope::Any => [true; 3],
        // A list, which is filtered, or a creation.
        Scope::View | Scope::Manage if route.resource.is_none() => [true; 3],
        Scope::View | Scope::Note => [true, true, false],
        Scope::Write | Scope::Manage => [false, true, false],
        _ => [false; 3],
    }
}

/// All of them; the one that ends the devices that ask comes last.
fn routes() -> Vec<RouteInfo> {
    let mut routes = server::routes().list();
    routes.extend(daemon::routes().list());
    routes.sort_by_key(|route| route.path == "/v1/devices/self" && route.method == http::Method::DELETE);
    routes
}

/// Whether the answer came from behind the scope: anything but a refusal for who asks. The pairing lane is public, and has
/// credentials of its own that this test does not hold: what it says of those is no refusal of the principal.
fn admits(answer: &Answer, scope: Scope) -> bool {
    let credentials = [
        "unauthenticated",
        "malformed_token",
        "invalid_token",
        "revoked",
        "expired",
        "proof_required",
        "access_ended",
    ];
    let scopes = [
        "not_permitted",
        "wrong_node",
        "unknown_node",
        "withheld",
        "guests_only",
    ];
    let code = if answer.status < 400 {
        String::new()
    } else {
        answer.problem().code
    };
    !scopes.contains(&code.as_str()) && (scope == Scope::Public || !credentials.contains(&code.as_str()))
}

struct Cast {
    owner: Owner,
    address: std::net::SocketAddr,
    pin: String,
    operator: Device,
    viewer: Device,
    revoker: Device,
    revoking_operator: Device,
    /// The token of a device without a key that may read metrics alone.
    metrics: String,
    /// Invited to look at `named`.
    guest: Guest,
    /// Invited to look at another session.
    guest_elsewhere: Guest,
    /// The same two again, to leave.
    leaving: [Guest; 2],
    expired: Guest,
    ended: Guest,
    /// A session.
    named: String,
    revoked: Device,
    /// The token of a device without a key whose time is over.
    expired_device: String,
    /// The token of a device without a key that is bound to a node of a tailnet, as which nobody can come here.
    elsewhere: String,
}

impl Cast {
    async fn assemble(daemon: &mut TestDaemon) -> Self {
        let elsewhere = add(daemon, Role::Operator).await;
        bind_to_a_node(daemon, elsewhere.device_id).await;
        let metrics = add(daemon, Role::Metrics).await;
        let daemon = &*daemon;
        let revoked = daemon.device(Role::Operator).await;
        daemon.owner().revoke(revoked.id()).await;
        let named = daemon.owner().shell("sleep 600").await.id;
        let other = daemon.owner().shell("sleep 600").await.id;
        let ended = Guest::of(daemon, &[&named]).await;
        let path = format!("/v1/guests/{}", ended.guest_id());
        daemon.owner().request("DELETE", &path, None::<&()>).await;
        Self {
            guest: Guest::of(daemon, &[&named]).await,
            guest_elsewhere: Guest::of(daemon, &[&other]).await,
            leaving: [
                Guest::of(daemon, &[&named]).await,
                Guest::of(daemon, &[&other]).await,
            ],
            expired: expired(daemon, &named).await,
            expired_device: expired_device(daemon).await,
            ended,
            named,
            owner: daemon.owner(),
            address: daemon.address(),
            pin: daemon.pin().to_owned(),
            operator: daemon.device(Role::Operator).await,
            viewer: daemon.device(Role::Viewer).await,
            revoker: revoking(daemon, Role::Viewer).await,
            revoking_operator: revoking(daemon, Role::Operator).await,
            metrics: metrics.token.expose().to_owned(),
            revoked,
            elsewhere: elsewhere.token.expose().to_owned(),
        }
    }

    /// One request that asks for nothing: ids of nobody, bodies that no route takes.
    async fn ask(&self, principal: &str, route: &RouteInfo, session: &str) -> Answer {
        if route.is_websocket && principal == "nobody" {
            return self.stranger_attaches(session).await;
        }
        let path = concrete(route, session);
        let method = route.method.as_str();
        let body = (method == "POST").then(|| serde_json::json!({ "nothing": true }));
        if principal == "owner" {
            return self.owner.request(method, &path, body.as_ref()).await;
        }
        let leaves = method == "DELETE" && route.path == "/v1/guests/self";
        let token = self.token_of(principal, leaves).await;
        TlsClient::new(self.address, &self.pin)
            .request(method, &path, token.as_deref(), body.as_ref())
            .await
    }

    /// What somebody shows; guests that leave are others than those that ask for anything else.
    async fn token_of(&self, principal: &str, leaves: bool) -> Option<String> {
        match principal {
            "operator" => Some(self.operator.access().await),
            "operator who may revoke" => Some(self.revoking_operator.access().await),
            "viewer" => Some(self.viewer.access().await),
            "viewer who may revoke" => Some(self.revoker.access().await),
            "metrics device" => Some(self.metrics.clone()),
            "guest" if leaves => Some(self.leaving[0].access().await),
            "guest of another session" if leaves => Some(self.leaving[1].access().await),
            "guest" => Some(self.guest.access().await),
            "guest of another session" => Some(self.guest_elsewhere.access().await),
            "expired guest" => Some(self.expired.token().to_owned()),
            "ended guest" => Some(self.ended.token().to_owned()),
            "revoked device" => Some(self.revoked.token().to_owned()),
            "expired device" => Some(self.expired_device.clone()),
            "device without proof" => Some(self.operator.token().to_owned()),
            "device on another node" => Some(self.elsewhere.clone()),
            "nobody" => None,
            other => panic!("nobody is called {other}"),
        }
    }

    /// A WebSocket says the same before the upgrade to who shows a header, and by its close frame to who shows it as a page does.
    async fn assert_streams_say(&self, principal: &str, expected: &str) {
        let token = self.token_of(principal, false).await;
        let (status, code) = expected.split_once(' ').unwrap();
        let client = TlsClient::new(self.address, &self.pin);
        if let Some(token) = &token {
            let refused = client.look(Some(token), None, &self.named).await.err();
            assert_eq!(refused.expect("it is refused").verdict(), expected, "{principal}");
        }
        let first = token.as_deref().unwrap_or("nobody's");
        let mut opened = client.look(None, Some(first), &self.named).await.unwrap();
        let closed = opened.until_closed_for().await;
        let code = match token {
            Some(_) => code,
            // What is no token is said to be none.
            None => "malformed_token",
        };
        let expected = if status == "401" {
            CLOSE_REVOKED
        } else {
            CLOSE_NOT_PERMITTED
        };
        assert_eq!(closed, (expected, code.to_owned()), "{principal}");
        assert!(opened.output().is_empty(), "nothing was shown to {principal}");
    }

    /// A WebSocket without a token is upgraded, and closed for want of one: what a browser sees instead of a 401. It says nothing
    /// wrong either: of that, the others have said about as much as is answered.
    async fn stranger_attaches(&self, session: &str) -> Answer {
        let mut opened = self.viewer.attach_silently(session).await;
        let code = opened.until_closed().await;
        assert_eq!(code, CLOSE_REVOKED);
        let problem = protocol::Problem::new(401, "unauthenticated", "", "");
        Answer {
            status: 401,
            headers: http::HeaderMap::new(),
            body: serde_json::to_string(&problem).unwrap(),
        }
    }
}

/// A device that may revoke others.
async fn revoking(daemon: &TestDaemon, role: Role) -> Device {
    let pairing = Pairing::with_terms(daemon, role, true).await;
    pairing.finish(daemon).await
}

/// The token of a device whose time is over.
async fn expired_device(daemon: &TestDaemon) -> String {
    let wish = NewDevice {
        label: "a script of yesterday".to_owned(),
        role: Some(Role::Operator),
        expires_in: Some(1),
    };
    let added: DeviceAdded = daemon.owner().post("/v1/devices", &wish).await.ok();
    let client = TlsClient::new(daemon.address(), daemon.pin());
    until("the end of a device", async || {
        let answer = client.get("/v1/whoami", Some(added.token.expose())).await;
        (answer.verdict() == "401 expired").then_some(())
    })
    .await;
    added.token.expose().to_owned()
}

/// A guest whose time is over.
async fn expired(daemon: &TestDaemon, session: &str) -> Guest {
    let invitation = Invitation::to(daemon, &[session], 1).await;
    let guest = invitation.open(daemon).await;
    let guest = guest.unwrap_or_else(|answer| panic!("{answer:?}"));
    until("the end of a guest", async || {
        let answer = guest.client().get("/v1/whoami", Some(guest.token())).await;
        (answer.verdict() == "401 expired").then_some(())
    })
    .await;
    guest
}

fn concrete(route: &RouteInfo, session: &str) -> String {
    match route.path {
        // An endless answer where it is let in; with a number that is none, it ends at the query.
        "/v1/events" => "/v1/events?after=none".to_owned(),
        // It would wait for the program's end; with a number that is none, it ends at the query too.
        path if path.ends_with("/wait") => format!("{}?idle_ms=none", path.replace("{id}", session)),
        path if path.starts_with("/v1/sessions/") => path.replace("{id}", session),
        path if path.contains("/requests/") => path.replace("{id}", "req_0000000000000000"),
        path if path.contains("/guests/") => path.replace("{id}", "gst_0000000000000000"),
        path if path.contains("/offers/") => path.replace("{id}", "ofr_0000000000000000"),
        path => path.replace("{id}", "dev_0000000000000000"),
    }
}
