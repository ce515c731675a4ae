//! What stands before authentication: the Unix socket's peer, Host and Origin, TLS, and silent strangers.

mod origin;
mod strangers;

use std::{
    fs::{self, File, Permissions},
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    process::Stdio,
    sync::Arc,
};

use harness::{Answer, Finished, RawRequest, StampingProxy, TestDaemon, TlsClient, tls};
use pairing::Role;
use protocol::{attach::Mode, sessions::Session};
use serde_json::json;
use tokio::process::Command;

#[tokio::test]
async fn another_user_is_stopped_by_the_folders_mode_and_without_it_by_the_kernels_word() {
    assert!(
        rustix::process::geteuid().is_root(),
        "run this test as root, who can act as another user"
    );
    let daemon = TestDaemon::start().await;
    let verbs = [
        &["status"][..],
        &["ls"],
        &["devices"],
        &["new", "--", "sleep", "600"],
        &["pair"],
    ];
    for verb in verbs {
        let stopped = as_nobody(&daemon, verb).await;
        assert_eq!(
            (stopped.code, code(&stopped).as_str()),
            (4, "socket_not_permitted"),
            "{stopped:?}"
        );
    }
    fs::set_permissions(daemon.folder(), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(daemon.socket(), Permissions::from_mode(0o777)).unwrap();
    for verb in verbs {
        let refused = as_nobody(&daemon, verb).await;
        assert_eq!(
            (refused.code, code(&refused).as_str()),
            (4, "other_user"),
            "{refused:?}"
        );
    }
    let sessions: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    assert!(sessions.is_empty());
    assert!(
        !daemon
            .owner()
            .get("/v1/pairing/offers")
            .await
            .body
            .contains("ofr_")
    );
}

#[tokio::test]
async fn every_answer_carries_the_security_headers_and_none_that_harms() {
    let daemon = TestDaemon::start().await;
    let access = daemon.device(Role::Viewer).await.access().await;
    let session = daemon.owner().shell("sleep 600").await;
    let raw = async |request: RawRequest| request.over_tls(daemon.address(), daemon.pin()).await;
    let host = daemon.address().to_string();
    let get = |path: &str| RawRequest::get(path).header("Host", &host);
    let attach = format!("/v1/sessions/{}/attach?mode=view&from=screen", session.id);
    let answers = [
        (200, raw(get("/v1/health")).await),
        (200, raw(get("/v1/whoami").bearer(&access)).await),
        (400, raw(get("/v1/health").header("Host", "localhost")).await),
        (401, raw(get("/v1/whoami")).await),
        (401, raw(get("/v1/whoami").bearer("nonsense")).await),
        (403, raw(get("/v1/devices").bearer(&access)).await),
        (
            403,
            raw(RawRequest::get("/").header("Host", "evil.example")).await,
        ),
        (403, raw(get("/").header("Origin", "https://evil.example")).await),
        (404, raw(get("/nothing/here")).await),
        (404, raw(get("/v1/nothing")).await),
        (
            405,
            raw(RawRequest::new("PUT", "/v1/health").header("Host", &host)).await,
        ),
        (
            415,
            raw(RawRequest::new("POST", "/v1/pairing/requests").header("Host", &host)).await,
        ),
        (426, raw(get(&attach).bearer(&access)).await),
        (
            101,
            raw(RawRequest::upgrade(&attach).header("Host", &host).bearer(&access)).await,
        ),
        (
            403,
            RawRequest::get("/v1/health")
                .header("Host", "x")
                .header("Origin", "null")
                .over_unix(&daemon.socket())
                .await,
        ),
        (200, daemon.owner().get("/v1/health").await),
    ];
    for (status, answer) in answers {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_secure(&answer);
    }
    for page in ["/", "/pair", &format!("/s/{}", session.id)] {
        let page = raw(get(page)).await;
        assert_secure(&page);
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert_eq!(policy, policy_for(&format!("'self' wss://{host}")));
    }
    let client = TlsClient::http2(daemon.address(), daemon.pin());
    for path in ["/v1/health", "/v1/whoami", "/", "/nothing/here"] {
        let answer = client.get(path, None).await;
        assert_secure(&answer);
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert_eq!(
            policy,
            policy_for(&format!("'self' wss://{host}")),
            "{path} over HTTP/2"
        );
    }
}

#[tokio::test]
async fn both_versions_of_http_are_served_and_what_the_client_offers_decides() {
    let daemon = TestDaemon::start().await;
    for (offers, chosen) in [
        (&[&b"h2"[..], b"http/1.1"][..], Some(&b"h2"[..])),
        (&[b"http/1.1"], Some(b"http/1.1")),
    ] {
        let stream = tls(daemon.address(), daemon.pin(), offers).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
        assert_eq!(
            stream.get_ref().1.protocol_version(),
            Some(rustls::ProtocolVersion::TLSv1_3)
        );
    }
    let proxy = StampingProxy::to(daemon.address()).await;
    let access = daemon.device(Role::Viewer).await.access().await;
    for address in [daemon.address(), proxy.address()] {
        let client = TlsClient::http2(address, daemon.pin());
        let request = client.build("GET", "/v1/whoami", Some(&access), None::<&()>);
        let response = request.send().await.unwrap();
        assert_eq!(
            (response.version(), response.status().as_u16()),
            (http::Version::HTTP_2, 200)
        );
        let foreign = client.build("GET", "/v1/whoami", Some(&access), None::<&()>);
        let foreign = foreign
            .header("origin", "https://evil.example")
            .send()
            .await
            .unwrap();
        assert_eq!(Answer::read(foreign).await.unwrap().verdict(), "403 wrong_origin");
    }
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let daemon = TestDaemon::start().await;
    let verifier = certs::PinVerifier::new(daemon.pin().parse().unwrap());
    let old = rustls::ClientConfig::builder_with_protocol_versions(&[&rustls::version::TLS12])
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(daemon.address()).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(old));
    let error = connector
        .connect("localhost".try_into().unwrap(), stream)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("ProtocolVersion"), "{error}");
    let plain = tokio::net::TcpStream::connect(daemon.address()).await.unwrap();
    assert_eq!(
        strangers::bytes_until_closed(plain, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await,
        7,
        "an alert"
    );
}

#[tokio::test]
async fn forged_headers_about_who_asks_change_nothing() {
    let daemon = TestDaemon::start().await;
    let access = daemon.device(Role::Viewer).await.access().await;
    let host = daemon.address().to_string();
    let forged = |request: RawRequest| {
        [
            ("Tailscale-User-Login", "owner@example.com"),
            ("Tailscale-User-Name", "Owner"),
            ("X-Forwarded-For", "127.0.0.1"),
            ("X-Forwarded-Host", "localhost"),
            ("X-Forwarded-User", "root"),
            ("X-Real-IP", "127.0.0.1"),
            ("Forwarded", "for=127.0.0.1;host=localhost;proto=https"),
            ("X-Original-URL", "/v1/health"),
            ("Cookie", "token=x"),
        ]
        .iter()
        .fold(request, |request, (name, value)| request.header(name, value))
    };
    let proxy = StampingProxy::to(daemon.address()).await;
    for address in [daemon.address(), proxy.address()] {
        let ask = async |request: RawRequest| forged(request).over_tls(address, daemon.pin()).await.verdict();
        let get = |path: &str| RawRequest::get(path).header("Host", &host);
        assert_eq!(ask(get("/v1/whoami")).await, "401 unauthenticated");
        assert_eq!(ask(get("/v1/devices")).await, "401 unauthenticated");
        assert_eq!(ask(get("/v1/devices").bearer(&access)).await, "403 not_permitted");
        assert_eq!(
            ask(RawRequest::get("/v1/health").header("Host", "evil.example")).await,
            "403 wrong_host"
        );
        let upgrade = RawRequest::upgrade("/v1/events").header("Host", &host);
        assert_eq!(ask(upgrade).await, "401 unauthenticated");
    }
    let mut device = daemon.pairing(Role::Viewer).await;
    device.request().await;
    assert_eq!(
        daemon.owner().pairing_request(device.id()).await.peer,
        "127.0.0.1"
    );
}

#[tokio::test]
async fn a_foreign_page_opens_no_socket_and_starts_nothing_with_a_token_or_without() {
    let daemon = TestDaemon::start().await;
    let access = daemon.device(Role::Operator).await.access().await;
    let session = daemon.owner().shell("exec cat").await;
    let host = daemon.address().to_string();
    let programs = daemon.programs();
    let attach = format!("/v1/sessions/{}/attach?mode=write&from=screen", session.id);
    let create = json!({"command": "/bin/sh", "args": ["-c", "sleep 600"]});
    let requests = [
        RawRequest::upgrade(&attach),
        RawRequest::upgrade("/v1/events"),
        RawRequest::get("/v1/sessions"),
        RawRequest::new("POST", "/v1/sessions").json(&create),
        RawRequest::new("POST", &format!("/v1/sessions/{}/stop", session.id)).json(&json!({})),
    ];
    for origin in ["https://evil.example", "http://localhost", "null", "file://"] {
        for request in &requests {
            let request = request.clone().header("Host", &host).header("Origin", origin);
            for request in [request.clone(), request.bearer(&access)] {
                let answer = request.over_tls(daemon.address(), daemon.pin()).await;
                assert_eq!(answer.verdict(), "403 wrong_origin", "{request:?}");
                let answer = request.over_unix(&daemon.socket()).await;
                assert_eq!(answer.verdict(), "403 wrong_origin", "{request:?}");
            }
        }
    }
    let sessions: Vec<Session> = daemon.owner().get("/v1/sessions").await.ok();
    assert_eq!(sessions.len(), 1);
    assert_eq!(
        (sessions[0].writers, sessions[0].viewers, sessions[0].exit.clone()),
        (0, 0, None)
    );
    assert_eq!(daemon.programs(), programs, "nothing was spawned");
    // The same request of the daemon's own page works: it is the origin that was refused.
    let own = RawRequest::upgrade(&attach)
        .header("Host", &host)
        .header("Origin", &format!("https://{host}"));
    assert_eq!(
        own.bearer(&access)
            .over_tls(daemon.address(), daemon.pin())
            .await
            .status,
        101
    );
}

#[tokio::test]
async fn on_the_unix_socket_any_origin_is_refused_and_the_host_says_nothing() {
    let daemon = TestDaemon::start().await;
    let ask = async |request: RawRequest| request.over_unix(&daemon.socket()).await.verdict();
    for origin in [
        "https://localhost",
        "http://transom",
        "null",
        "",
        "https://evil.example",
    ] {
        let request = RawRequest::get("/v1/status")
            .header("Host", "localhost")
            .header("Origin", origin);
        assert_eq!(ask(request).await, "403 wrong_origin", "{origin}");
    }
    for host in ["evil.example", "localhost", ""] {
        assert_eq!(
            ask(RawRequest::get("/v1/status").header("Host", host)).await,
            "200",
            "{host}"
        );
    }
    let session = daemon.owner().shell("cat").await;
    daemon
        .owner()
        .attach(&session.id, Mode::Write, "screen")
        .await
        .next()
        .await
        .unwrap();
}

/// The command line as the user `nobody`, against this daemon.
async fn as_nobody(daemon: &TestDaemon, verb: &[&str]) -> Finished {
    // By its descriptor, since that user may not be able to reach the path.
    let binary = File::open(harness::binary()).unwrap();
    let mut command = Command::new(format!("/proc/self/fd/{}", binary.as_raw_fd()));
    command
        .env_clear()
        .env("TRANSOM_DIR", daemon.folder())
        .env("HOME", "/")
        .current_dir("/")
        .stdin(Stdio::null());
    command
        .uid(NOBODY)
        .gid(NOBODY)
        .args(&verb[..1])
        .arg("--json")
        .args(&verb[1..]);
    Finished::of(&mut command).await
}

fn code(finished: &Finished) -> String {
    finished.json()["code"]
        .as_str()
        .expect("a problem has a code")
        .to_owned()
}

fn assert_secure(answer: &Answer) {
    let header = |name| answer.headers.get(name).map(|value| value.to_str().unwrap());
    let policy = header("content-security-policy").unwrap_or_else(|| panic!("no policy: {answer:?}"));
    let (_, rest) = policy.split_once("connect-src ").unwrap();
    let (sources, _) = rest.split_once(';').unwrap();
    assert!(
        sources == "'self'" || sources.starts_with("'self' wss://"),
        "{sources}"
    );
    assert_eq!(policy, policy_for(sources));
    assert_eq!(header("x-content-type-options"), Some("nosniff"), "{answer:?}");
    assert_eq!(header("referrer-policy"), Some("no-referrer"), "{answer:?}");
    assert_eq!(
        header("cross-origin-opener-policy"),
        Some("same-origin"),
        "{answer:?}"
    );
    assert_eq!(
        header("cross-origin-resource-policy"),
        Some("same-origin"),
        "{answer:?}"
    );
    for absent in [
        "strict-transport-security",
        "set-cookie",
        "access-control-allow-origin",
        "server",
    ] {
        assert_eq!(header(absent), None, "{answer:?}");
    }
}

/// The whole policy, as the design has it.
fn policy_for(sources: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src {sources}; \
         img-src 'self' data: blob:; font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types transom-worker"
    )
}

/// The user and group that own nothing (Debian's and Fedora's `nobody`).
const NOBODY: u32 = 65534;
