use std::{sync::Arc, time::Duration};

use axum::extract::ws::Message as Sent;
use futures_util::{SinkExt, StreamExt};
use http::{Method, header};
use pairing::{Role, marker::Write};
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message},
};

use super::{Upgraded, close};
use crate::{
    access::Access,
    limits::Limits,
    router::Routes,
    shutdown::Shutdown,
    testing::{PATIENCE, TestDevice, TestServer},
};

type Socket = WebSocketStream<TlsStream<TcpStream>>;

#[derive(Deserialize)]
struct Greeting {
    greeting: String,
}

/// Says its greeting and what it is about, then waits for its end.
async fn greet(mut upgraded: Upgraded<Write, Greeting, Arc<Access>>) {
    let resource = upgraded
        .permit
        .resource()
        .map(ToString::to_string)
        .unwrap_or_default();
    let text = format!("{} {resource}", upgraded.query.greeting);
    let _ = upgraded.socket.send(Sent::Text(text.into())).await;
    tokio::select! {
        biased;
        () = upgraded.connection.revoked() => super::close(&mut upgraded.socket, close::UNAUTHENTICATED, "revoked").await,
        () = upgraded.connection.ending() => super::close(&mut upgraded.socket, close::RESTARTING, "restarting").await,
        _ = upgraded.socket.recv() => (),
    }
}

async fn serve(limits: Limits) -> TestServer {
    let routes = Routes::new().websocket::<Write, _, _, _>("/v1/greet/{id}", Some("id"), greet);
    TestServer::start_with(limits, routes).await
}

async fn open(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Result<Socket, Error> {
    let mut request = http::Request::get(format!("wss://{}{path}", server.tls))
        .header(header::HOST, server.tls.to_string())
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ==");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let stream = server.tls("http/1.1").await;
    Ok(client_async(request.body(()).unwrap(), stream).await?.0)
}

async fn status_of(opening: Result<Socket, Error>) -> u16 {
    match opening {
        Err(Error::Http(response)) => response.status().as_u16(),
        _ => panic!("the upgrade was not refused"),
    }
}

async fn next(socket: &mut Socket) -> Message {
    tokio::time::timeout(PATIENCE, socket.next())
        .await
        .expect("a message in time")
        .expect("a message")
        .unwrap()
}

async fn close_code(socket: &mut Socket) -> u16 {
    match next(socket).await {
        Message::Close(Some(frame)) => frame.code.into(),
        other => panic!("no close frame: {other:?}"),
    }
}

fn bearer(device: &TestDevice) -> String {
    format!("Bearer {}", device.token)
}

const PATH: &str = "/v1/greet/ses_1?greeting=hello";

#[tokio::test]
async fn a_native_client_authenticates_by_header_and_a_browser_by_its_first_frame() {
    let server = serve(Limits::default()).await;
    let device = server.device(Role::Operator, false).await;
    let mut native = open(&server, PATH, &[("authorization", &bearer(&device))])
        .await
        .unwrap();
    assert_eq!(next(&mut native).await, Message::text("hello ses_1"));
    let origin = format!("https://{}", server.tls);
    let mut browser = open(&server, PATH, &[("origin", &origin)]).await.unwrap();
    assert_eq!(
        server.access.connections().count_of(device.id),
        1,
        "until the token came it is nobody's"
    );
    browser.send(Message::text(device.token.as_str())).await.unwrap();
    assert_eq!(next(&mut browser).await, Message::text("hello ses_1"));
    assert_eq!(server.access.connections().count_of(device.id), 2);
}

#[tokio::test]
async fn a_header_that_does_not_open_the_route_is_refused_before_the_upgrade() {
    let server = serve(Limits::default()).await;
    let viewer = server.device(Role::Viewer, false).await;
    assert_eq!(
        status_of(open(&server, PATH, &[("authorization", &bearer(&viewer))]).await).await,
        403
    );
    assert_eq!(
        status_of(open(&server, PATH, &[("authorization", "Bearer tsm_dev_x")]).await).await,
        401
    );
    assert_eq!(status_of(open(&server, "/v1/greet/ses_1", &[]).await).await, 400);
    assert_eq!(
        status_of(open(&server, "/v1/greet/a.b?greeting=x", &[]).await).await,
        404
    );
}

#[tokio::test]
async fn a_foreign_origin_is_refused_with_and_without_a_token() {
    let server = serve(Limits::default()).await;
    let device = server.device(Role::Operator, false).await;
    for origin in ["https://evil.example", "null"] {
        assert_eq!(
            status_of(open(&server, PATH, &[("origin", origin)]).await).await,
            403
        );
        let both = [("origin", origin), ("authorization", &bearer(&device))];
        assert_eq!(status_of(open(&server, PATH, &both).await).await, 403);
    }
    assert_eq!(server.access.connections().count_of(device.id), 0);
}

#[tokio::test]
async fn a_first_frame_that_opens_nothing_closes_with_the_reason() {
    let server = serve(Limits::default()).await;
    let viewer = server.device(Role::Viewer, false).await;
    let cases = [
        (Message::text("tsm_dev_x"), close::UNAUTHENTICATED),
        (Message::text("x".repeat(1000)), close::UNAUTHENTICATED),
        (Message::binary(vec![0]), close::UNAUTHENTICATED),
        (Message::text(viewer.token.as_str()), close::NOT_PERMITTED),
    ];
    for (frame, code) in cases {
        let mut socket = open(&server, PATH, &[]).await.unwrap();
        socket.send(frame).await.unwrap();
        assert_eq!(close_code(&mut socket).await, code);
    }
}

#[tokio::test]
async fn a_stranger_is_not_read_beyond_what_a_token_takes() {
    let server = serve(Limits {
        first_frame: Duration::from_secs(1),
        ..Limits::default()
    })
    .await;
    let mut socket = open(&server, PATH, &[]).await.unwrap();
    // Either the kernel takes what nobody reads, or this breaks off once the time for a token is over.
    let _ = socket.send(Message::text("x".repeat(super::MESSAGE))).await;
    match tokio::time::timeout(PATIENCE, socket.next()).await.unwrap() {
        Some(Ok(Message::Close(Some(frame)))) => {
            assert_eq!(frame.reason, "unauthenticated", "not read, not judged");
        }
        Some(Ok(other)) => panic!("it was sent {other:?}"),
        Some(Err(_)) | None => (),
    }
}

#[tokio::test]
async fn what_comes_right_behind_a_token_is_read_once_the_token_was() {
    let routes = Routes::new().websocket::<Write, _, _, _>("/v1/echo", None, echo);
    let server = TestServer::start_with(Limits::default(), routes).await;
    let device = server.device(Role::Operator, false).await;
    let mut socket = open(&server, "/v1/echo?greeting=x", &[]).await.unwrap();
    socket.feed(Message::text(device.token.as_str())).await.unwrap();
    for _ in 0..3 {
        socket.feed(Message::text("y".repeat(100_000))).await.unwrap();
    }
    socket.flush().await.unwrap();
    for _ in 0..3 {
        assert_eq!(next(&mut socket).await, Message::text("100000"));
    }
}

/// Says of each message how long it is.
async fn echo(mut upgraded: Upgraded<Write, Greeting, Arc<Access>>) {
    while let Some(Ok(Sent::Text(text))) = upgraded.socket.recv().await {
        let _ = upgraded
            .socket
            .send(Sent::Text(text.len().to_string().into()))
            .await;
    }
}

#[tokio::test]
async fn a_browser_that_sends_no_token_is_closed_in_time() {
    let server = serve(Limits {
        first_frame: Duration::from_millis(50),
        ..Limits::default()
    })
    .await;
    let mut socket = open(&server, PATH, &[]).await.unwrap();
    assert_eq!(close_code(&mut socket).await, close::UNAUTHENTICATED);
}

#[tokio::test]
async fn a_websocket_beyond_what_a_device_may_have_closes_with_too_many() {
    let server = serve(Limits {
        per_principal: 1,
        ..Limits::default()
    })
    .await;
    let device = server.device(Role::Operator, false).await;
    let mut held = open(&server, PATH, &[("authorization", &bearer(&device))])
        .await
        .unwrap();
    assert_eq!(next(&mut held).await, Message::text("hello ses_1"));
    let mut socket = open(&server, PATH, &[]).await.unwrap();
    socket.send(Message::text(device.token.as_str())).await.unwrap();
    assert_eq!(close_code(&mut socket).await, close::TOO_MANY);
}

#[tokio::test]
async fn a_soft_stop_closes_web_sockets_with_restarting() {
    let mut server = serve(Limits::default()).await;
    let device = server.device(Role::Operator, false).await;
    let mut socket = open(&server, PATH, &[("authorization", &bearer(&device))])
        .await
        .unwrap();
    next(&mut socket).await;
    let mut not_yet_authenticated = open(&server, PATH, &[]).await.unwrap();
    server.stop(Shutdown::Soft).await.unwrap();
    assert_eq!(close_code(&mut socket).await, close::RESTARTING);
    assert_eq!(
        close_code(&mut not_yet_authenticated).await,
        close::RESTARTING,
        "not 4401, which means revoked"
    );
}

#[tokio::test]
async fn a_revoked_web_socket_ends_and_is_told_why_where_there_is_time() {
    let server = serve(Limits::default()).await;
    let mut told = 0;
    for _ in 0..5 {
        let device = server.device(Role::Operator, false).await;
        let mut socket = open(&server, PATH, &[("authorization", &bearer(&device))])
            .await
            .unwrap();
        next(&mut socket).await;
        let path = format!("/v1/devices/{}", device.id);
        assert_eq!(server.owner().await.delete(&path, None).await.json()["closed"], 1);
        match tokio::time::timeout(PATIENCE, socket.next())
            .await
            .expect("it ends")
        {
            Some(Ok(Message::Close(Some(frame)))) if u16::from(frame.code) == close::UNAUTHENTICATED => {
                told += 1;
            }
            Some(Ok(other)) => panic!("it was sent {other:?}"),
            Some(Err(_)) | None => (),
        }
        server.until_none_of(device.id).await;
    }
    assert!(told > 0, "on an idle machine a close frame takes no 20 ms");
}

#[tokio::test]
async fn an_idle_web_socket_outlives_every_limit() {
    let short = Duration::from_millis(100);
    let limits = Limits {
        handshake: short,
        head: short,
        first_frame: short,
        ..Limits::default()
    };
    let server = serve(limits).await;
    let device = server.device(Role::Operator, false).await;
    let mut native = open(&server, PATH, &[("authorization", &bearer(&device))])
        .await
        .unwrap();
    let mut browser = open(&server, PATH, &[]).await.unwrap();
    browser.send(Message::text(device.token.as_str())).await.unwrap();
    for socket in [&mut native, &mut browser] {
        next(socket).await;
        assert!(
            tokio::time::timeout(short * 3, socket.next()).await.is_err(),
            "it says nothing and stays"
        );
    }
}

#[tokio::test]
async fn a_request_that_is_no_upgrade_is_told_so() {
    let server = serve(Limits::default()).await;
    for mut client in [server.owner().await, server.http2().await] {
        let answer = client.ask(Method::GET, PATH, None).await;
        assert_eq!(answer.problem(), (426, "upgrade_required".to_owned()));
    }
}

thread_local! {
    /// What the next query does while it is read.
    static MEANWHILE: std::cell::RefCell<Option<Box<dyn FnOnce()>>> = const { std::cell::RefCell::new(None) };
}

/// A query in whose reading something happens.
struct Meanwhile;

impl<'de> Deserialize<'de> for Meanwhile {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        let happens = MEANWHILE
            .with_borrow_mut(Option::take)
            .expect("something happens");
        happens();
        Ok(Self)
    }
}

#[tokio::test]
async fn nothing_follows_the_refusal_of_who_is_revoked_in_the_middle_of_the_upgrade() {
    async fn bid_farewell(mut upgraded: Upgraded<Write, Meanwhile, Arc<Access>>) {
        super::close(&mut upgraded.socket, close::UNAUTHENTICATED, "revoked").await;
    }
    let routes = Routes::new().websocket::<Write, _, _, _>("/v1/greet/{id}", Some("id"), bid_farewell);
    let server = TestServer::start_with(Limits::default(), routes).await;
    let device = server.device(Role::Operator, false).await;
    let (access, id) = (Arc::clone(&server.access), device.id);
    let revoke = move || {
        let ended = access
            .connections()
            .end(id, || Ok::<_, std::convert::Infallible>(()));
        assert_eq!(ended.map(|((), ended)| ended.count()), Ok(1));
    };
    MEANWHILE.set(Some(Box::new(revoke)));
    let mut stream = server.tls("http/1.1").await;
    let request = format!(
        "GET {PATH} HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.tls,
        bearer(&device)
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // However the stream ends.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.ends_with('}'), "{answer}");
}
