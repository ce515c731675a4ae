//! A machine that sleeps while it proves its key.

use std::time::Duration;

use harness::{DaemonOptions, Elsewhere, HoldingProxy, TerminalOf, TestDaemon, WallClock};
use pairing::Role;
use serde_json::Value;

#[tokio::test]
async fn a_machine_that_sleeps_between_challenge_and_proof_for_longer_than_the_challenge_lives_comes_back() {
    let clock = WallClock::new();
    let mut environment = clock.environment();
    environment.push(("TRANSOM_LOG".to_owned(), "debug".to_owned()));
    let options = DaemonOptions {
        environment,
        ..DaemonOptions::default()
    };
    let daemon = TestDaemon::start_with(options).await;
    let echo = "stty -echo; echo ready; while read line; do echo got:$line:; done";
    let session = daemon.owner().shell(echo).await;
    let link = HoldingProxy::to(daemon.address()).await;
    let desk = Elsewhere::paired_by(&daemon, Role::Operator, link.address()).await;
    let attach = desk.command(&["attach", "--on", "desk", &session.name]);
    let terminal = TerminalOf::start(&attach, 90, 20).await;
    terminal.until_shows("ready").await;
    let before = proofs(&daemon).len();
    // Its access token is over when the link breaks, so it has to prove its key before it comes back.
    clock.put_ahead(Duration::from_secs(20 * 60));
    link.hold(true);
    link.cut();
    link.until_held(1).await;
    link.let_go();
    link.until_held(2).await;
    terminal.freeze().await;
    link.hold(false);
    link.let_go();
    clock.put_ahead(Duration::from_secs(22 * 60));
    terminal.thaw();
    terminal.types(b"again\r").await;
    terminal.until_shows("got:again:").await;
    assert_eq!(proofs(&daemon)[before..], [401, 200], "the first was too late");
}

/// What the daemon answered to each proof so far.
fn proofs(daemon: &TestDaemon) -> Vec<u64> {
    let log = std::fs::read_to_string(daemon.folder().join("log/transom.jsonl")).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let proofs = lines.filter(|line| line["path"] == "/v1/auth/proof" && line["message"] == "answered");
    proofs.map(|line| line["status"].as_u64().unwrap()).collect()
}
