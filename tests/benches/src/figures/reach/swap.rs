//! A certificate that is swapped under 200 requests per second.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Authority, DaemonOptions};

use crate::{figures::Findings, kernel, report::Figure, under_test::UnderTest};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let authority = Authority::new();
    let config = authority.issue("desk", &[NAME]).config();
    let daemon = UnderTest::start_with(DaemonOptions {
        config: format!("{config}names = [\"{NAME}\"]\n"),
        ..DaemonOptions::default()
    })?;
    let is_over = AtomicBool::new(false);
    let asked = thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&daemon, &is_over));
        for _ in 0..SWAPS {
            kernel::pause(BETWEEN)?;
            authority.issue("desk", &[NAME]);
            daemon.reload()?;
        }
        kernel::pause(BETWEEN)?;
        is_over.store(true, Ordering::Release);
        asking.join().ok().context("who asked panicked")?
    })?;
    ensure!(
        asked.rate > 0.9 * PER_SECOND,
        "this machine made only {:.0} requests per second",
        asked.rate
    );
    eprintln!("{SWAPS} swaps under {:.0} requests per second", asked.rate);
    let lost = Figure::alone(
        "swap, requests lost",
        (asked.lost, "of them"),
        "none of 200 per s",
        asked.lost == 0.0,
    );
    findings.add(lost.required());
    Ok(())
}

struct Asked {
    lost: f64,
    rate: f64,
}

/// Asks every 5 ms, in turns on a connection that is kept and on one of its own.
fn ask(daemon: &UnderTest, is_over: &AtomicBool) -> Result<Asked> {
    let mut kept = daemon.connect()?;
    let begun = Instant::now();
    let (mut count, mut lost) = (0_u32, 0.0);
    while !is_over.load(Ordering::Acquire) {
        let due = begun + Duration::from_secs_f64(f64::from(count) / PER_SECOND);
        kernel::pause(due.saturating_duration_since(Instant::now()))?;
        let answer = match count % 2 {
            0 => kept.get("/v1/health", None),
            _ => daemon.connect().and_then(|mut own| own.get("/v1/health", None)),
        };
        count += 1;
        if !answer.is_ok_and(|answer| answer.status == 200) {
            lost += 1.0;
            kept = daemon.connect()?;
        }
    }
    Ok(Asked {
        lost,
        rate: f64::from(count) / begun.elapsed().as_secs_f64(),
    })
}

const NAME: &str = "desk.example";
const PER_SECOND: f64 = 200.0;
const SWAPS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(200);
