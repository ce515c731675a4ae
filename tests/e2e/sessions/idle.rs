//! Attachments on which nothing happens, and clients that stand still.

use std::{
    fs,
    time::{Duration, Instant},
};

use harness::{Attached, CuttingProxy, TerminalOf, TestDaemon, until};
use pairing::Role;
use protocol::{
    attach::{ClaimChange, ClientMessage, Mode, ServerMessage},
    sessions::{Input, Size},
};
use rustix::process::Signal;

/// A program that says what it reads.
const ECHO: &str = "stty -echo; echo ready; while read line; do echo got:$line:; done";

/// A writer that says nothing for so long holds no size; longer than any time for a handshake, a head or a first frame.
const LAPSE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn who_is_silent_for_longer_than_every_timeout_stays_attached_and_leaves_the_size_to_who_speaks() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let session = owner.shell(ECHO).await;
    let device = daemon.device(Role::Viewer).await;
    let mut idle = [
        device.attach(&session.id, Mode::View, "0").await,
        device.attach_like_a_browser(&session.id, Mode::View, "0").await,
        owner.attach(&session.id, Mode::View, "0").await,
    ];
    for attached in &mut idle {
        attached.until("ready").await;
    }
    let mut speaks = offering(&daemon, &session.id, 120, 40).await;
    let mut silent = offering(&daemon, &session.id, 70, 20).await;
    let since = Instant::now();
    let mut pings = tokio::time::interval(LAPSE / 8);
    let mut is_back = false;
    while !is_back {
        pings.tick().await;
        assert!(since.elapsed() < 2 * LAPSE, "the size stays with who is silent");
        is_back = is_given_the_size_at_a_ping(&mut speaks).await;
    }
    // Its last word came a moment before that was noted here.
    assert!(
        since.elapsed() >= LAPSE - Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    let size = owner.session(&session.id).await.size;
    assert_eq!((size.columns, size.rows), (120, 40));
    silent.send_input(b"still here\r").await;
    for attached in idle.iter_mut().chain([&mut silent, &mut speaks]) {
        attached.until("got:still here:").await;
    }
}

/// A writer whose terminal has this size, which it has given the session.
async fn offering(daemon: &TestDaemon, session: &str, columns: u16, rows: u16) -> Attached {
    let mut writer = daemon.owner().attach(session, Mode::Write, "0").await;
    writer.until("ready").await;
    writer.send(&ClientMessage::Size { columns, rows }).await;
    writer.until_size(Size { columns, rows }).await;
    writer
}

/// Pings, and says whether it was told before the answer that it holds the size.
async fn is_given_the_size_at_a_ping(writer: &mut Attached) -> bool {
    writer.send(&ClientMessage::Ping { number: 1 }).await;
    let mut is_given = false;
    loop {
        match writer.next().await.expect("it stays attached") {
            ServerMessage::Size {
                claim: ClaimChange { holder, .. },
                ..
            } => is_given = holder,
            ServerMessage::Pong { .. } => return is_given,
            _ => {}
        }
    }
}

#[tokio::test]
async fn the_kernel_is_told_to_ask_whether_a_silent_peer_is_still_there() {
    let daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let device = daemon.device(Role::Viewer).await;
    let mut attached = device.attach(&session.id, Mode::View, "0").await;
    attached.until("ready").await;
    let port = format!(":{:04X}", daemon.address().port());
    // proc(5): the timer's kind, 2 for keep-alive, and when it is due, in hundredths of a second.
    let timers = until("a connection on which nothing is on its way", || async {
        let table = fs::read_to_string("/proc/net/tcp").ok()?;
        let rows = table
            .lines()
            .map(|row| row.split_whitespace().collect::<Vec<_>>());
        let ours = rows.filter(|row| row.len() > 5 && row[1].ends_with(&port) && row[3] == "01");
        let timers: Vec<String> = ours.map(|row| row[5].to_owned()).collect();
        let is_still = !timers.is_empty() && timers.iter().all(|timer| !timer.starts_with("01"));
        is_still.then_some(timers)
    })
    .await;
    for timer in timers {
        let due = timer
            .strip_prefix("02:")
            .map(|due| u64::from_str_radix(due, 16).unwrap());
        assert!(due.is_some_and(|due| due <= 60 * 100), "{timer}");
    }
}

#[tokio::test]
async fn a_terminal_that_was_frozen_while_its_daemon_was_replaced_is_back_at_the_first_try() {
    let mut daemon = TestDaemon::start().await;
    let session = daemon.owner().shell(ECHO).await;
    let proxy = CuttingProxy::to(&daemon, |_| usize::MAX);
    let terminal = TerminalOf::start(&proxy.command(&daemon, &["attach", &session.name]), 80, 24).await;
    terminal.until_shows("ready").await;
    for word in ["one", "two"] {
        let (tries, _) = proxy.counts();
        terminal.signal(Signal::STOP);
        daemon.kill_and_restart().await;
        type_as_the_owner(&daemon, &session.id, word).await;
        terminal.signal(Signal::CONT);
        terminal.until_shows(&format!("got:{word}:")).await;
        terminal.types(b"after it\r").await;
        terminal.until_shows("got:after it:").await;
        assert_eq!(proxy.counts(), (tries + 1, 0), "it tried once");
    }
}

async fn type_as_the_owner(daemon: &TestDaemon, session: &str, word: &str) {
    let input = Input {
        text: Some(word.to_owned()),
        enter: true,
        ..Input::default()
    };
    let path = format!("/v1/sessions/{session}/input");
    assert_eq!(daemon.owner().post(&path, &input).await.status, 204);
}
