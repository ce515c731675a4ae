//! L1: from a key to its echo, on an idle machine.

use std::time::{Duration, Instant};

use anyhow::Result;
use protocol::attach::Mode;

use super::Findings;
use crate::{
    client::{Client, Wire},
    floor::{Floor, FloorKind},
    gate::Gate,
    kernel::pause,
    report::Figure,
    sampling::{ROUNDS, median, tail},
    under_test::{UnderTest, program},
};

/// What one target's echoes took, in µs, by round.
#[derive(Default)]
pub(super) struct Echoes(Vec<Vec<f64>>);

impl Echoes {
    /// Types some keys, one after the other, and waits for each to come back.
    pub(super) fn sample(&mut self, client: &mut Client, keys: usize) -> Result<()> {
        let mut round = Vec::with_capacity(keys);
        for _ in 0..keys {
            pause(BETWEEN_KEYS)?;
            let typed = Instant::now();
            client.echoed(b"x")?;
            round.push(typed.elapsed().as_secs_f64() * 1e6);
        }
        self.0.push(round);
        Ok(())
    }

    /// The median of the rounds' medians.
    pub(super) fn middle(&self) -> f64 {
        median(&self.0.iter().map(|round| median(round)).collect::<Vec<_>>())
    }

    /// The tail of all of them.
    pub(super) fn tail(&self) -> (&'static str, f64) {
        tail(&self.0.concat())
    }
}

pub(super) fn idle(findings: &mut Findings) -> Result<()> {
    let gate = Gate::new()?;
    let echo = echo(&gate)?;
    let daemon = UnderTest::start()?;
    // Each has a session of its own: it sees its own echoes alone.
    let sessions = [daemon.session(&echo)?, daemon.session(&echo)?];
    let unix = Floor::start(FloorKind::Unix, std::slice::from_ref(&echo))?;
    let wss = Floor::start(FloorKind::Wss, &[echo])?;
    let _ready = [gate.arrival()?, gate.arrival()?, gate.arrival()?, gate.arrival()?];
    let mut ours_unix = (
        daemon.attach(Wire::Unix, &sessions[0], Mode::Write)?,
        Echoes::default(),
    );
    ours_unix.0.first_screen()?;
    let mut ours_tls = (
        daemon.attach(Wire::Tls, &sessions[1], Mode::Write)?,
        Echoes::default(),
    );
    ours_tls.0.first_screen()?;
    let mut floor_unix = (unix.attach(Wire::Unix, 0)?, Echoes::default());
    let mut floor_wss = (wss.attach(Wire::Tls, 0)?, Echoes::default());
    for round in 0..=ROUNDS {
        for (client, echoes) in [&mut ours_unix, &mut floor_unix, &mut ours_tls, &mut floor_wss] {
            if round == 0 {
                // What happens once (caches, buffers) is nobody's echo.
                Echoes::default().sample(client, WARM_UP)?;
            } else {
                echoes.sample(client, KEYS)?;
            }
        }
    }
    judge(findings, &ours_unix.1, &floor_unix.1, &ours_tls.1, &floor_wss.1);
    Ok(())
}

fn judge(findings: &mut Findings, unix: &Echoes, floor_unix: &Echoes, tls: &Echoes, floor_wss: &Echoes) {
    findings.add(Figure::beside(
        "L1 Unix p50",
        (unix.middle(), "µs"),
        floor_unix.middle(),
        "≤ 1.3 × floor-unix",
        |ratio| ratio <= 1.3,
    ));
    findings.add(Figure::beside(
        "L1 TLS p50",
        (tls.middle(), "µs"),
        floor_wss.middle(),
        "≤ 1.15 × floor-wss",
        |ratio| ratio <= 1.15,
    ));
    let (name, value) = tls.tail();
    let figure = format!("L1 TLS {name}");
    findings.add(Figure::beside(
        &figure,
        (value, "µs"),
        floor_wss.tail().1,
        "≤ 1.5 × floor-wss",
        |ratio| ratio <= 1.5,
    ));
}

/// The program that echoes.
pub(super) fn echo(gate: &Gate) -> Result<Vec<String>> {
    program(&["echo", &gate.path().display().to_string()])
}

/// Keys per round: over a thousand in all, so that there is a p99.
pub(super) const KEYS: usize = 240;
const WARM_UP: usize = 20;
/// Faster than anybody types, long enough that the machine has come to rest.
const BETWEEN_KEYS: Duration = Duration::from_millis(2);
