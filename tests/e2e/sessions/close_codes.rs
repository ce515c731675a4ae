//! How attachments end that their clients did not leave.

use harness::{DaemonOptions, TestDaemon};
use pairing::Role;
use protocol::attach::{CLOSE_RESTARTING, CLOSE_TOO_MANY, Mode};
use rustix::process::Signal;

#[tokio::test]
async fn one_connection_more_than_a_device_may_have_is_told_so_and_costs_no_other() {
    let config = "[limits]\nper_principal = 8\n".to_owned();
    let daemon = TestDaemon::start_with(DaemonOptions {
        config,
        ..DaemonOptions::default()
    })
    .await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x; echo on; read x").await;
    let device = daemon.device(Role::Viewer).await;
    let mut held = Vec::new();
    // Its requests have a connection as well.
    let refused = loop {
        match device.try_attach(&session.id, Mode::View, "0").await {
            Ok(attached) => held.push(attached),
            Err(answer) => break answer,
        }
        assert!(held.len() <= 8, "it has more than it may");
    };
    assert_eq!(refused.verdict(), "429 too_many_connections");
    let mut page = device.attach_like_a_browser(&session.id, Mode::View, "0").await;
    assert_eq!(page.until_closed().await, CLOSE_TOO_MANY);
    let other = daemon.device(Role::Operator).await;
    let mut writer = other.attach(&session.id, Mode::Write, "0").await;
    writer.send_input(b"\r").await;
    for attached in &mut held {
        attached.until("on").await;
    }
    drop(held.pop());
    harness::until("room for another", || async {
        device.try_attach(&session.id, Mode::View, "0").await.ok()
    })
    .await
    .until("on")
    .await;
}

#[tokio::test]
async fn a_daemon_that_ends_tells_everybody_that_it_restarts_and_the_next_one_goes_on() {
    let mut daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell("echo ready; read x; echo on; exit 3").await;
    let mut device = daemon.device(Role::Operator).await;
    let mut all = [
        owner.attach(&session.id, Mode::Write, "0").await,
        owner.attach(&session.id, Mode::Lossless, "0").await,
        device.attach(&session.id, Mode::Write, "0").await,
        device.attach_like_a_browser(&session.id, Mode::View, "0").await,
    ];
    for attached in &mut all {
        attached.until("ready").await;
    }
    daemon.signal(Signal::TERM);
    for attached in &mut all {
        assert_eq!(attached.until_closed().await, CLOSE_RESTARTING);
    }
    daemon.start_again().await;
    device.follow(&daemon);
    let seen = all[2].output().len().to_string();
    let mut back = device.attach(&session.id, Mode::Write, &seen).await;
    back.send_input(b"\r").await;
    assert_eq!(back.until_exit().await.code, Some(3));
    assert_eq!((back.text().contains("ready"), back.snapshots()), (false, 0));
}
