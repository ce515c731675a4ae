//! From SIGKILL to being served again, with 50 sessions.

use std::time::Instant;

use anyhow::{Context, Result};
use protocol::{
    attach::Mode,
    sessions::{Session, SessionState},
};

use super::{Findings, echo::echo};
use crate::{
    client::Wire,
    gate::Gate,
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::UnderTest,
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let gate = Gate::new()?;
    let mut empty = UnderTest::start()?;
    let mut full = UnderTest::start()?;
    let mut programs = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(full.session(&echo(&gate)?)?);
        programs.push(gate.arrival()?);
    }
    let last = sessions.last().context("there are sessions")?;
    full.attach(Wire::Unix, last, Mode::Write)?
        .send_input(b"before")?;
    let (mut floor, mut served, mut screens) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floor.push(listed(&mut empty, 0)?.context("an empty list is served")?);
        let Some(begun) = begin(&mut full, SESSIONS)? else {
            findings.missing(
                "restart",
                "sessions end with the daemon: this build has no keeper",
            );
            return Ok(());
        };
        if full.get(&format!("/v1/sessions/{last}/output?from=0")).status != 200 {
            findings.missing("restart", "this build has no output by offset");
            return Ok(());
        }
        let end = full.end(last).to_string();
        full.attach_from(Wire::Unix, last, Mode::Write, &end)?
            .echoed(b"x")?;
        served.push(begun.elapsed().as_secs_f64() * 1e3);
        let asked = Instant::now();
        full.attach(Wire::Unix, last, Mode::View)?.first_screen()?;
        screens.push(asked.elapsed().as_secs_f64() * 1e3);
    }
    let (value, floor) = (median(&served), median(&floor));
    let target = "≤ 3 × exec with none";
    findings.add(Figure::beside("restart", (value, "ms"), floor, target, |ratio| ratio <= 3.0).required());
    let screen = median(&screens);
    // A bound in milliseconds fails at four times itself.
    let figure = Figure::alone(
        "restart screen",
        (screen, "ms more"),
        "≤ 50 ms (fails at 200)",
        screen <= 200.0,
    );
    findings.add(figure.required());
    Ok(())
}

/// Kills the daemon and starts it again; ms until it lists so many running sessions.
fn listed(daemon: &mut UnderTest, running: usize) -> Result<Option<f64>> {
    Ok(begin(daemon, running)?.map(|begun| begun.elapsed().as_secs_f64() * 1e3))
}

/// When the daemon was started again, once it has listed so many running sessions.
fn begin(daemon: &mut UnderTest, running: usize) -> Result<Option<Instant>> {
    daemon.kill();
    let begun = Instant::now();
    daemon.start_again();
    let sessions: Vec<Session> = daemon.get("/v1/sessions").ok();
    let alive = sessions
        .iter()
        .filter(|session| session.state == SessionState::Running);
    Ok((alive.count() == running).then_some(begun))
}

const SESSIONS: usize = 50;
