use std::sync::Arc;

use axum::{Extension, Router, extract::Path, routing::get};
use http::Method;
use http_body_util::Full;
use pairing::{Permit, Role, Scope, View, Write};

use crate::{
    access::Access,
    limits::Limits,
    router::Routes,
    testing::{TestServer, with_token},
};

fn mounted() -> Routes<Arc<Access>> {
    let hello = Router::new()
        .route("/", get(async || "hello"))
        .route(
            "/whom",
            get(async |Extension(permit): Extension<Permit<View>>| format!("{:?}", permit.principal())),
        )
        .route("/never", get(async || std::future::pending::<()>().await));
    let rooms = Router::new().route("/door", get(async |Path(room): Path<String>| room));
    Routes::new()
        .mount::<View>("/hello", None, hello)
        .mount::<Write>("/rooms/{room}", Some("room"), rooms)
}

async fn serve() -> TestServer {
    TestServer::start_with(Limits::default(), mounted()).await
}

#[tokio::test]
async fn a_mounted_router_answers_who_has_its_scope() {
    let server = serve().await;
    let (viewer, operator) = (
        server.device(Role::Viewer, false).await,
        server.device(Role::Operator, false).await,
    );
    let mut client = server.http2().await;
    for path in ["/hello", "/hello/"] {
        let answer = client.get(path, Some(&viewer)).await;
        assert_eq!((answer.status.as_u16(), &*answer.bytes), (200, &b"hello"[..]));
    }
    let whom = client.get("/hello/whom", Some(&viewer)).await;
    assert!(
        String::from_utf8_lossy(&whom.bytes).contains(&format!("{:?}", viewer.id)),
        "{whom:?}",
        whom = whom.bytes
    );
    let refused = client
        .get("/rooms/ses_0000000000000001/door", Some(&viewer))
        .await;
    assert_eq!(refused.problem(), (403, "not_permitted".to_owned()));
    let door = server
        .http1()
        .await
        .get("/rooms/ses_0000000000000001/door", Some(&operator))
        .await;
    assert_eq!(&*door.bytes, b"ses_0000000000000001");
}

#[tokio::test]
async fn nobody_gets_below_the_prefix_by_any_method_or_path() {
    let server = serve().await;
    let mut client = server.http1().await;
    for path in [
        "/hello",
        "/hello/",
        "/hello/whom",
        "/hello/nothing",
        "/hello//",
        "/rooms/ses_0000000000000001/door",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE, Method::OPTIONS] {
            let answer = client.ask(method.clone(), path, None).await;
            assert_eq!(
                answer.problem(),
                (401, "unauthenticated".to_owned()),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_mounted_router_has_no_route_for_falls_through_to_nothing() {
    let server = serve().await;
    let viewer = server.device(Role::Viewer, false).await;
    let answer = server.http1().await.get("/hello/nothing", Some(&viewer)).await;
    assert_eq!((answer.status.as_u16(), answer.bytes.len()), (404, 0));
}

#[tokio::test]
async fn a_revocation_ends_what_a_mounted_router_is_at() {
    let server = serve().await;
    let viewer = server.device(Role::Viewer, false).await;
    let mut client = server.http1().await;
    assert_eq!(client.get("/hello", Some(&viewer)).await.status, 200);
    let mut other = server.http2().await;
    let request = with_token(other.request(Method::GET, "/hello/never"), Some(&viewer));
    let request = request.body(Full::default()).unwrap();
    let hanging = tokio::spawn(async move { other.send(request).await });
    while server.access.connections().count_of(viewer.id) < 2 {
        tokio::task::yield_now().await;
    }
    let path = format!("/v1/devices/{}", viewer.id);
    assert_eq!(server.owner().await.delete(&path, None).await.status, 200);
    client.closed().await;
    assert_eq!(hanging.await.unwrap().map(|answer| answer.status()).ok(), None);
    let answer = server.http1().await.get("/hello", Some(&viewer)).await;
    assert_eq!(answer.problem(), (401, "revoked".to_owned()));
}

#[test]
fn a_mount_is_a_row_like_any_other() {
    let rows: Vec<_> = mounted().list();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.path, row.scope, row.resource, row.is_mounted))
        .collect();
    assert_eq!(
        told,
        [
            ("/hello", Scope::View, None, true),
            ("/rooms/{room}", Scope::Write, Some("room"), true)
        ]
    );
}
