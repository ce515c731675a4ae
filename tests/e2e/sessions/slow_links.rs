//! Slow and stalled viewers beside a writer, while a session floods.

use std::{
    fs,
    time::{Duration, Instant},
};

use harness::{StampingProxy, TestDaemon, resident_kib, within};
use pairing::Role;
use protocol::attach::{ClientMessage, Mode, ServerMessage};

/// Bytes in a second.
const PACE: u32 = 10_000;

/// For an interrupt to reach the program and its end to be told: four times what is promised for the interrupt alone, as
/// tests share their machine.
const INTERRUPT: Duration = Duration::from_millis(4 * 200);

/// For the slow one to show the end: a window of 16 KiB and a screen over its link, half a second, and as much again.
const PRESENT: Duration = Duration::from_secs(6);

/// What one flooding session with three viewers may take; see `flood.rs`.
const BOUND_KIB: u64 = 24 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn under_a_flood_ctrl_c_is_heard_and_a_slow_viewer_shows_the_present() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let script = "trap 'printf \"\\033[2J\\033[Hinterrupted\"; exit 9' INT; echo ready; read x; \
        while :; do seq 1000000 1200000; done";
    let session = owner.shell(script).await;
    let mut writer = owner.attach(&session.id, Mode::Write, "screen").await;
    writer.until("ready").await;
    let mut device = daemon.device(Role::Viewer).await;
    let stalled = device
        .attach(&session.id, Mode::View, "screen")
        .await
        .without_acks();
    let proxy = StampingProxy::slow(daemon.address(), PACE).await;
    device.go_by(proxy.address());
    let mut slow = device.attach(&session.id, Mode::View, "screen").await;
    slow.until("ready").await;
    let before = resident_kib(daemon.pid());
    writer.send_input(b"\r").await;
    let followed = tokio::spawn(async move {
        let exit = slow.until_exit().await;
        (slow, exit, Instant::now())
    });
    let mut seen = 0;
    while seen < 20_000_000 {
        writer.next().await.expect("the session goes on");
        seen = owner_end(&daemon, &session.id, seen).await;
    }
    let asked = Instant::now();
    writer.send_input(b"\x03").await;
    assert_eq!(writer.until_exit().await.code, Some(9));
    let took = asked.elapsed();
    let peak = resident_kib(daemon.pid());
    let (slow, exit, at) = within("the slow viewer to see the end", followed).await.unwrap();
    assert_eq!(exit.code, Some(9));
    assert_eq!(slow.screen_lines()[0], "interrupted");
    let late = at.saturating_duration_since(asked);
    println!("interrupted after {took:?}, shown over the slow link after {late:?}; {before} to {peak} KiB");
    assert!(took <= INTERRUPT, "{took:?}");
    assert!(late <= PRESENT, "{late:?}");
    assert!(
        slow.snapshots() > 1,
        "it gets the present in the place of a backlog"
    );
    assert!(
        peak.saturating_sub(before) <= BOUND_KIB,
        "{before} KiB before, {peak} KiB after"
    );
    drop(stalled);
}

/// How much the session has written, asked for now and then.
async fn owner_end(daemon: &TestDaemon, id: &str, seen: u64) -> u64 {
    daemon.owner().session(id).await.end.max(seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_behind_three_megabytes_that_nobody_reads_is_heard() {
    let daemon = TestDaemon::start().await;
    let script = "stty raw -echo isig; trap 'exit 7' INT; echo ready; while :; do sleep 0.02; done";
    let session = daemon.owner().shell(script).await;
    let device = daemon.device(Role::Operator).await;
    let mut writer = device.attach(&session.id, Mode::Write, "screen").await;
    writer.until("ready").await;
    for piece in vec![b'x'; 3_000_000].chunks(4 * 1024) {
        writer.send_input(piece).await;
    }
    writer.send(&ClientMessage::Ping { number: 77 }).await;
    while writer.next().await.expect("it is open") != (ServerMessage::Pong { number: 77 }) {}
    writer.send_input(b"\x03").await;
    assert_eq!(writer.until_exit().await.code, Some(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_that_is_pasted_into_a_flooding_session_arrives_byte_for_byte() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let [got, sent] = ["got", "sent"].map(|name| daemon.folder().join(name));
    // Every byte there is, in no short period.
    let paste: Vec<u8> = (0..1_000_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    fs::write(&sent, &paste).unwrap();
    let script = format!(
        "stty raw -echo; echo ready; dd bs=1 count=1 >/dev/null 2>&1; yes flood & head -c {} > {}; kill $!; wait; cmp {} {} && exit 7",
        paste.len(),
        got.display(),
        got.display(),
        sent.display()
    );
    let session = owner.shell(&script).await;
    let device = daemon.device(Role::Operator).await;
    let mut writer = device.attach(&session.id, Mode::Write, "screen").await;
    writer.until("ready").await;
    // The flood begins with the first key.
    writer.send_input(b"x").await;
    for piece in paste.chunks(16 * 1024) {
        writer.send_input(piece).await;
    }
    assert_eq!(writer.until_exit().await.code, Some(7));
    assert!(fs::read(&got).unwrap() == paste);
}
