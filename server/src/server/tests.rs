mod panics;

use std::{sync::Arc, time::Duration};

use axum::body::{Body, Bytes};
use http::{Method, header};
use http_body_util::{BodyExt, Full};
use pairing::{Role, marker::View};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    access::Access,
    extract::{Json, Path, Query},
    limits::{BODY, Limits, PUBLIC_BODY},
    router::{Permitted, Routes},
    shutdown::Shutdown,
    testing::{Client, TestServer, with_token},
};

fn routes() -> Routes<Arc<Access>> {
    Routes::new()
        .public(Method::GET, "/v1/panic", async || -> () { panic!("on purpose") })
        .public(Method::POST, "/v1/echo", async |Json(body): Json<Vec<u32>>| {
            axum::Json(body)
        })
        .public(
            Method::GET,
            "/v1/number",
            async |Query((_, number)): Query<(String, u8)>| number.to_string(),
        )
        .public(
            Method::GET,
            "/v1/number/{number}",
            async |Path(number): Path<u8>| number.to_string(),
        )
        .route::<View, _, _>(
            Method::POST,
            "/v1/echo/for-devices",
            None,
            async |_: Permitted<View>, Json(body): Json<Vec<u32>>| axum::Json(body),
        )
        .route::<View, _, _>(Method::GET, "/v1/stream", None, async |_: Permitted<View>| {
            endless("text/event-stream")
        })
        .route::<View, _, _>(Method::GET, "/v1/bytes", None, async |_: Permitted<View>| {
            endless("application/octet-stream")
        })
}

/// A body that always has more.
fn endless(kind: &'static str) -> ([(header::HeaderName, &'static str); 1], Body) {
    let chunks =
        futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b':'; 4096])));
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(chunks))
}

async fn serve() -> TestServer {
    TestServer::start_with(Limits::default(), routes()).await
}

async fn clients(server: &TestServer) -> [Client; 3] {
    [server.owner().await, server.http1().await, server.http2().await]
}

#[tokio::test]
async fn health_says_status_version_and_instance_and_no_more_on_every_transport() {
    let server = TestServer::start().await;
    for mut client in clients(&server).await {
        let health = client.get("/v1/health", None).await.json();
        let expected =
            serde_json::json!({"status": "ok", "version": "0.1.0", "instance": server.access.instance()});
        assert_eq!(health, expected);
    }
}

#[tokio::test]
async fn the_socket_means_the_owner_and_tls_without_a_token_means_nobody() {
    let server = TestServer::start().await;
    let [mut owner, mut one, mut two] = clients(&server).await;
    assert_eq!(owner.get("/v1/whoami", None).await.json()["principal"], "owner");
    for client in [&mut one, &mut two] {
        let answer = client.get("/v1/whoami", None).await;
        assert_eq!(answer.problem(), (401, "unauthenticated".to_owned()));
        assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Bearer");
    }
}

#[tokio::test]
async fn a_device_is_told_who_it_is() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let answer = server.http2().await.get("/v1/whoami", Some(&device)).await.json();
    assert_eq!(answer["device_id"], device.id.to_string());
    assert_eq!(
        answer["scopes"],
        serde_json::json!(["public", "any", "session:view", "self"])
    );
    assert_eq!(
        server
            .access
            .devices()
            .get(device.id)
            .unwrap()
            .last_address
            .as_deref(),
        Some("127.0.0.1")
    );
}

#[tokio::test]
async fn tokens_that_are_cut_off_foreign_or_unknown_are_told_apart_by_code() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, false).await;
    let mut client = server.http1().await;
    let unknown = pairing::DeviceToken::generate(device.id, &mut crate::random::rng())
        .reveal()
        .to_string();
    let malformed = [&device.token[..device.token.len() - 1], "tsm_req_x", "x"];
    let cases = malformed
        .into_iter()
        .map(|token| (token, "malformed_token"))
        .chain([(unknown.as_str(), "invalid_token")]);
    for (token, code) in cases {
        let request = client
            .request(Method::GET, "/v1/whoami")
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        let answer = client.answer(request.body(Full::default()).unwrap()).await;
        assert_eq!(answer.problem(), (401, code.to_owned()));
    }
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let server = serve().await;
    for mut client in clients(&server).await {
        for path in ["/v1/health", "/v1/whoami", "/v1/nothing", "/", "/v1/panic"] {
            let answer = client.get(path, None).await;
            let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self';"),
                "{path}: {policy}"
            );
            assert_eq!(
                answer.headers[header::X_CONTENT_TYPE_OPTIONS],
                "nosniff",
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_before_anything_else() {
    let server = serve().await;
    let device = server.device(Role::Operator, true).await;
    let mut client = server.http1().await;
    for (name, value, code) in [
        (header::HOST, "evil.example", "wrong_host"),
        (header::ORIGIN, "https://evil.example", "wrong_origin"),
    ] {
        for path in ["/v1/health", "/v1/whoami", "/v1/panic", "/nothing"] {
            let mut request = with_token(client.request(Method::GET, path), Some(&device))
                .body(Full::default())
                .unwrap();
            request.headers_mut().insert(name.clone(), value.parse().unwrap());
            assert_eq!(
                client.answer(request).await.problem(),
                (403, code.to_owned()),
                "{path}"
            );
        }
    }
    assert_eq!(
        server.access.connections().count_of(device.id),
        0,
        "nobody was authenticated"
    );
}

#[tokio::test]
async fn a_panic_in_a_handler_is_a_500_with_an_id_and_the_server_lives() {
    let server = serve().await;
    for mut client in clients(&server).await {
        let answer = client.get("/v1/panic", None).await;
        assert_eq!(answer.problem(), (500, "internal".to_owned()));
        assert_eq!(answer.json()["request_id"].as_str().unwrap().len(), 16);
        assert_eq!(client.get("/v1/health", None).await.status, 200);
    }
}

#[tokio::test]
async fn unknown_paths_methods_and_ids_are_problems() {
    let server = serve().await;
    let mut owner = server.owner().await;
    assert_eq!(
        owner.get("/v1/nothing", None).await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        owner.get("/", None).await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        owner.get("/v1/number/many", None).await.problem(),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        owner.delete("/v1/devices/nobody", None).await.problem(),
        (404, "not_found".to_owned())
    );
    let answer = owner.delete("/v1/health", None).await;
    assert_eq!(answer.problem(), (405, "method_not_allowed".to_owned()));
    assert_eq!(answer.headers[header::ALLOW], "GET,HEAD");
}

#[tokio::test]
async fn bodies_and_queries_that_cannot_be_read_are_problems() {
    let server = serve().await;
    let mut client = server.http2().await;
    let json = "application/json";
    assert_eq!(
        client.post("/v1/echo", json, "[1]").await.json(),
        serde_json::json!([1])
    );
    assert_eq!(
        client.post("/v1/echo", json, "[1").await.problem(),
        (400, "malformed_request".to_owned())
    );
    assert_eq!(
        client.post("/v1/echo", json, "{}").await.problem(),
        (400, "malformed_request".to_owned())
    );
    assert_eq!(
        client.post("/v1/echo", "text/plain", "[1]").await.problem(),
        (415, "unsupported_media_type".to_owned())
    );
    let blank = |bytes| vec![b' '; bytes];
    let mut client = server.owner().await;
    for (path, limit) in [("/v1/echo", PUBLIC_BODY), ("/v1/echo/for-devices", BODY)] {
        assert_eq!(
            client.post(path, json, blank(limit)).await.problem(),
            (400, "malformed_request".to_owned())
        );
        assert_eq!(
            client.post(path, json, blank(limit + 1)).await.problem(),
            (413, "body_too_large".to_owned())
        );
    }
    assert_eq!(
        client.get("/v1/number?number=many", None).await.problem(),
        (400, "malformed_request".to_owned())
    );
}

#[tokio::test]
async fn a_device_lacks_what_its_role_does_not_give() {
    let server = TestServer::start().await;
    let device = server.device(Role::Operator, false).await;
    let mut client = server.http1().await;
    let paths = [
        (Method::GET, "/v1/devices"),
        (Method::POST, "/v1/pairing/offers"),
        (Method::GET, "/v1/pairing/requests"),
    ];
    for (method, path) in paths {
        assert_eq!(
            client.ask(method, path, Some(&device)).await.problem(),
            (403, "not_permitted".to_owned()),
            "{path}"
        );
    }
    assert_eq!(
        client.get("/v1/devices/self", Some(&device)).await.json()["id"],
        device.id.to_string()
    );
}

#[tokio::test]
async fn the_owner_lists_records_and_a_device_that_may_revoke_lists_names() {
    let server = TestServer::start().await;
    let device = server.device(Role::Viewer, true).await;
    let records = server.owner().await.get("/v1/devices", None).await.json();
    assert_eq!(records[0]["approved_from"], "127.0.0.1");
    let mut names = server
        .http1()
        .await
        .get("/v1/devices", Some(&device))
        .await
        .json();
    names[0].as_object_mut().unwrap().remove("last_seen_at");
    assert_eq!(
        names,
        serde_json::json!([{"id": device.id.to_string(), "label": "phone"}])
    );
}

#[tokio::test]
async fn a_second_device_on_a_connection_is_sent_away_and_works_on_a_new_one() {
    let server = TestServer::start().await;
    let (first, second) = (
        server.device(Role::Viewer, false).await,
        server.device(Role::Viewer, false).await,
    );
    for mut client in [server.http1().await, server.http2().await] {
        assert_eq!(client.get("/v1/whoami", Some(&first)).await.status, 200);
        assert_eq!(
            client.get("/v1/health", None).await.status,
            200,
            "anonymous requests change nothing"
        );
        assert_eq!(
            client.get("/v1/whoami", Some(&second)).await.problem(),
            (421, "other_principal".to_owned())
        );
        client.closed().await;
        assert_eq!(
            server.http2().await.get("/v1/whoami", Some(&second)).await.status,
            200
        );
    }
}

#[tokio::test]
async fn one_connection_more_than_a_principal_may_have_is_refused() {
    let server = TestServer::start_with(
        Limits {
            per_principal: 2,
            ..Limits::default()
        },
        routes(),
    )
    .await;
    let device = server.device(Role::Viewer, false).await;
    let mut held = [server.http1().await, server.http2().await];
    for client in &mut held {
        assert_eq!(client.get("/v1/whoami", Some(&device)).await.status, 200);
    }
    let mut third = server.http1().await;
    assert_eq!(
        third.get("/v1/whoami", Some(&device)).await.problem(),
        (429, "too_many_connections".to_owned())
    );
    third.closed().await;
}

#[tokio::test]
async fn a_peer_that_never_speaks_tls_is_dropped_within_the_handshake_limit() {
    let limits = Limits {
        handshake: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = TestServer::start_with(limits, routes()).await;
    let mut silent = tokio::net::TcpStream::connect(server.tls).await.unwrap();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert_eq!(server.http1().await.get("/v1/health", None).await.status, 200);
}

#[tokio::test]
async fn a_peer_that_never_sends_a_head_is_dropped_within_its_limit() {
    let limits = Limits {
        head: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = TestServer::start_with(limits, routes()).await;
    for (protocol, beginning) in [
        ("http/1.1", "GET /v1/health HTTP/1.1\r\nHost: "),
        ("http/1.1", ""),
        ("h2", ""),
    ] {
        let mut stream = server.tls(protocol).await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(crate::testing::PATIENCE, stream.read_to_end(&mut rest))
            .await
            .expect("it is dropped");
    }
}

#[tokio::test]
async fn a_flood_of_strangers_drops_the_oldest_and_never_a_device_or_the_newest() {
    let server = TestServer::start_with(
        Limits {
            unauthenticated: 4,
            ..Limits::default()
        },
        routes(),
    )
    .await;
    let device = server.device(Role::Viewer, false).await;
    let (mut known, mut local) = (server.http2().await, server.owner().await);
    assert_eq!(known.get("/v1/whoami", Some(&device)).await.status, 200);
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(tokio::net::TcpStream::connect(server.tls).await.unwrap());
    }
    assert_eq!(server.http1().await.get("/v1/health", None).await.status, 200);
    assert_eq!(strangers[0].read(&mut [0; 1]).await.unwrap_or(0), 0);
    assert_eq!(known.get("/v1/whoami", Some(&device)).await.status, 200);
    assert_eq!(local.get("/v1/whoami", None).await.status, 200);
}

#[tokio::test]
async fn a_soft_stop_closes_idle_connections_and_event_streams_at_once() {
    let mut server = serve().await;
    let device = server.device(Role::Viewer, false).await;
    let idle = clients(&server).await;
    for mut client in idle {
        assert_eq!(client.get("/v1/health", None).await.status, 200);
    }
    let mut reader = server.http2().await;
    let request = with_token(reader.request(Method::GET, "/v1/stream"), Some(&device))
        .body(Full::default())
        .unwrap();
    let mut stream = reader.send(request).await.unwrap().into_body();
    let reading = tokio::spawn(async move { while let Some(Ok(_)) = stream.frame().await {} });
    server.stop(Shutdown::Soft).await.unwrap();
    reading.await.unwrap();
    assert_eq!(server.access.connections().count(), 0);
}

#[tokio::test]
async fn a_peer_that_does_not_read_keeps_no_stop_from_ending() {
    let limits = Limits {
        drain: Duration::from_millis(100),
        ..Limits::default()
    };
    let mut server = TestServer::start_with(limits, routes()).await;
    let device = server.device(Role::Viewer, false).await;
    let mut stalled = server.http1().await;
    let request = with_token(stalled.request(Method::GET, "/v1/bytes"), Some(&device))
        .body(Full::default())
        .unwrap();
    let _never_read = stalled.send(request).await.unwrap();
    server.stop(Shutdown::Soft).await.unwrap();
    assert_eq!(server.access.connections().count(), 0);
}

#[tokio::test]
async fn a_hard_stop_waits_for_nothing() {
    let mut server = serve().await;
    let device = server.device(Role::Viewer, false).await;
    let mut client = server.http1().await;
    let request = with_token(client.request(Method::GET, "/v1/bytes"), Some(&device))
        .body(Full::default())
        .unwrap();
    let _never_read = client.send(request).await.unwrap();
    let started = std::time::Instant::now();
    server.stop(Shutdown::Hard).await.unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}
