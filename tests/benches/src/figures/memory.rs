//! M1 and the keeper: what sessions cost that do nothing.

use std::time::Duration;

use anyhow::Result;

use super::Findings;
use crate::{
    gate::{Arrived, Gate},
    kernel::{self, pause},
    report::Figure,
    under_test::{Processes, UnderTest, program},
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let nothing = daemon.processes()?.memory()?.proportional / 1024.0;
    findings.add(Figure::alone(
        "M1 nothing",
        (nothing, "MiB"),
        "≤ 16 MB",
        nothing <= 16.0,
    ));
    let gate = Gate::new()?;
    let mut resting = Vec::new();
    add(&daemon, &gate, &mut resting)?;
    let ten = daemon.processes()?;
    let all = ten.memory()?.proportional / 1024.0;
    findings.add(Figure::alone(
        "M1 ten idle sessions",
        (all, "MiB"),
        "≤ 24 MiB in all",
        all <= 24.0,
    ));
    let before = kernel::memory(ten.daemon)?.proportional;
    add(&daemon, &gate, &mut resting)?;
    let each = (kernel::memory(ten.daemon)?.proportional - before) / SESSIONS as f64;
    findings.add(Figure::alone(
        "M1 idle session",
        (each, "KiB"),
        "≤ 60 KB in the daemon",
        each <= 60.0,
    ));
    below_the_keeper(findings, &daemon.processes()?)?;
    wake_ups(findings, &daemon.processes()?)
}

/// Reapers and the keeper itself.
fn below_the_keeper(findings: &mut Findings, processes: &Processes) -> Result<()> {
    let Some(keeper) = processes.keeper else {
        let why = "no keeper runs: this build's daemon is itself the parent of its sessions";
        findings.missing("M1 reaper, keeper", why);
        return Ok(());
    };
    let mut largest = 0.0f64;
    for reaper in &processes.reapers {
        largest = largest.max(kernel::memory(*reaper)?.private);
    }
    if processes.reapers.is_empty() {
        findings.missing(
            "M1 reaper",
            "no process below the keeper runs the binary under test",
        );
    } else {
        findings.add(Figure::alone(
            "M1 reaper",
            (largest, "KiB private"),
            "≤ 300 KB",
            largest <= 300.0,
        ));
    }
    let private = kernel::memory(keeper)?.private / 1024.0;
    let figure = Figure::alone("keeper", (private, "MiB private"), "≤ 3 MiB", private <= 3.0);
    findings.add(figure.required());
    Ok(())
}

fn wake_ups(findings: &mut Findings, processes: &Processes) -> Result<()> {
    pause(SETTLING)?;
    let before = processes.switches()?;
    pause(WATCHED)?;
    let after = processes.switches()?;
    // A thread that ended meanwhile wakes up no more; one that began has all of its own.
    let more = after
        .iter()
        .map(|(thread, count)| count - before.get(thread).unwrap_or(&0));
    let rate = more.sum::<u64>() as f64 / WATCHED.as_secs_f64();
    findings.add(Figure::alone("M1 wake-ups", (rate, "per s"), "≤ 1", rate <= 1.0));
    Ok(())
}

/// Ten more sessions that rest, with a screenful of output each.
fn add(daemon: &UnderTest, gate: &Gate, resting: &mut Vec<Arrived>) -> Result<()> {
    for _ in 0..SESSIONS {
        daemon.session(&program(&["rest", &gate.path().display().to_string(), "10"])?)?;
        resting.push(gate.arrival()?);
    }
    Ok(())
}

const SESSIONS: usize = 10;
/// After the last request the daemon has things to put away: a thread that waited for blocking work is let go after 10 s.
const SETTLING: Duration = Duration::from_secs(15);
const WATCHED: Duration = Duration::from_secs(10);
