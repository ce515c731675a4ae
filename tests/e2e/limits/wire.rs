//! What TLS and HTTP/2 offer, and what they do not.

use std::sync::Arc;

use harness::{Frame, RawHttp2, TestDaemon, within};
use pairing::Role;
use rustls::{HandshakeKind, pki_types::ServerName};
use tokio::{io::AsyncReadExt, net::TcpStream};

#[tokio::test]
async fn no_ticket_is_given_so_nothing_is_resumed_and_no_data_comes_early() {
    let daemon = TestDaemon::start().await;
    let mut config = certs::client_config(daemon.pin().parse().unwrap());
    config.enable_early_data = true;
    config.resumption = rustls::client::Resumption::in_memory_sessions(8);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    for _ in 0..2 {
        let stream = TcpStream::connect(daemon.address()).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connecting = connector.connect_with(name, stream, |client| {
            assert!(
                client.early_data().is_none(),
                "there is no ticket to send any with"
            );
        });
        let mut stream = within("the handshake", connecting).await.unwrap();
        let request = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, request)
            .await
            .unwrap();
        let mut answer = Vec::new();
        // By the end of an answer a ticket would have come.
        within("the answer", stream.read_to_end(&mut answer)).await.ok();
        assert!(answer.starts_with(b"HTTP/1.1 200 "));
        let (_, client) = stream.get_ref();
        assert_eq!(
            (client.handshake_kind(), client.tls13_tickets_received()),
            (Some(HandshakeKind::Full), 0)
        );
    }
}

#[tokio::test]
async fn a_client_that_speaks_neither_version_of_http_gets_no_handshake() {
    let daemon = TestDaemon::start().await;
    let mut config = certs::client_config(daemon.pin().parse().unwrap());
    config.alpn_protocols = vec![b"h3".to_vec(), b"spdy/3".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(daemon.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let refused = within("the handshake", connector.connect(name, stream))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("NoApplicationProtocol"), "{refused}");
}

#[tokio::test]
async fn http_2_says_its_bounds_and_offers_no_extended_connect() {
    let daemon = TestDaemon::start().await;
    let access = daemon.device(Role::Operator).await.access().await;
    let session = daemon.owner().shell("sleep 600").await;
    let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    // RFC 8441 section 3 and RFC 9113 section 6.5.2.
    assert_ne!(raw.setting(8), Some(1), "SETTINGS_ENABLE_CONNECT_PROTOCOL");
    assert_eq!(raw.setting(3), Some(64), "SETTINGS_MAX_CONCURRENT_STREAMS");
    assert_eq!(raw.setting(6), Some(16 * 1024), "SETTINGS_MAX_HEADER_LIST_SIZE");
    let (host, bearer) = (daemon.address().to_string(), format!("Bearer {access}"));
    let attach = format!("/v1/sessions/{}/attach?mode=view&from=screen", session.id);
    let connect = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "https"),
        (":path", attach.as_str()),
        (":authority", host.as_str()),
        ("authorization", bearer.as_str()),
        ("sec-websocket-version", "13"),
    ];
    raw.request(1, &connect, false).await;
    let opens = |frame: &Frame| frame.kind == Frame::HEADERS && !frame.ends_stream();
    // Whoever does it all the same is refused, and no stream of it becomes one of a session.
    match raw.body(1).await {
        None => {}
        Some(body) => assert!(body.contains("\"code\":\""), "{body}"),
    }
    assert!(!raw.settled().await.iter().any(opens));
    assert_eq!(daemon.owner().session(&session.id).await.viewers, 0);
}

#[tokio::test]
async fn over_http_2_a_second_principal_is_told_to_go_and_so_is_the_connection() {
    let daemon = TestDaemon::start().await;
    let (first, second) = (
        daemon.device(Role::Viewer).await,
        daemon.device(Role::Viewer).await,
    );
    let mut raw = RawHttp2::open(daemon.address(), daemon.pin(), &[]).await;
    let host = daemon.address().to_string();
    for (stream, device, said) in [(1, &first, "\"device\""), (3, &second, "\"other_principal\"")] {
        let bearer = format!("Bearer {}", device.access().await);
        let fields = [
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/v1/whoami"),
            (":authority", host.as_str()),
            ("authorization", bearer.as_str()),
        ];
        raw.request(stream, &fields, true).await;
        let body = raw.body(stream).await.unwrap();
        assert!(body.contains(said), "{body}");
    }
    while raw.next().await.is_some() {}
    assert!(raw.is_told_to_go(), "it is said, and then the connection ends");
}
