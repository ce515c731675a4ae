//! From exec to ready with what a year leaves behind, beside the same with nothing.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use protocol::sessions::{Session, SessionState};
use server::{Store, audit::AuditRow, clock};
use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    figures::Findings,
    gate::PATIENCE,
    kernel::{TICK, pause},
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::UnderTest,
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let mut empty = UnderTest::start()?;
    let mut full = UnderTest::start()?;
    for _ in 0..DEVICES {
        full.bearer()?;
    }
    leave_sessions(&full)?;
    full.kill();
    Runtime::new()?.block_on(write_rows(&full))?;
    full.start_again();
    let devices: Vec<serde_json::Value> = full.get("/v1/devices").ok();
    ensure!(
        devices.len() > DEVICES,
        "the devices are there: {}",
        devices.len()
    );
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS * STARTS {
        floor.push(begun(&mut empty));
        ours.push(begun(&mut full));
    }
    let target = "≤ 3 × with none";
    let (value, floor) = (median(&ours), median(&floor));
    findings.add(Figure::beside("start", (value, "ms"), floor, target, |ratio| ratio <= 3.0).required());
    Ok(())
}

/// Milliseconds from exec until it says that it is ready.
fn begun(daemon: &mut UnderTest) -> f64 {
    daemon.kill();
    let begun = Instant::now();
    daemon.start_again();
    begun.elapsed().as_secs_f64() * 1e3
}

/// Sessions that have ended and are kept.
fn leave_sessions(daemon: &UnderTest) -> Result<()> {
    for _ in 0..SESSIONS {
        daemon.session(&["true".to_owned()])?;
    }
    let asked = Instant::now();
    loop {
        let sessions: Vec<Session> = daemon.get("/v1/sessions").ok();
        let left = sessions
            .iter()
            .filter(|session| session.state == SessionState::Exited);
        if left.count() == SESSIONS {
            return Ok(());
        }
        ensure!(asked.elapsed() < PATIENCE, "sessions do not end");
        pause(TICK)?;
    }
}

/// Rows of an audit trail, as the daemon that is not there would write them.
async fn write_rows(daemon: &UnderTest) -> Result<()> {
    let folder = daemon.folder();
    let opened = Store::open(&folder.join("transom.db"), &folder.join("keys"), clock::now())?;
    for _ in 0..ROWS / TOGETHER {
        let mut rows = JoinSet::new();
        for _ in 0..TOGETHER {
            let row = AuditRow::new(
                clock::now(),
                "owner",
                "uid:0 pid:1",
                "attached",
                "ses_0123456789abcdef",
            );
            let store = opened.store.clone();
            rows.spawn(async move { store.append_audit(row.detail("view")).await });
        }
        while let Some(written) = rows.join_next().await {
            written.context("a task that writes")??;
        }
    }
    Ok(())
}

const DEVICES: usize = 1_000;
const ROWS: usize = 100_000;
/// Rows that are under way at once: the store writes several together.
const TOGETHER: usize = 500;
const SESSIONS: usize = 50;
/// Starts of each in a round.
const STARTS: usize = 4;
