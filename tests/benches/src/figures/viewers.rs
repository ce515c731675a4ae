//! B3, B4 and M2: many viewers of one session, one that never reads, and a thousand that have nothing to see.

use std::{net::SocketAddr, thread, time::Instant};

use anyhow::{Context, Result};
use harness::StampingProxy;
use protocol::attach::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use super::{Findings, bulk};
use crate::{
    client::{Client, Followed, Wire},
    content::Kind,
    floor::{Floor, FloorKind},
    gate::Gate,
    kernel,
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::{UnderTest, program},
};

/// B3.
pub(super) fn many(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let (mut raw, mut slowest, mut skipped) = (Vec::new(), Vec::new(), 0);
    let (mut ours, mut floor, mut peak) = (Vec::new(), Vec::new(), 0.0f64);
    for _ in 0..ROUNDS {
        raw.push(bulk::raw(Kind::Plain, BYTES)?.megabytes_per_second);
        let ten = watched(&daemon, BYTES, 10, Mode::Lossless)?;
        slowest.push(ten.slowest);
        skipped += ten.skipped;
        let fifty = watched(&daemon, BYTES, 50, Mode::View)?;
        ours.push(fifty.together);
        peak = peak.max(fifty.peak_kib);
        floor.push(passed_on(50)?.together);
    }
    if skipped > 0 {
        eprintln!("B3: {skipped} bytes did not reach all of ten viewers");
    }
    findings.add(Figure::beside(
        "B3 ten, the slowest",
        (median(&slowest), "MB/s"),
        median(&raw),
        "≥ 0.5 × raw-pty, nothing lost",
        |ratio| ratio >= 0.5 && skipped == 0,
    ));
    findings.add(Figure::beside(
        "B3 fifty, together",
        (median(&ours), "MB/s"),
        median(&floor),
        "≥ 0.8 × floor-wss",
        |ratio| ratio >= 0.8,
    ));
    let peak = peak / 1024.0;
    findings.add(Figure::alone(
        "B3 fifty, memory",
        (peak, "MiB more"),
        "≤ 40 MB",
        peak <= 40.0,
    ));
    Ok(())
}

/// B4.
pub(super) fn stalled(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let (mut without, mut with, mut more, mut snapshots) = (Vec::new(), Vec::new(), Vec::new(), u64::MAX);
    for _ in 0..ROUNDS {
        let plain = watched(&daemon, BYTES, 4, Mode::View)?;
        without.push(plain.seconds);
        let mut crowd = Crowd::of(&daemon, BYTES)?;
        let mut sleeper = daemon.attach(Wire::Tls, &crowd.session, Mode::View)?;
        sleeper.first_screen()?;
        crowd.join(&daemon, 4, Mode::View)?;
        let beside = crowd.watch(daemon.pid())?;
        with.push(beside.seconds);
        more.push(beside.peak_kib - plain.peak_kib);
        // It wakes up: what it missed comes as a picture.
        snapshots = snapshots.min(sleeper.follow()?.snapshots);
    }
    findings.add(Figure::beside(
        "B4 the others",
        (median(&with), "s"),
        median(&without),
        "≤ 1.1 × the time without it",
        |ratio| ratio <= 1.1,
    ));
    let more = median(&more);
    findings.add(Figure::alone(
        "B4 memory for it",
        (more, "KiB more"),
        "≤ 1 MiB",
        more <= 1024.0,
    ));
    let snapshots = snapshots as f64;
    let target = "comes back by a snapshot";
    findings.add(Figure::alone(
        "B4 its return",
        (snapshots, "snapshots"),
        target,
        snapshots >= 1.0,
    ));
    beside_slow_ones(findings, &daemon)
}

/// Fifty viewers alone, and beside one at 10 KB/s and one that never reads.
fn beside_slow_ones(findings: &mut Findings, daemon: &UnderTest) -> Result<()> {
    let link = Runtime::new()?;
    let proxy = link.block_on(StampingProxy::slow(daemon.address(), SLOW));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..2 * ROUNDS {
        let alone = || watched(daemon, LONG, 50, Mode::View);
        let beside = || beside_two(daemon, proxy.address());
        let (alone, beside) = if round % 2 == 0 {
            let alone = alone()?;
            (alone, beside()?)
        } else {
            let beside = beside()?;
            (alone()?, beside)
        };
        without.push(LONG as f64 / 1e6 / alone.seconds);
        with.push(LONG as f64 / 1e6 / beside.seconds);
    }
    let figure = Figure::beside(
        "B4 fifty beside slow ones",
        (median(&with), "MB/s"),
        median(&without),
        "≥ 0.95 × without them",
        |ratio| ratio >= 0.95,
    );
    findings.add(figure.required());
    Ok(())
}

/// Fifty viewers beside one that never reads and one behind the slow link at `link`.
fn beside_two(daemon: &UnderTest, link: SocketAddr) -> Result<Seen> {
    let mut crowd = Crowd::of(daemon, LONG)?;
    let mut sleeper = daemon.attach(Wire::Tls, &crowd.session, Mode::View)?;
    sleeper.first_screen()?;
    let mut slow = daemon.attach_by(link, &crowd.session, Mode::View)?;
    slow.first_screen()?;
    let slow = thread::spawn(move || slow.follow());
    crowd.join(daemon, 50, Mode::View)?;
    let seen = crowd.watch(daemon.pid())?;
    slow.join().ok().context("the slow viewer panicked")??;
    Ok(seen)
}

/// M2.
pub(super) fn idle(findings: &mut Findings) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )?;
    let gate = Gate::new()?;
    let daemon = UnderTest::start()?;
    let session = daemon.session(&program(&["rest", &gate.path().display().to_string(), "100"])?)?;
    let _rests = gate.arrival()?;
    let mut viewers = Vec::with_capacity(IDLE + WARM_UP);
    let mut before = 0.0;
    for number in 0..IDLE + WARM_UP {
        if number == WARM_UP {
            before = kernel::memory(daemon.pid())?.proportional;
        }
        let mut viewer = daemon.attach(Wire::Tls, &session, Mode::View)?;
        viewer.first_screen()?;
        viewers.push(viewer);
    }
    let each = (kernel::memory(daemon.pid())?.proportional - before) / IDLE as f64;
    findings.add(Figure::alone(
        "M2 idle viewer",
        (each, "KiB"),
        "≤ 32 KB",
        each <= 32.0,
    ));
    Ok(())
}

/// How a run looked to several viewers.
struct Seen {
    /// MB/s of the slowest.
    slowest: f64,
    /// MB/s of all.
    together: f64,
    /// Until the slowest had all.
    seconds: f64,
    /// Bytes that not all of them got.
    skipped: u64,
    /// The most memory above what the server had before.
    peak_kib: f64,
}

/// Viewers of one session whose program waits.
struct Crowd {
    gate: Gate,
    session: String,
    viewers: Vec<Client>,
    base_kib: f64,
}

impl Crowd {
    fn of(daemon: &UnderTest, bytes: u64) -> Result<Self> {
        let gate = Gate::new()?;
        Ok(Self {
            session: daemon.session(&bulk::emit(&gate, Kind::Plain, bytes)?)?,
            gate,
            viewers: Vec::new(),
            base_kib: kernel::resident_kib(daemon.pid())?,
        })
    }

    fn join(&mut self, daemon: &UnderTest, count: usize, mode: Mode) -> Result<()> {
        for _ in 0..count {
            self.viewers.push(daemon.attach(Wire::Tls, &self.session, mode)?);
        }
        Ok(())
    }

    /// Lets the program go; all read to its end.
    fn watch(mut self, server: u32) -> Result<Seen> {
        let mut program = self.gate.arrival()?;
        kernel::reset_peak(server)?;
        let begun = Instant::now();
        program.go()?;
        let followed: Vec<Followed> = thread::scope(|scope| {
            let viewers = self
                .viewers
                .iter_mut()
                .map(|viewer| scope.spawn(|| viewer.follow()));
            let viewers: Vec<_> = viewers.collect();
            viewers
                .into_iter()
                .map(|viewer| viewer.join().ok().context("a viewer panicked")?)
                .collect::<Result<_>>()
        })?;
        let last = followed
            .iter()
            .map(|followed| followed.last)
            .max()
            .context("there are viewers")?;
        let seconds = (last - begun).as_secs_f64();
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        Ok(Seen {
            slowest: followed
                .iter()
                .map(|followed| megabytes(followed.bytes) / (followed.last - begun).as_secs_f64())
                .fold(f64::INFINITY, f64::min),
            together: megabytes(followed.iter().map(|followed| followed.bytes).sum()) / seconds,
            seconds,
            skipped: followed.iter().map(|followed| followed.skipped).sum(),
            peak_kib: kernel::peak_kib(server)? - self.base_kib,
        })
    }
}

fn watched(daemon: &UnderTest, bytes: u64, count: usize, mode: Mode) -> Result<Seen> {
    let mut crowd = Crowd::of(daemon, bytes)?;
    crowd.join(daemon, count, mode)?;
    crowd.watch(daemon.pid())
}

fn passed_on(count: usize) -> Result<Seen> {
    let gate = Gate::new()?;
    let floor = Floor::start(FloorKind::Wss, &[bulk::emit(&gate, Kind::Plain, BYTES)?])?;
    let viewers = (0..count)
        .map(|_| floor.attach(Wire::Tls, 0))
        .collect::<Result<_>>()?;
    let crowd = Crowd {
        gate,
        session: String::new(),
        viewers,
        base_kib: kernel::resident_kib(floor.pid())?,
    };
    crowd.watch(floor.pid())
}

/// Bytes in a second over a slow link.
const SLOW: u32 = 10_000;
/// Fifty viewers get 400 MB of it.
const BYTES: u64 = 8 << 20;
/// Idle viewers.
const IDLE: usize = 1_000;
/// Viewers before them, so that what happens once is not counted.
const WARM_UP: usize = 20;
/// Bytes beside slow viewers. The bound is a twentieth away, and short runs differ by a quarter.
const LONG: u64 = 64 << 20;
