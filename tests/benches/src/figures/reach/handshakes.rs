//! Full handshakes, beside a bare rustls server with a key of the same type.

use std::{net::SocketAddr, time::Instant};

use anyhow::Result;

use crate::{
    client,
    figures::Findings,
    floor::{Floor, FloorKind},
    kernel,
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::UnderTest,
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let floor = Floor::start(FloorKind::Tls, &[])?;
    let (address, pin) = floor.tls()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(shake(address, pin, floor.pid())?);
        ours.push(shake(daemon.address(), daemon.pin(), daemon.pid())?);
    }
    let middle = |runs: &[Run], of: fn(&Run) -> f64| median(&runs.iter().map(of).collect::<Vec<_>>());
    let rate = Figure::beside(
        "handshakes per second",
        (middle(&ours, |run| run.per_second), "per s"),
        middle(&bare, |run| run.per_second),
        "≥ 0.9 × bare rustls",
        |ratio| ratio >= 0.9,
    );
    // A tenth less of them for the same time is a ninth more time for each.
    let cpu = Figure::beside(
        "handshakes, CPU of each",
        (middle(&ours, |run| run.cpu), "µs"),
        middle(&bare, |run| run.cpu),
        "≤ 1.11 × bare rustls",
        |ratio| ratio <= 1.0 / 0.9,
    );
    findings.add(rate.required());
    findings.add(cpu.required());
    findings.missing(
        "resumed handshakes",
        "nothing is resumed: each handshake shows the current certificate",
    );
    Ok(())
}

struct Run {
    per_second: f64,
    /// Microseconds of the server's processor time for each.
    cpu: f64,
}

fn shake(address: SocketAddr, pin: &str, server: u32) -> Result<Run> {
    let before = kernel::cpu_seconds(server)?;
    let begun = Instant::now();
    for _ in 0..HANDSHAKES {
        client::connect(address, pin)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = kernel::cpu_seconds(server)? - before;
    let count = f64::from(HANDSHAKES);
    Ok(Run {
        per_second: count / seconds,
        cpu: cpu / count * 1e6,
    })
}

/// In each round: some hundred ticks of the clock that counts processor time.
const HANDSHAKES: u32 = 2_000;
