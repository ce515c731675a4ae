//! B1, B2 and the same with nobody watching: how fast a program's output is taken, and what that costs.

use std::time::Instant;

use anyhow::{Result, ensure};
use protocol::attach::Mode;

use super::Findings;
use crate::{
    client::{Client, Wire},
    content::Kind,
    floor::{Floor, FloorKind},
    gate::Gate,
    kernel,
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::{UnderTest, program},
};

/// One run of a program's output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// As the last in the line sees it.
    pub(super) megabytes_per_second: f64,
    /// As the program sees it.
    written_per_second: f64,
    /// Processor seconds per 100 MB of whoever passed it on.
    cpu: f64,
    /// Bytes that the viewer did not get.
    skipped: u64,
}

/// The runs of one kind of output, in turns.
#[derive(Default)]
struct Runs {
    raw: Vec<Run>,
    floor: Vec<Run>,
    watched: Vec<Run>,
    unwatched: Vec<Run>,
}

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    for kind in [Kind::Plain, Kind::Mixed, Kind::Yes] {
        let mut runs = Runs::default();
        for _ in 0..ROUNDS {
            runs.raw.push(raw(kind, BYTES)?);
            runs.watched.push(watched(&daemon, kind)?);
            runs.floor.push(floor(kind)?);
            runs.unwatched.push(unwatched(&daemon, kind)?);
        }
        judge(findings, kind, &runs);
    }
    Ok(())
}

fn judge(findings: &mut Findings, kind: Kind, runs: &Runs) {
    let of = |runs: &[Run], field: fn(&Run) -> f64| median(&runs.iter().map(field).collect::<Vec<_>>());
    let skipped: u64 = runs.watched.iter().map(|run| run.skipped).sum();
    if skipped > 0 {
        eprintln!("B1 {}: {skipped} bytes did not reach the viewer", kind.name());
    }
    let name = |figure: &str| format!("{figure} {}", kind.name());
    findings.add(Figure::beside(
        &name("B1"),
        (of(&runs.watched, |run| run.megabytes_per_second), "MB/s"),
        of(&runs.raw, |run| run.megabytes_per_second),
        "≥ 0.85 × raw-pty, nothing lost",
        |ratio| ratio >= 0.85 && skipped == 0,
    ));
    let floor = of(&runs.floor, |run| run.cpu);
    let cpu = of(&runs.watched, |run| run.cpu);
    let (target, bound) = match kind {
        Kind::Mixed => ("≤ 2 × floor-wss", 2.0 * floor),
        _ => ("≤ 0.75 × floor-wss + 0.5 s", 0.75 * floor + 0.5),
    };
    findings.add(Figure::beside(
        &name("B2"),
        (cpu, "s per 100 MB"),
        floor,
        target,
        |_| cpu <= bound,
    ));
    let unwatched = Figure::beside(
        &name("unwatched"),
        (of(&runs.unwatched, |run| run.written_per_second), "MB/s"),
        of(&runs.raw, |run| run.written_per_second),
        "≥ 0.95 × raw-pty",
        |ratio| ratio >= 0.95,
    );
    findings.add(unwatched.required());
}

/// The program on a terminal that is read and thrown away.
pub(super) fn raw(kind: Kind, length: u64) -> Result<Run> {
    let gate = Gate::new()?;
    let mut floor = Floor::start(FloorKind::RawPty, &[emit(&gate, kind, length)?])?;
    let mut program = gate.arrival()?;
    let begun = Instant::now();
    program.go()?;
    let bytes = floor.discarded()?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Run {
        megabytes_per_second: bytes as f64 / 1e6 / seconds,
        written_per_second: length as f64 / 1e6 / program.took()?.as_secs_f64(),
        ..Run::default()
    })
}

fn floor(kind: Kind) -> Result<Run> {
    let gate = Gate::new()?;
    let floor = Floor::start(FloorKind::Wss, &[emit(&gate, kind, BYTES)?])?;
    let viewer = floor.attach(Wire::Tls, 0)?;
    follow(&gate, viewer, || kernel::cpu_seconds(floor.pid()))
}

fn watched(daemon: &UnderTest, kind: Kind) -> Result<Run> {
    let gate = Gate::new()?;
    let session = daemon.session(&emit(&gate, kind, BYTES)?)?;
    let viewer = daemon.attach(Wire::Tls, &session, Mode::Lossless)?;
    follow(&gate, viewer, || daemon.processes()?.cpu_seconds())
}

/// Lets the program go and follows it to its end.
fn follow(gate: &Gate, mut viewer: Client, cpu: impl Fn() -> Result<f64>) -> Result<Run> {
    let mut program = gate.arrival()?;
    let before = cpu()?;
    let begun = Instant::now();
    program.go()?;
    let followed = viewer.follow()?;
    let cpu = cpu()? - before;
    let megabytes = (followed.bytes + followed.skipped) as f64 / 1e6;
    ensure!(
        megabytes >= BYTES as f64 / 1e6,
        "the viewer was cut off after {megabytes} MB"
    );
    Ok(Run {
        megabytes_per_second: megabytes / (followed.last - begun).as_secs_f64(),
        written_per_second: BYTES as f64 / 1e6 / program.took()?.as_secs_f64(),
        cpu: cpu / megabytes * 100.0,
        skipped: followed.skipped,
    })
}

fn unwatched(daemon: &UnderTest, kind: Kind) -> Result<Run> {
    let gate = Gate::new()?;
    daemon.session(&emit(&gate, kind, BYTES)?)?;
    let mut program = gate.arrival()?;
    program.go()?;
    Ok(Run {
        written_per_second: BYTES as f64 / 1e6 / program.took()?.as_secs_f64(),
        ..Run::default()
    })
}

/// The program that writes so many bytes.
pub(super) fn emit(gate: &Gate, kind: Kind, bytes: u64) -> Result<Vec<String>> {
    program(&[
        "emit",
        &gate.path().display().to_string(),
        kind.name(),
        &bytes.to_string(),
    ])
}

/// Long enough that a median of five tells 5 %.
const BYTES: u64 = 32 << 20;
