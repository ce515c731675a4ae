//! Attaching to a session elsewhere, over a link that breaks.

use harness::{Elsewhere, TerminalOf, TestDaemon, Tunnel, until};
use pairing::Role;

const ECHO: &str = "stty -echo; echo ready; while read line; do echo got:$line:; done";

#[tokio::test]
async fn attach_comes_back_after_a_cut_and_no_key_is_lost_or_doubled() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let tunnel = Tunnel::to(daemon.address()).await;
    let desk = Elsewhere::paired_by(&daemon, Role::Operator, tunnel.address()).await;
    let attach = desk.command(&["attach", "--on", "desk", &session.name]);
    let terminal = TerminalOf::start(&attach, 90, 20).await;
    terminal.until_shows("ready").await;
    terminal.types(b"one\r").await;
    terminal.until_shows("got:one:").await;
    tunnel.close();
    terminal.types(b"two\r").await;
    until("some tries to come back", || async {
        (tunnel.refused() >= 2).then_some(())
    })
    .await;
    tunnel.open();
    terminal.until_shows("got:two:").await;
    terminal.types(b"three\r").await;
    let lines = terminal.until_shows("got:three:").await;
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(
        (count("got:one:"), count("got:two:"), count("got:three:")),
        (1, 1, 1),
        "{lines:?}"
    );
    terminal.types(b"\x1cd").await;
    assert_eq!(terminal.exit().await.code, Some(0));
}

#[tokio::test]
async fn attach_goes_on_with_the_next_daemon() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let port = daemon.address().port();
    let desk = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let attach = desk.command(&["attach", "--on", "desk", &session.name]);
    let terminal = TerminalOf::start(&attach, 90, 20).await;
    terminal.until_shows("ready").await;
    daemon.signal(rustix::process::Signal::KILL);
    let options = harness::DaemonOptions {
        arguments: vec!["--tls".to_owned(), format!("127.0.0.1:{port}")],
        ..harness::DaemonOptions::default()
    };
    daemon.start_again_with(&options).await;
    terminal.types(b"again\r").await;
    terminal.until_shows("got:again:").await;
}

#[tokio::test]
async fn a_revoked_machine_is_told_so_whether_it_was_attached_or_cut_off() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let tunnel = Tunnel::to(daemon.address()).await;
    let attached = Elsewhere::paired_with(&daemon, Role::Operator).await;
    let cut_off = Elsewhere::paired_by(&daemon, Role::Operator, tunnel.address()).await;
    let arguments = ["attach", "--on", "desk", session.name.as_str()];
    let one = TerminalOf::start(&attached.command(&arguments), 160, 20).await;
    let other = TerminalOf::start(&cut_off.command(&arguments), 160, 20).await;
    one.until_shows("ready").await;
    other.until_shows("ready").await;
    tunnel.close();
    until("some tries to come back", || async {
        (tunnel.refused() >= 2).then_some(())
    })
    .await;
    for device in daemon.owner().devices().await {
        daemon.owner().revoke(device.id).await;
    }
    tunnel.open();
    for terminal in [one, other] {
        assert_eq!(terminal.exit().await.code, Some(4));
        let lines = terminal.until_shows("transom remote rm desk").await;
        assert!(lines.iter().any(|line| line.contains("revoked")), "{lines:?}");
    }
    let after = attached.on_desk(&["ls", "--json"]).await;
    assert_eq!(
        (after.code, after.json()["code"].as_str()),
        (4, Some("revoked")),
        "{after:?}"
    );
    // What is revoked there can be removed here, and is no device to sign out.
    let removed = attached.cli(&["remote", "rm", "--json", "desk"]).await;
    assert_eq!(removed.json()["signed_out"], false, "{removed:?}");
}

#[tokio::test]
async fn a_session_that_is_gone_is_no_revocation() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let tunnel = Tunnel::to(daemon.address()).await;
    let desk = Elsewhere::paired_by(&daemon, Role::Operator, tunnel.address()).await;
    let attach = desk.command(&["attach", "--on", "desk", &session.name]);
    let terminal = TerminalOf::start(&attach, 160, 20).await;
    terminal.until_shows("ready").await;
    tunnel.close();
    until("some tries to come back", || async {
        (tunnel.refused() >= 1).then_some(())
    })
    .await;
    daemon.cli(&["rm", "--purge", &session.name]).await;
    tunnel.open();
    assert_eq!(terminal.exit().await.code, Some(1));
    let lines = terminal.until_shows("error:").await;
    assert!(!lines.iter().any(|line| line.contains("revoked")), "{lines:?}");
}
