//! L2: from a key to its echo, while another session floods.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use anyhow::Result;
use protocol::attach::Mode;

use super::{
    Findings, bulk,
    echo::{Echoes, KEYS, echo},
};
use crate::{
    client::{Client, Event, Wire},
    content::Kind,
    floor::{Floor, FloorKind},
    gate::{Arrived, Gate},
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::UnderTest,
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let (mut ours, mut floor) = (Under::default(), Under::default());
    let mut raw = Vec::new();
    for _ in 0..ROUNDS {
        raw.push(bulk::raw(Kind::Plain, RAW_BYTES)?.megabytes_per_second);
        on_daemon(&daemon, &mut ours)?;
        on_floor(&mut floor)?;
    }
    findings.add(Figure::beside(
        "L2 TLS p50",
        (ours.echoes.middle(), "µs"),
        floor.echoes.middle(),
        "≤ 0.7 × floor-wss",
        |ratio| ratio <= 0.7,
    ));
    let (name, value) = ours.echoes.tail();
    findings.add(Figure::beside(
        &format!("L2 TLS {name}"),
        (value, "µs"),
        floor.echoes.tail().1,
        "≤ 0.25 × floor-wss",
        |ratio| ratio <= 0.25,
    ));
    eprintln!(
        "L2: the flood through floor-wss kept {:.1} MB/s",
        median(&floor.rates)
    );
    findings.add(Figure::beside(
        "L2 the flood",
        (median(&ours.rates), "MB/s"),
        median(&raw),
        "≥ 0.7 × raw-pty",
        |ratio| ratio >= 0.7,
    ));
    Ok(())
}

/// What was measured under the flood.
#[derive(Default)]
struct Under {
    echoes: Echoes,
    /// MB/s of the flood.
    rates: Vec<f64>,
}

impl Under {
    fn sample(&mut self, mut client: Client, flood: Client, mut program: Arrived) -> Result<()> {
        let position = Arc::new(AtomicU64::new(0));
        let watching = Arc::clone(&position);
        thread::spawn(move || watch(flood, &watching));
        program.go()?;
        // It floods once it has filled what lies between.
        while position.load(Ordering::Relaxed) < FILLED {
            crate::kernel::pause(crate::kernel::TICK)?;
        }
        let (before, begun) = (position.load(Ordering::Relaxed), Instant::now());
        self.echoes.sample(&mut client, KEYS)?;
        let came = position.load(Ordering::Relaxed) - before;
        self.rates.push(came as f64 / 1e6 / begun.elapsed().as_secs_f64());
        Ok(())
    }
}

/// Reads the flood until it is cut off, and says how far it is.
fn watch(mut flood: Client, position: &AtomicU64) {
    while let Ok(event) = flood.next() {
        match event {
            Event::Output { offset, length } => position.store(offset + length as u64, Ordering::Relaxed),
            Event::Snapshot { ground, .. } => position.store(ground, Ordering::Relaxed),
            Event::Closed => return,
            _ => {}
        }
    }
}

fn on_daemon(daemon: &UnderTest, under: &mut Under) -> Result<()> {
    let (quiet, loud) = (Gate::new()?, Gate::new()?);
    let typed = daemon.session(&echo(&quiet)?)?;
    let flood = daemon.session(&bulk::emit(&loud, Kind::Plain, u64::MAX)?)?;
    let _ready = quiet.arrival()?;
    let mut client = daemon.attach(Wire::Tls, &typed, Mode::Write)?;
    client.first_screen()?;
    let viewer = daemon.attach(Wire::Tls, &flood, Mode::View)?;
    let sampled = under.sample(client, viewer, loud.arrival()?);
    daemon.stop(&flood);
    daemon.stop(&typed);
    sampled
}

fn on_floor(under: &mut Under) -> Result<()> {
    let (quiet, loud) = (Gate::new()?, Gate::new()?);
    let programs = [echo(&quiet)?, bulk::emit(&loud, Kind::Plain, u64::MAX)?];
    let floor = Floor::start(FloorKind::Wss, &programs)?;
    let _ready = quiet.arrival()?;
    under.sample(
        floor.attach(Wire::Tls, 0)?,
        floor.attach(Wire::Tls, 1)?,
        loud.arrival()?,
    )
}

const RAW_BYTES: u64 = 32 << 20;
/// Bytes, more than windows and socket buffers hold.
const FILLED: u64 = 8 << 20;
