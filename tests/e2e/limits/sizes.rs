//! How much a head and a body may hold.

use harness::{Answer, RawHttp2, RawRequest, TestDaemon, TlsClient, tls, within};
use pairing::Role;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_body_is_taken_up_to_its_bound_and_refused_beyond_over_both_versions_of_http() {
    let daemon = TestDaemon::start().await;
    let access = daemon.device(Role::Operator).await.access().await;
    let clients = [
        TlsClient::new(daemon.address(), daemon.pin()),
        TlsClient::http2(daemon.address(), daemon.pin()),
    ];
    for client in &clients {
        let post = async |path: &str, bearer: Option<&str>, bytes: usize| {
            let request = client.build("POST", path, bearer, None::<&()>);
            let request = request
                .header("content-type", "application/json")
                .body(" ".repeat(bytes));
            let response = within(path, request.send()).await.unwrap();
            Answer::read(response).await.unwrap().verdict()
        };
        for (path, bearer, bound) in [
            ("/v1/pairing/requests", None, server::limits::PUBLIC_BODY),
            ("/v1/sessions", Some(access.as_str()), server::limits::BODY),
        ] {
            assert_eq!(
                post(path, bearer, bound).await,
                "400 malformed_request",
                "{path}: blank, and read"
            );
            assert_eq!(
                post(path, bearer, bound + 1).await,
                "413 body_too_large",
                "{path}"
            );
        }
        // Who may not come in is refused whatever it brings.
        assert_eq!(post("/v1/sessions", None, 16).await, "401 unauthenticated");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused_and_its_connection_ends() {
    let daemon = TestDaemon::start().await;
    let host = daemon.address().to_string();
    let ask = async |bytes: usize| {
        let request = RawRequest::get("/v1/health").header("Host", &host);
        let request = request.header("X-Long", &"x".repeat(bytes));
        request.over_tls(daemon.address(), daemon.pin()).await
    };
    assert_eq!(ask(server::limits::HEAD - 1024).await.status, 200);
    let refused = ask(server::limits::HEAD).await;
    // It is not read so far that anybody could say more.
    assert_eq!((refused.status, refused.body.as_str()), (431, ""));
    let endless = tls(daemon.address(), daemon.pin(), &[b"http/1.1"]).await;
    let (mut reader, mut writer) = tokio::io::split(endless);
    let writing = async {
        writer.write_all(b"GET / HTTP/1.1\r\nX: ").await.unwrap();
        while writer.write_all(&[b'x'; 4096]).await.is_ok() {}
    };
    let mut rest = Vec::new();
    let ended = async {
        tokio::select! {
            () = writing => {}
            _ = reader.read_to_end(&mut rest) => {}
        }
    };
    within("the end of a head without one", ended).await;
}

#[tokio::test]
async fn over_http_2_a_head_that_is_too_long_costs_only_its_own_request() {
    let daemon = TestDaemon::start().await;
    let host = daemon.address().to_string();
    let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    let fields = [
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/v1/health"),
        (":authority", host.as_str()),
    ];
    // Short enough for a frame and too long for a head, where each field counts 32 bytes more.
    let long = "x".repeat(server::limits::HEAD - 800);
    let too_long = [&fields[..], &[("x-long", long.as_str())], &[("x", ""); 30]].concat();
    raw.request(1, &too_long, true).await;
    assert_eq!(
        raw.body(1)
            .await
            .filter(|body| body.contains("\"status\":\"ok\"")),
        None
    );
    raw.request(3, &fields, true).await;
    assert!(raw.body(3).await.unwrap().contains("\"status\":\"ok\""));
}
