//! A flood of output, with a viewer that never reads.

use std::time::Duration;

use harness::{TestDaemon, resident_kib, within};
use pairing::Role;
use protocol::attach::Mode;

/// Megabytes; enough that a queue anywhere would show.
const FLOOD_MB: u32 = 100;

/// What the daemon may take for one flooding session with three viewers: the ring (2 MiB) and what the screen is behind
/// (2 MiB), a window (512 KiB) and its copies for each viewer, the socket buffers' copies and the allocator's slack.
const BOUND_KIB: u64 = 24 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_that_never_reads_holds_up_nobody_and_costs_bounded_memory() {
    let daemon = TestDaemon::start().await;
    let owner = daemon.owner();
    let device = daemon.device(Role::Viewer).await;
    let session = owner.shell(&flood()).await;
    let mut writer = owner.attach(&session.id, Mode::Write, "screen").await;
    let stalled = device
        .attach(&session.id, Mode::View, "screen")
        .await
        .without_acks();
    let mut fast = device.attach(&session.id, Mode::View, "screen").await;
    writer.until("ready").await;
    let before = resident_kib(daemon.pid());
    let pid = daemon.pid();
    let peak = tokio::spawn(watch_memory(pid));
    writer.send_input(b"\r").await;
    let (one, other) = within("both viewers to see the end", async {
        tokio::join!(writer.until_exit(), fast.until_exit())
    })
    .await;
    assert_eq!((one.code, other.code), (Some(5), Some(5)));
    peak.abort();
    let peak = peak
        .await
        .err()
        .map_or(0, |_| PEAK.load(std::sync::atomic::Ordering::Relaxed));
    for attached in [&mut writer, &mut fast] {
        let lines = attached.screen_lines();
        assert_eq!(lines[0], format!("the end of {FLOOD_MB} MB"), "{lines:?}");
        assert!(lines[1..].iter().all(String::is_empty), "{lines:?}");
    }
    println!("resident: {before} KiB before, {peak} KiB at the peak, bound {BOUND_KIB} KiB more");
    assert!(
        peak.saturating_sub(before) <= BOUND_KIB,
        "{before} KiB before, {peak} KiB at the peak"
    );
    drop(stalled);
}

static PEAK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// Samples, since the kernel announces no peak of a running process.
async fn watch_memory(pid: u32) {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    loop {
        ticks.tick().await;
        PEAK.fetch_max(resident_kib(pid), std::sync::atomic::Ordering::Relaxed);
    }
}

/// A program that prints mixed output by the megabyte once a line was typed: colours, wide characters, cursor moves.
fn flood() -> String {
    format!(
        "stty -echo; printf ready; read line; exec python3 -c '
import os, sys
line = \"\\x1b[3%dm%s\\x1b[0m \\ud55c\\uae00 \\x1b[1mtext\\x1b[22m %d\\r\\n\"
block = \"\".join(line % (i % 8, \"x\" * (i % 60), i) for i in range(4000)).encode()
written = 0
while written < {FLOOD_MB} * 1000000:
    written += os.write(1, block)
os.write(1, b\"\\x1b[H\\x1b[2J\\x1b[3Jthe end of {FLOOD_MB} MB\")
sys.exit(5)
'"
    )
}
