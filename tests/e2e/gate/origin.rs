//! Host and Origin, through a tunnel with another port and at the daemon's own.

use harness::{RawRequest, StampingProxy, TestDaemon, TlsClient};
use pairing::Role;

#[tokio::test]
async fn through_a_tunnel_localhost_works_for_pages_requests_and_sockets() {
    let daemon = TestDaemon::start().await;
    let tunnel = StampingProxy::to(daemon.address()).await;
    let port = tunnel.address().port();
    assert_ne!(port, daemon.address().port());
    let session = daemon.owner().shell("echo tunnelled; cat").await;
    let mut device = daemon.device(Role::Viewer).await;
    device.go_by(tunnel.address());
    let instance = daemon.ready().instance.clone();
    let names = [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1",
        "[::1]",
        &format!("{instance}.localhost"),
    ];
    for name in names {
        let host = format!("{name}:{port}");
        // What a browser sends: the origin as it canonicalised it.
        let origin = format!("https://{}:{port}", name.to_lowercase());
        let page = RawRequest::get("/")
            .header("Host", &host)
            .over_tls(tunnel.address(), daemon.pin())
            .await;
        assert!([200, 503].contains(&page.status), "{host}: {page:?}");
        let request = RawRequest::get("/v1/whoami")
            .header("Host", &host)
            .header("Origin", &origin);
        let answer = request
            .bearer(&device.access().await)
            .over_tls(tunnel.address(), daemon.pin())
            .await;
        assert_eq!(answer.verdict(), "200", "{host}");
        let mut socket = device.look_from_page(&host, &origin, &session.id).await.unwrap();
        socket.until("tunnelled").await;
    }
    assert!(tunnel.bytes() > 0);
}

#[tokio::test]
async fn a_page_on_another_port_is_another_origin_even_at_localhost() {
    let daemon = TestDaemon::start().await;
    let tunnel = StampingProxy::to(daemon.address()).await;
    let port = tunnel.address().port();
    let other = daemon.address().port();
    for (host, origin) in [
        (format!("localhost:{port}"), format!("https://localhost:{other}")),
        (format!("localhost:{port}"), "https://localhost".to_owned()),
        (format!("localhost:{port}"), format!("http://localhost:{port}")),
        (format!("localhost:{port}"), format!("https://127.0.0.1:{port}")),
        (format!("127.0.0.1:{port}"), format!("https://localhost:{port}")),
        ("localhost".to_owned(), format!("https://localhost:{port}")),
    ] {
        assert_eq!(
            ask(&daemon, &host, Some(&origin)).await,
            "403 wrong_origin",
            "{host} {origin}"
        );
    }
    assert_eq!(
        ask(&daemon, "localhost", Some("https://localhost")).await,
        "200",
        "both mean 443"
    );
    assert_eq!(
        ask(&daemon, "localhost:443", Some("https://localhost")).await,
        "200"
    );
}

#[tokio::test]
async fn hosts_that_only_look_like_the_daemons_own_are_refused() {
    let daemon = TestDaemon::start().await;
    let port = daemon.address().port();
    let instance = &daemon.ready().instance;
    let wrong = [
        "evil.example".to_owned(),
        "localhost.evil.example".to_owned(),
        "evil-localhost".to_owned(),
        "evil.localhost".to_owned(),
        "localhost..".to_owned(),
        "0000000000000000.localhost".to_owned(),
        format!("a.{instance}.localhost"),
        format!("{instance}.localhost.evil.example"),
        "127.0.0.2".to_owned(),
        "127.0.0.1.nip.io".to_owned(),
        "0.0.0.0".to_owned(),
        "[::]".to_owned(),
        "[::ffff:127.0.0.1]".to_owned(),
        "10.0.0.1".to_owned(),
        "127.1".to_owned(),
        "2130706433".to_owned(),
    ];
    for name in wrong {
        for host in [name.clone(), format!("{name}:{port}")] {
            assert_eq!(ask(&daemon, &host, None).await, "403 wrong_host", "{host}");
        }
    }
}

#[tokio::test]
async fn a_host_that_cannot_be_read_plainly_is_refused_and_the_connection_ends() {
    let daemon = TestDaemon::start().await;
    for host in [
        "user@localhost",
        "localhost/path",
        "localhost:port",
        "localhost:",
        "localhost:1:2",
        "::1",
        "[::1",
        "",
        " ",
    ] {
        assert_eq!(ask(&daemon, host, None).await, "400 ambiguous_host", "{host:?}");
    }
    let over_tls =
        async |request: RawRequest| request.over_tls(daemon.address(), daemon.pin()).await.verdict();
    let twice = RawRequest::get("/v1/health")
        .header("Host", "localhost")
        .header("Host", "evil.example");
    assert_eq!(over_tls(twice).await, "400 ambiguous_host");
    let same_twice = RawRequest::get("/v1/health")
        .header("Host", "localhost")
        .header("Host", "localhost");
    assert_eq!(over_tls(same_twice).await, "400 ambiguous_host");
    assert_eq!(
        over_tls(RawRequest::get("/v1/health")).await,
        "400 ambiguous_host",
        "no host at all"
    );
    let differs = RawRequest::get("https://localhost/v1/health").header("Host", "evil.example");
    assert_eq!(over_tls(differs).await, "400 ambiguous_host");
    let differs = RawRequest::get("https://evil.example/v1/health").header("Host", "localhost");
    assert_eq!(over_tls(differs).await, "400 ambiguous_host");
    let agree = RawRequest::get("https://localhost/v1/health").header("Host", "localhost");
    assert_eq!(over_tls(agree).await, "200");
    let foreign = RawRequest::get("https://evil.example/v1/health").header("Host", "evil.example");
    assert_eq!(over_tls(foreign).await, "403 wrong_host");
}

#[tokio::test]
async fn origins_that_only_look_like_the_hosts_own_are_refused() {
    let daemon = TestDaemon::start().await;
    let port = daemon.address().port();
    let host = format!("localhost:{port}");
    for origin in [
        "null".to_owned(),
        String::new(),
        host.clone(),
        format!("https://user@{host}"),
        format!("https://{host}@evil.example"),
        format!("https://{host}/"),
        format!("https://{host}/path"),
        format!("https://{host}?q"),
        format!("https://{host}#f"),
        format!("https://{host}.evil.example"),
        format!("https://localhost.evil.example:{port}"),
        format!("https://evil.example:{port}"),
        format!("https://localhost:{port}0"),
        format!("https://https://{host}"),
        format!("wss://{host}"),
        format!("http://{host}"),
        format!("//{host}"),
        format!("https://{host}, https://evil.example"),
        format!("https://{host} https://evil.example"),
    ] {
        assert_eq!(
            ask(&daemon, &host, Some(&origin)).await,
            "403 wrong_origin",
            "{origin}"
        );
    }
    let two = RawRequest::get("/v1/health")
        .header("Host", &host)
        .header("Origin", &format!("https://{host}"))
        .header("Origin", "https://evil.example");
    assert_eq!(
        two.over_tls(daemon.address(), daemon.pin()).await.verdict(),
        "403 wrong_origin"
    );
    assert_eq!(ask(&daemon, &host, Some(&format!("https://{host}"))).await, "200");
}

#[tokio::test]
async fn over_http_2_the_authority_is_the_host() {
    let daemon = TestDaemon::start().await;
    let port = daemon.address().port();
    let client = TlsClient::http2(daemon.address(), daemon.pin());
    let ask = async |authority: &str| {
        let request = client.at(authority, "/v1/health").send().await.unwrap();
        assert_eq!(request.version(), http::Version::HTTP_2);
        harness::Answer::read(request).await.unwrap().verdict()
    };
    assert_eq!(ask(&format!("localhost:{port}")).await, "200");
    assert_eq!(
        ask(&format!("{}.localhost:{port}", daemon.ready().instance)).await,
        "200"
    );
    assert_eq!(ask(&format!("evil.example:{port}")).await, "403 wrong_host");
    assert_eq!(
        ask(&format!("localhost.evil.example:{port}")).await,
        "403 wrong_host"
    );
    let two = client
        .at(&format!("localhost:{port}"), "/v1/health")
        .header("host", "evil.example");
    let two = harness::Answer::read(two.send().await.unwrap()).await.unwrap();
    assert!(two.status >= 400, "{two:?}");
}

/// What the daemon says to a request at this host, from a page of this origin.
async fn ask(daemon: &TestDaemon, host: &str, origin: Option<&str>) -> String {
    let request = RawRequest::get("/v1/health").header("Host", host);
    let request = match origin {
        Some(origin) => request.header("Origin", origin),
        None => request,
    };
    request.over_tls(daemon.address(), daemon.pin()).await.verdict()
}
