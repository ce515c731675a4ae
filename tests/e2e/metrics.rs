//! `GET /metrics`, and the devices that read it.

mod dashboard;

use std::collections::BTreeMap;

use harness::{Guest, TestDaemon, TlsClient, until};
use pairing::Role;
use protocol::{attach::Mode, sessions::Session};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The figures of a scrape by name and labels, once the text is seen to be what Prometheus reads.
async fn scrape(daemon: &TestDaemon) -> BTreeMap<String, f64> {
    read(&text(daemon).await)
}

/// What a scrape says.
async fn text(daemon: &TestDaemon) -> String {
    let answer = daemon.owner().get("/metrics").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let kind = answer.headers["content-type"].to_str().unwrap();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    answer.body
}

/// The exposition format 0.0.4, as far as it is used.
fn read(text: &str) -> BTreeMap<String, f64> {
    let (mut figures, mut families) = (BTreeMap::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (name, help) = line.strip_prefix("# HELP ").unwrap().split_once(' ').unwrap();
        assert!(help.ends_with('.') && is_name(name), "{line}");
        assert!(!families.contains(&name), "{name} comes twice");
        families.push(name);
        let kind = lines.next().unwrap();
        let kind = kind.strip_prefix(&format!("# TYPE {name} ")).unwrap();
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        while let Some(figure) = lines.next_if(|line| !line.starts_with('#')) {
            let (series, value) = figure.rsplit_once(' ').unwrap();
            let labels = series.strip_prefix(name).unwrap();
            let parts = ["_bucket", "_sum", "_count"].iter();
            let part = parts.filter_map(|part| labels.strip_prefix(part)).next();
            assert_eq!(part.is_some(), kind == "histogram", "{figure}");
            let labels = part.unwrap_or(labels);
            assert!(labels.is_empty() || is_labels(labels), "{figure}");
            let former = figures.insert(series.to_owned(), value.parse().unwrap());
            assert_eq!(former, None, "{series} comes twice");
        }
    }
    figures
}

fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    text.bytes().all(is_plain)
}

fn is_labels(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    inside.is_some_and(|inside| {
        inside.split(',').all(|label| {
            let (key, value) = label.split_once('=').unwrap();
            let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            is_name(key) && value.is_some_and(|value| !value.contains(['"', '\\']))
        })
    })
}

#[tokio::test]
async fn a_device_made_for_it_reads_the_metrics_and_nothing_else() {
    let mut daemon = TestDaemon::start().await;
    let added = daemon
        .cli(&["devices", "add", "prometheus", "--metrics", "--json"])
        .await;
    assert_eq!(added.json()["role"], "metrics", "{added:?}");
    let token = added.json()["token"].as_str().unwrap().to_owned();
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let answer = client.get("/metrics", Some(&token)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let figures = read(&answer.body);
    let own = format!(
        "transom_connections{{listener=\"{}\",principal=\"device\"}}",
        daemon.address()
    );
    assert_eq!(figures[&own], 1.0, "{figures:?}");
    for path in [
        "/v1/whoami",
        "/v1/sessions",
        "/v1/events",
        "/v1/devices",
        "/v1/devices/self",
        "/v1/status",
        "/v1/audit",
        "/v1/guests",
    ] {
        assert_eq!(
            client.get(path, Some(&token)).await.verdict(),
            "403 not_permitted",
            "{path}"
        );
    }
    daemon.kill_and_restart().await;
    let client = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(client.get("/metrics", Some(&token)).await.status, 200);
    let both = ["devices", "add", "x", "--metrics", "--dangerous-operator"];
    assert_eq!(daemon.cli(&both).await.code, 2);
}

#[tokio::test]
async fn nobody_else_reads_the_metrics() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("cat").await;
    let (operator, guest) = (
        daemon.device(Role::Operator).await,
        Guest::of(&daemon, &[&session.id]).await,
    );
    assert_eq!(operator.get("/metrics").await.verdict(), "403 not_permitted");
    assert_eq!(guest.get("/metrics").await.verdict(), "403 not_permitted");
    let client = TlsClient::new(daemon.address(), daemon.pin());
    assert_eq!(
        client.get("/metrics", None).await.verdict(),
        "401 unauthenticated"
    );
}

#[tokio::test]
async fn the_figures_are_those_of_what_happened() {
    let daemon = TestDaemon::start().await;
    let before = scrape(&daemon).await;
    let figure = |figures: &BTreeMap<String, f64>, name: &str| figures.get(name).copied().unwrap_or(0.0);
    let (ends, runs) = (
        daemon.owner().shell("exit 3").await,
        daemon.owner().shell("cat").await,
    );
    daemon.owner().ended(&ends.id).await;
    let device = daemon.device(Role::Viewer).await;
    assert_eq!(device.get("/v1/status").await.verdict(), "403 not_permitted");
    let guest = Guest::of(&daemon, &[&runs.id]).await;
    assert_eq!(guest.get("/v1/whoami").await.status, 200);
    let client = TlsClient::new(daemon.address(), daemon.pin());
    for _ in 0..3 {
        let answer = client.get("/v1/whoami", Some("tsm_dev_wrong")).await;
        assert_eq!(answer.verdict(), "401 malformed_token");
    }
    assert_eq!(
        client.get("/v1/whoami", None).await.verdict(),
        "401 unauthenticated"
    );
    daemon
        .owner()
        .revoke(daemon.device(Role::Viewer).await.id())
        .await;
    let after = scrape(&daemon).await;
    for (name, expected) in [
        ("transom_sessions{state=\"running\"}", 1),
        ("transom_sessions{state=\"exited\"}", 1),
        ("transom_sessions{state=\"deleted\"}", 0),
        ("transom_devices{role=\"viewer\"}", 1),
        ("transom_guests{state=\"joined\"}", 1),
        ("transom_locked_down", 0),
        ("transom_pairing_steps_total{step=\"committed\"}", 2),
        ("transom_pairing_steps_total{step=\"rejected\"}", 0),
        ("transom_revocations_total{of=\"device\",cause=\"revoked\"}", 1),
        ("transom_revocations_total{of=\"guest\",cause=\"revoked\"}", 0),
        ("transom_failed_credentials_total{cause=\"malformed_token\"}", 3),
        ("transom_refusals_total{cause=\"malformed_token\"}", 3),
        ("transom_refusals_total{cause=\"not_permitted\"}", 1),
        ("transom_revocation_duration_seconds_count", 1),
        ("transom_revocation_duration_seconds_bucket{le=\"+Inf\"}", 1),
        ("transom_keeper_state{state=\"connected\"}", 1),
        ("transom_keeper_state{state=\"none\"}", -1),
        ("transom_keeper_losses_total", 0),
        ("transom_failed_store_writes_total", 0),
    ] {
        let expected = figure(&before, name) + f64::from(expected);
        assert_eq!(figure(&after, name), expected, "{name}");
    }
    let nothing_shown = "transom_failed_credentials_total{cause=\"unauthenticated\"}";
    assert!(!after.contains_key(nothing_shown), "it is no failure");
    assert!(after["process_resident_memory_bytes"] > 1e6);
    let owner = "transom_connections{listener=\"unix\",principal=\"owner\"}";
    assert!(after[owner] >= 1.0, "{after:?}");
    let listener = daemon.address();
    for principal in ["device", "guest", "nobody"] {
        let name = format!("transom_connections{{listener=\"{listener}\",principal=\"{principal}\"}}");
        assert!(figure(&after, &name) >= 1.0, "{name}: {after:?}");
    }
}

#[tokio::test]
async fn handshakes_proofs_bytes_and_attachments_are_counted() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell("cat").await;
    let device = daemon.device(Role::Operator).await;
    let before = scrape(&daemon).await;
    let mut writer = device.attach(&session.id, Mode::Write, "0").await;
    writer.send_input(b"seen\n").await;
    writer.until("seen").await;
    let viewer = daemon.owner().attach(&session.id, Mode::View, "0").await;
    let mut no_tls = TcpStream::connect(daemon.address()).await.unwrap();
    no_tls.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    // The daemon says by an alert that this is no TLS, and closes.
    let mut alert = Vec::new();
    no_tls.read_to_end(&mut alert).await.ok();
    let after = until("the count of what was no handshake", async || {
        let after = scrape(&daemon).await;
        (after["transom_broken_handshakes_total{cause=\"tls\"}"] > 0.0).then_some(after)
    })
    .await;
    let grown = |name: &str| after[name] - before[name];
    for (name, expected) in [
        ("transom_attachments{mode=\"write\"}", 1.0),
        ("transom_attachments{mode=\"view\"}", 1.0),
        ("transom_broken_handshakes_total{cause=\"tls\"}", 1.0),
        ("transom_skipped_replays_total", 0.0),
    ] {
        assert_eq!(grown(name), expected, "{name}");
    }
    for name in [
        "transom_handshakes_total",
        "transom_proofs_total",
        "transom_accepted_connections_total",
        "transom_received_bytes_total{transport=\"tls\"}",
        "transom_sent_bytes_total{transport=\"tls\"}",
        "transom_received_bytes_total{transport=\"unix\"}",
        "transom_sent_bytes_total{transport=\"unix\"}",
        "transom_store_write_duration_seconds_count",
        "transom_store_write_duration_seconds_sum",
    ] {
        assert!(grown(name) > 0.0, "{name}: {after:?}");
    }
    assert!((0.0..60.0).contains(&after["transom_event_loop_lag_seconds"]));
    drop((writer, viewer));
    until("the end of the attachments", async || {
        let left = scrape(&daemon).await;
        let is_over = ["write", "view"]
            .iter()
            .all(|mode| left[&format!("transom_attachments{{mode=\"{mode}\"}}")] == 0.0);
        // What moved on connections that are gone is not forgotten.
        let sent = "transom_sent_bytes_total{transport=\"tls\"}";
        assert!(left[sent] >= after[sent]);
        is_over.then_some(())
    })
    .await;
}

#[tokio::test]
async fn who_fails_too_often_is_counted_under_the_code_that_is_answered() {
    let daemon = TestDaemon::start().await;
    let client = TlsClient::new(daemon.address(), daemon.pin());
    let mut refused = 0;
    loop {
        refused += 1;
        let answer = client.get("/v1/whoami", Some("tsm_dev_wrong")).await;
        if answer.verdict() == "429 too_many_failures" {
            break;
        }
        assert_eq!(answer.verdict(), "401 malformed_token");
    }
    let after = scrape(&daemon).await;
    for (name, expected) in [
        ("transom_refusals_total{cause=\"too_many_failures\"}", 1),
        ("transom_refusals_total{cause=\"malformed_token\"}", refused - 1),
        (
            "transom_failed_credentials_total{cause=\"malformed_token\"}",
            refused,
        ),
    ] {
        assert_eq!(after[name], f64::from(expected), "{name}");
    }
}

#[tokio::test]
async fn no_name_and_no_id_is_among_the_figures() {
    let daemon = TestDaemon::start().await;
    let wish = json!({ "command": "cat", "name": "hush-hush" });
    let session: Session = daemon.owner().post("/v1/sessions", &wish).await.ok();
    let device = daemon.device(Role::Operator).await;
    let guest = Guest::of(&daemon, &[&session.id]).await;
    assert_eq!(guest.get("/v1/whoami").await.status, 200);
    let added = daemon.cli(&["devices", "add", "whisper", "--json"]).await;
    let text = daemon.owner().get("/metrics").await.body;
    for secret in [
        session.id.as_str(),
        &session.name,
        "whisper",
        added.json()["token"].as_str().unwrap(),
        &device.id().to_string(),
        &guest.guest_id().to_string(),
        device.token(),
        daemon.pin(),
        "tsm_",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}
