//! A1: from nothing to a full screen of a session with 10,000 lines behind it.

use std::time::Instant;

use anyhow::Result;
use protocol::attach::Mode;

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
    let session = daemon.session(&program(&["rest", &gate.path().display().to_string(), "10000"])?)?;
    let _rests = gate.arrival()?;
    let floor = Floor::start(FloorKind::Tls, &[])?;
    let (address, pin) = floor.tls()?;
    let (mut connections, mut attaches, mut size) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS * TRIES {
        let begun = Instant::now();
        client::handshake(address, pin)?;
        connections.push(begun.elapsed().as_secs_f64() * 1e3);
        let begun = Instant::now();
        let mut viewer = daemon.attach(Wire::Tls, &session, Mode::View)?;
        size = viewer.first_screen()?;
        attaches.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    eprintln!("A1: the first screen had {size} bytes");
    findings.add(Figure::beside(
        "A1 first screen",
        (median(&attaches), "ms"),
        median(&connections),
        "≤ 2 × a TLS connection",
        |ratio| ratio <= 2.0,
    ));
    Ok(())
}

/// Attaches per round.
const TRIES: usize = 20;
