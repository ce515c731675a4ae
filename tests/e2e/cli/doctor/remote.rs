//! `transom doctor --on`: the way to a remote, step by step.

use std::{fs, net::TcpListener};

use harness::{Elsewhere, TestDaemon};
use pairing::Role;

use super::Found;

async fn on_desk(elsewhere: &Elsewhere) -> (i32, Found) {
    let said = elsewhere.on_desk(&["doctor", "--json"]).await;
    (said.code, Found::of(&said))
}

#[tokio::test]
async fn each_step_of_a_way_that_is_open_is_told_and_nothing_is_changed() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    let before = super::files(elsewhere.folder());
    let (code, found) = on_desk(&elsewhere).await;
    assert_eq!(code, 0, "{:#?}", found.0);
    let names: Vec<&str> = found
        .0
        .iter()
        .map(|check| check["check"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["remote", "resolve", "connect", "tls", "clock", "version", "token"]
    );
    assert!(
        found.0.iter().all(|check| check["state"] == "ok"),
        "{:#?}",
        found.0
    );
    let (token, _) = found.one("token", "ok");
    assert!(token.contains("\"a laptop\", viewer"), "{token}");
    assert!(super::files(elsewhere.folder()) == before);
}

#[tokio::test]
async fn a_remote_with_another_key_is_told_and_given_no_token() {
    let daemon = TestDaemon::start().await;
    let other = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    elsewhere.go_by(other.address());
    let (code, found) = on_desk(&elsewhere).await;
    assert_eq!(code, 1);
    found.only_failed(&["tls"]);
    let (detail, hint) = found.one("tls", "failed");
    assert!(
        detail.contains(other.pin()) && detail.contains(daemon.pin()),
        "{detail}"
    );
    assert!(hint.contains("do not go on"), "{hint}");
    assert_eq!(found.0.last().unwrap()["check"], "tls");
}

#[tokio::test]
async fn a_port_where_nobody_is_a_name_that_nobody_knows_and_a_revoked_token_are_told_apart() {
    let daemon = TestDaemon::start().await;
    let elsewhere = Elsewhere::paired_with(&daemon, Role::Viewer).await;
    assert_eq!(daemon.cli(&["revoke", "--yes", "--all"]).await.code, 0);
    let (code, found) = on_desk(&elsewhere).await;
    assert_eq!(code, 1);
    found.only_failed(&["token"]);
    assert!(found.one("token", "failed").1.contains("transom remote rm desk"));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    elsewhere.go_by(closed);
    let (code, found) = on_desk(&elsewhere).await;
    assert_eq!(code, 1);
    found.only_failed(&["connect"]);
    let text = fs::read_to_string(elsewhere.desk_file()).unwrap();
    fs::write(
        elsewhere.desk_file(),
        text.replace(&closed.to_string(), "no.such.invalid:7443"),
    )
    .unwrap();
    let (_, found) = on_desk(&elsewhere).await;
    found.only_failed(&["resolve"]);
    let said = elsewhere.cli(&["--on", "nobody", "doctor", "--json"]).await;
    assert_eq!(said.code, 1);
    Found::of(&said).only_failed(&["remote"]);
}
