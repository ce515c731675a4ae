use std::{net::IpAddr, path::PathBuf, time::Duration};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};

use super::{LocalApi, LocalApiError, MOST, Phase};

/// Somebody at a socket who says the same to whoever asks, and what was asked.
struct Said {
    folder: TempDir,
    asked: JoinHandle<String>,
}

impl Said {
    fn once(answer: Vec<u8>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("sock")).unwrap();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let asked = head(&mut stream).await;
            // Whoever has heard enough goes away.
            stream.write_all(&answer).await.ok();
            asked
        });
        Self { folder, asked }
    }

    fn json(body: &str) -> Self {
        Self::once(answer("200 OK", body))
    }

    fn api(&self) -> LocalApi {
        LocalApi::new(self.folder.path().join("sock"))
    }
}

async fn head(stream: &mut UnixStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap()
}

fn answer(status: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn phone() -> IpAddr {
    "100.64.0.7".parse().unwrap()
}

#[tokio::test]
async fn a_node_of_a_user_is_known_by_its_ids_and_its_name_has_no_dot_at_the_end() {
    let said = Said::json(
        r#"{"Node": {"ID": 7, "StableID": "nPhone", "Name": "Phone.tail1234.ts.net.", "User": 42},
            "UserProfile": {"ID": 42, "LoginName": "alice@example.com", "DisplayName": "Alice"}, "CapMap": null}"#,
    );
    let known = said.api().who_is(phone()).await.unwrap().unwrap();
    assert_eq!(
        (known.user_id.as_str(), known.user.as_str()),
        ("42", "alice@example.com")
    );
    assert_eq!(
        (known.node_id.as_str(), known.node.as_str()),
        ("nPhone", "phone.tail1234.ts.net")
    );
    assert!(known.tags.is_empty());
    let asked = said.asked.await.unwrap();
    assert!(
        asked.starts_with("GET /localapi/v0/whois?addr=100.64.0.7 HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(
        asked
            .to_ascii_lowercase()
            .contains("\r\nhost: local-tailscaled.sock\r\n"),
        "{asked}"
    );
}

#[tokio::test]
async fn an_address_of_version_6_is_asked_for_as_it_is_written() {
    let said = Said::once(answer("404 Not Found", "no match for IP:port\n"));
    let nobody = said.api().who_is("fd7a:115c:a1e0::7".parse().unwrap()).await;
    assert_eq!(nobody.unwrap(), None);
    assert!(said.asked.await.unwrap().contains("?addr=fd7a:115c:a1e0::7 "));
}

#[tokio::test]
async fn a_tagged_node_has_no_user_whatever_stands_in_its_place() {
    let said = Said::json(
        r#"{"Node": {"StableID": "nCi", "Name": "ci.tail1234.ts.net.", "User": 42, "Tags": ["tag:ci"]},
            "UserProfile": {"ID": 42, "LoginName": "alice@example.com"}}"#,
    );
    let known = said.api().who_is(phone()).await.unwrap().unwrap();
    assert_eq!((known.user_id.as_str(), known.user.as_str()), ("", ""));
    assert_eq!(known.tags, ["tag:ci"]);
}

#[tokio::test]
async fn an_answer_that_names_no_node_or_no_user_is_nobody() {
    for body in [
        "{}",
        r#"{"Node": null, "UserProfile": {"ID": 42, "LoginName": "alice@example.com"}}"#,
        r#"{"Node": {"Name": "phone."}, "UserProfile": {"ID": 42, "LoginName": "alice@example.com"}}"#,
        r#"{"Node": {"StableID": "nPhone"}, "UserProfile": null}"#,
        r#"{"Node": {"StableID": "nPhone"}, "UserProfile": {"LoginName": "alice@example.com"}}"#,
    ] {
        assert_eq!(
            Said::json(body).api().who_is(phone()).await.unwrap(),
            None,
            "{body}"
        );
    }
}

#[tokio::test]
async fn the_own_node_is_told_with_its_user_or_its_tags() {
    let own = |body: &'static str| async move { Said::json(body).api().status().await.unwrap() };
    let (phase, node) = own(
        r#"{"BackendState": "Running", "CertDomains": ["box.tail1234.ts.net"], "Peer": null,
            "Self": {"ID": "nBox", "DNSName": "box.tail1234.ts.net.", "UserID": 42,
                     "TailscaleIPs": ["100.64.0.1", "fd7a:115c:a1e0::1"]},
            "User": {"42": {"ID": 42, "LoginName": "alice@example.com"}}}"#,
    )
    .await;
    let node = node.unwrap();
    assert_eq!(phase, Phase::Running);
    assert_eq!(node.name.as_deref(), Some("box.tail1234.ts.net"));
    assert_eq!(node.addresses.len(), 2);
    assert_eq!(
        (node.user_id.as_deref(), node.user.as_deref()),
        (Some("42"), Some("alice@example.com"))
    );
    assert!(node.has_certificates && node.tags.is_empty());
    let (_, node) = own(
        r#"{"BackendState": "Running", "CertDomains": null,
            "Self": {"DNSName": "box.tail1234.ts.net.", "UserID": 9, "TailscaleIPs": ["100.64.0.1"], "Tags": ["tag:box"]},
            "User": {"9": {"ID": 9, "LoginName": "tagged-devices"}}}"#,
    )
    .await;
    let node = node.unwrap();
    assert_eq!(
        (node.user_id, node.user, node.has_certificates),
        (None, None, false)
    );
    for (state, means) in [
        ("NeedsLogin", Phase::NeedsLogin),
        ("NeedsMachineAuth", Phase::NeedsLogin),
        ("Starting", Phase::Starting),
        ("Stopped", Phase::Stopped),
        ("NoState", Phase::Starting),
        ("SomethingNew", Phase::Stopped),
    ] {
        let said = Said::json(&format!(r#"{{"BackendState": "{state}", "Self": null}}"#));
        assert_eq!(said.api().status().await.unwrap(), (means, None), "{state}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    let missing = LocalApi::new(PathBuf::from("/nonexistent/tailscaled.sock"));
    assert!(matches!(
        missing.status().await,
        Err(LocalApiError::Unreachable(_))
    ));
    let denied = Said::once(answer("403 Forbidden", "cert access denied\n"));
    let error = denied.api().certificate("box.tail1234.ts.net").await.unwrap_err();
    assert_eq!(error.to_string(), "tailscaled refuses to say: cert access denied");
    let failed = Said::once(answer("500 Internal Server Error", "no \x1b[31mcert\n"));
    let error = failed.api().certificate("box.tail1234.ts.net").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "tailscaled says 500 Internal Server Error: no [31mcert"
    );
    for (nonsense, why) in [
        (answer("200 OK", "<html>"), "it is no JSON"),
        (answer("200 OK", r#"{"BackendState": 7}"#), "it lacks something"),
        (b"SSH-2.0\r\n".to_vec(), "it is no HTTP"),
        (Vec::new(), "it broke off"),
    ] {
        let error = Said::once(nonsense).api().status().await.unwrap_err();
        let words = format!("tailscaled's answer cannot be understood: {why}");
        assert!(error.to_string().starts_with(&words), "{error}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.resize(MOST + 100, b' ');
    let error = Said::once(endless).api().status().await.unwrap_err();
    assert!(error.to_string().contains("longer than"), "{error}");
}

#[tokio::test]
async fn nobody_waits_long_for_one_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("sock")).unwrap();
    let api = LocalApi {
        quick: Duration::from_millis(20),
        ..LocalApi::new(folder.path().join("sock"))
    };
    let (who_is, changes) = tokio::join!(api.who_is(phone()), api.changes());
    assert!(matches!(who_is, Err(LocalApiError::TimedOut)));
    assert!(matches!(changes.err(), Some(LocalApiError::TimedOut)));
    drop(listener);
}

#[tokio::test]
async fn each_line_of_the_bus_is_a_change_and_its_end_is_told() {
    let body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n";
    let said = Said::once(body.as_bytes().to_vec());
    let mut changes = said.api().changes().await.unwrap();
    changes.next().await.unwrap();
    assert!(changes.next().await.is_err());
    assert!(said.asked.await.unwrap().contains("/watch-ipn-bus?mask=274 "));
}

#[tokio::test]
async fn the_other_nodes_are_told_with_their_users_tags_and_systems() {
    let said = Said::json(
        r#"{
            "BackendState": "Running",
            "Peer": {
                "nodekey:1": { "ID": "nPhone", "DNSName": "Pixel.tail1234.ts.net.", "HostName": "pixel", "OS": "android",
                               "UserID": 42, "Tags": null, "Online": true },
                "nodekey:2": { "ID": "nCi", "DNSName": "", "HostName": "ci", "OS": "linux", "UserID": 9000,
                               "Tags": ["tag:ci"], "Online": false }
            },
            "User": { "42": { "ID": 42, "LoginName": "alice@example.com" } }
        }"#,
    );
    let mut others = said.api().others().await.unwrap();
    others.sort_by(|one, other| one.who.node.cmp(&other.who.node));
    let [ci, phone] = &others[..] else {
        panic!("{others:?}")
    };
    assert_eq!((&*ci.who.node, &*ci.who.user_id, ci.is_online), ("ci", "", false));
    assert_eq!(ci.who.tags, ["tag:ci"]);
    assert_eq!(
        (&*phone.who.user_id, &*phone.who.user),
        ("42", "alice@example.com")
    );
    assert_eq!(
        (&*phone.system, &*phone.who.node),
        ("android", "pixel.tail1234.ts.net")
    );
    assert!(phone.is_online);
    let nobody = Said::json(r#"{ "Peer": null }"#);
    assert!(nobody.api().others().await.unwrap().is_empty());
}
