//! A1: from nothing to a full screen of a session with 10,000 lines behind it.

mod tmux;

use std::time::Instant;

use anyhow::Result;
use protocol::attach::Mode;

use self::tmux::Tmux;
use super::Findings;
use crate::{
    client::{self, Wire},
    floor::{Floor, FloorKind},
    gate::Gate,
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::{UnderTest, program},
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let gate = Gate::new()?;
    let daemon = UnderTest::start()?;
    let rest = program(&["rest", &gate.path().display().to_string(), &LINES.to_string()])?;
    let session = daemon.session(&rest)?;
    let _rests = gate.arrival()?;
    let tmux = Tmux::start(&gate, LINES)?;
    let _rests_too = tmux.as_ref().map(|_| gate.arrival()).transpose()?;
    let floor = Floor::start(FloorKind::Tls, &[])?;
    let (address, pin) = floor.tls()?;
    let (mut connections, mut attaches, mut theirs, mut size) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS * TRIES {
        let begun = Instant::now();
        client::handshake(address, pin)?;
        connections.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let mut viewer = daemon.attach(Wire::Tls, &session, Mode::View)?;
        size = viewer.first_screen()?;
        attaches.push(begun.elapsed().as_secs_f64() * 1e3);
        if let Some(tmux) = &tmux {
            theirs.push(tmux.attach(format!("{:>8} ", LINES - 1).as_bytes())?);
        }
    }
    eprintln!("A1: the first screen had {size} bytes");
    findings.add(Figure::beside(
        "A1 first screen",
        (median(&attaches), "ms"),
        median(&connections),
        "≤ 2 × a TLS connection",
        |ratio| ratio <= 2.0,
    ));
    if tmux.is_none() {
        findings.missing("A1 beside tmux", "tmux is not installed");
        return Ok(());
    }
    findings.add(Figure::beside(
        "A1 beside tmux",
        (median(&attaches), "ms"),
        median(&theirs),
        "≤ 0.3 × tmux",
        |ratio| ratio <= 0.3,
    ));
    Ok(())
}

/// Attaches per round.
const TRIES: usize = 20;
const LINES: u32 = 10_000;
