//! Who is invited by login: the tailnet's gate is open to them as guests, and to nothing else, until the end.

use std::sync::Arc;

use http::Method;
use pairing::{Role, Scope, TailnetIdentity};
use serde_json::{Value, json};

use super::harness::{Link, key};
use crate::{
    peer::WhoIsAnswer,
    router::Routes,
    testing::{Tailnet, TestServer},
};

async fn serve() -> (TestServer, Arc<Tailnet>) {
    TestServer::start_in_a_tailnet(Routes::new()).await
}

fn user(name: &str) -> TailnetIdentity {
    TailnetIdentity {
        user_id: format!("id of {name}"),
        user: format!("{name}@example.com"),
        node_id: format!("node of {name}"),
        node: format!("{name}.example.ts.net"),
        tags: Vec::new(),
    }
}

/// Not in `tailnet.allow`.
fn unlisted(name: &str) -> WhoIsAnswer {
    WhoIsAnswer::Unlisted(user(name))
}

fn wish(name: &str, expires_in: u64) -> Value {
    let login = format!("{name}@example.com");
    json!({ "sessions": ["ses_1"], "expires_in": expires_in, "login": login })
}

/// Whether a peer is closed before any word of HTTP.
async fn is_shut_out(server: &TestServer) -> bool {
    server.try_tls("http/1.1").await.is_err()
}

#[tokio::test]
async fn who_is_invited_by_login_comes_as_a_guest_and_who_is_not_is_closed_unheard() {
    let (server, tailnet) = serve().await;
    tailnet.everybody_is(unlisted("alice"));
    assert!(is_shut_out(&server).await);
    let link = Link::of(&server, &wish("alice", 3600)).await;
    tailnet.everybody_is(unlisted("bob"));
    assert!(is_shut_out(&server).await);
    tailnet.everybody_is(unlisted("alice"));
    let guest = link.open(&server, &key()).await;
    let who = server.http1().await.get("/v1/whoami", Some(&guest.access)).await;
    assert_eq!(who.json()["principal"], "guest");
    let list = server.owner().await.get("/v1/guests", None).await.json();
    assert_eq!(list[0]["login"], "alice@example.com");
    let rows = server.access.store.audit_rows(9).await.unwrap();
    let detail = |action: &str| {
        let row = rows.iter().find(|row| row.action == action).unwrap();
        row.detail.clone().unwrap()
    };
    assert!(detail("guest_invited").contains("for alice@example.com"));
    assert!(detail("guest_joined").starts_with("alice@example.com from alice.example.ts.net"));
}

#[tokio::test]
async fn whom_an_invitation_lets_in_reaches_what_a_guest_needs_and_nothing_else() {
    let (server, tailnet) = serve().await;
    let operator = server.device(Role::Operator, true).await;
    Link::of(&server, &wish("alice", 3600)).await;
    tailnet.everybody_is(unlisted("alice"));
    let open = [
        "/v1/health",
        "/v1/auth/challenge",
        "/v1/auth/proof",
        "/v1/guests/exchange",
    ];
    let mut seen = 0;
    for route in crate::routes::routes().list() {
        let path = route.path.replace("{id}", "req_0000000000000000");
        let mut client = server.http1().await;
        let answer = client.ask(route.method, &path, None).await;
        let is_refused = answer.status == 403 && answer.problem().1 == "guests_only";
        let is_open = open.contains(&route.path);
        seen += usize::from(is_open);
        if route.scope == Scope::Public {
            assert_eq!(is_refused, !is_open, "{path}");
        } else {
            assert_eq!(answer.problem(), (401, "unauthenticated".to_owned()), "{path}");
        }
    }
    assert_eq!(seen, open.len());
    // Also who is trusted elsewhere is a guest here, or nobody.
    let mut client = server.http1().await;
    let refused = client.get("/v1/whoami", Some(&operator)).await;
    assert_eq!(refused.problem(), (403, "guests_only".to_owned()));
    assert_eq!(server.access.connections().count_of(operator.id), 0);
}

#[tokio::test]
async fn a_link_for_a_login_is_refused_to_every_other_and_where_nobody_can_say_who_comes() {
    let (server, tailnet) = serve().await;
    let link = Link::of(&server, &wish("alice", 3600)).await;
    for (who, code) in [
        (WhoIsAnswer::Known(user("bob")), "wrong_login"),
        (WhoIsAnswer::NotATailnet, "unknown_login"),
    ] {
        tailnet.everybody_is(who);
        let refused = link.exchange(&server, &key()).await;
        assert_eq!(refused.problem(), (403, code.to_owned()));
    }
    let rows = server.access.store.audit_rows(9).await.unwrap();
    let refused: Vec<_> = rows.iter().filter(|row| row.action == "guest_refused").collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].detail.as_deref().unwrap().contains("bob@example.com"));
    let list = server.owner().await.get("/v1/guests", None).await.json();
    assert_eq!(
        (&list[0]["state"], &list[0]["refused"]["count"]),
        (&json!("invited"), &json!(2))
    );
    // Who is listed anyway opens it like anybody.
    tailnet.everybody_is(WhoIsAnswer::Known(user("alice")));
    let guest = link.open(&server, &key()).await;
    tailnet.everybody_is(WhoIsAnswer::Known(user("bob")));
    let stolen = server.http1().await.get("/v1/whoami", Some(&guest.access)).await;
    assert_eq!(stolen.problem(), (403, "wrong_login".to_owned()));
    let refused = guest.whoami(&server).await;
    assert_eq!(refused.problem(), (403, "wrong_login".to_owned()));
}

#[tokio::test]
async fn the_gate_closes_at_the_end_also_behind_who_has_not_become_a_guest() {
    let (server, tailnet) = serve().await;
    let link = Link::of(&server, &wish("alice", 3600)).await;
    tailnet.everybody_is(unlisted("alice"));
    let guest = link.open(&server, &key()).await;
    let (mut used, mut idle) = (server.http2().await, server.http2().await);
    assert_eq!(used.get("/v1/whoami", Some(&guest.access)).await.status, 200);
    assert_eq!(idle.get("/v1/health", None).await.status, 200);
    let path = format!("/v1/guests/{}", link.id);
    assert_eq!(server.owner().await.delete(&path, None).await.status, 200);
    used.closed().await;
    idle.closed().await;
    assert!(is_shut_out(&server).await);
}

#[tokio::test]
async fn the_gate_closes_at_its_second_and_not_while_another_invitation_lasts() {
    let (server, tailnet) = serve().await;
    let (short, long) = (
        Link::of(&server, &wish("alice", 1)).await,
        Link::of(&server, &wish("alice", 3600)).await,
    );
    tailnet.everybody_is(unlisted("alice"));
    let mut client = server.http2().await;
    while server.access.guests().get(short.id).unwrap().ended.is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.get("/v1/health", None).await.status, 200);
    let guest = long.open(&server, &key()).await;
    // It leaves by itself, and is told so.
    let mut leaving = server.http2().await;
    let left = leaving
        .ask(Method::DELETE, "/v1/guests/self", Some(&guest.access))
        .await;
    assert_eq!(left.status, 200);
    leaving.closed().await;
    client.closed().await;
}

#[tokio::test]
async fn who_may_come_no_more_is_closed_and_nobody_else() {
    let (server, tailnet) = serve().await;
    tailnet.everybody_is(WhoIsAnswer::Known(user("alice")));
    let device = server.device(Role::Operator, false).await;
    let (mut alice, mut silent) = (server.http2().await, server.http1().await);
    assert_eq!(alice.get("/v1/whoami", Some(&device)).await.status, 200);
    assert_eq!(silent.get("/v1/health", None).await.status, 200);
    tailnet.everybody_is(WhoIsAnswer::NotATailnet);
    let mut local = server.http1().await;
    assert_eq!(local.get("/v1/health", None).await.status, 200);
    tailnet.everybody_is(WhoIsAnswer::Known(user("bob")));
    let mut bob = server.http2().await;
    assert_eq!(bob.get("/v1/health", None).await.status, 200);
    // The last change was that only bob is listed.
    assert_eq!(server.access.close_unlisted(), 2);
    alice.closed().await;
    silent.closed().await;
    assert_eq!(bob.get("/v1/health", None).await.status, 200);
    assert_eq!(local.get("/v1/health", None).await.status, 200);
    assert_eq!(server.access.close_unlisted(), 0);
}

#[tokio::test]
async fn who_is_listed_no_more_and_invited_stays_as_a_guest_and_as_nothing_else() {
    let (server, tailnet) = serve().await;
    let device = server.device(Role::Operator, false).await;
    let link = Link::of(&server, &wish("alice", 3600)).await;
    tailnet.everybody_is(WhoIsAnswer::Known(user("alice")));
    let guest = link.open(&server, &key()).await;
    let (mut owned, mut looking, mut idle) =
        (server.http2().await, server.http2().await, server.http2().await);
    assert_eq!(owned.get("/v1/whoami", Some(&device)).await.status, 200);
    assert_eq!(looking.get("/v1/whoami", Some(&guest.access)).await.status, 200);
    assert_eq!(idle.get("/v1/health", None).await.status, 200);
    tailnet.everybody_is(unlisted("alice"));
    assert_eq!(server.access.close_unlisted(), 1);
    owned.closed().await;
    assert_eq!(looking.get("/v1/whoami", Some(&guest.access)).await.status, 200);
    let refused = idle.get("/v1/whoami", Some(&device)).await;
    assert_eq!(refused.problem(), (403, "guests_only".to_owned()));
}

#[tokio::test]
async fn where_nobody_can_come_by_login_no_such_link_is_made() {
    let server = TestServer::start().await;
    let refused = Link::ask(&server, &wish("alice", 60)).await;
    assert_eq!(refused.problem(), (409, "no_tailnet".to_owned()));
    let (server, _) = serve().await;
    let nobody = json!({ "sessions": ["ses_1"], "expires_in": 60, "login": "alice" });
    let refused = Link::ask(&server, &nobody).await;
    assert_eq!(refused.problem(), (400, "malformed_request".to_owned()));
}
