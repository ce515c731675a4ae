//! C1 and C2: connecting as a device, and asking on as one.

use std::{net::SocketAddr, thread, time::Instant};

use anyhow::{Context, Result, ensure};
use harness::{Device, Owner, Pairing};
use protocol::access::Proven;
use tokio::runtime;

use crate::{
    client::{self, Http},
    figures::Findings,
    floor::{Floor, FloorKind},
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::UnderTest,
};

/// C1: connect, authenticate, first byte.
pub(in crate::figures) fn connect(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let floor = Floor::start(FloorKind::Tls, &[])?;
    let bearer = daemon.bearer()?;
    let (mut plain, mut proven, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    let (address, pin) = floor.tls()?;
    for _ in 0..ROUNDS {
        bare.push(per_second(CONNECTIONS, || client::handshake(address, pin))?);
        plain.push(per_second(CONNECTIONS, || {
            let mut http = daemon.connect()?;
            http.begin("/v1/whoami", bearer.token.expose())?;
            http.begun()
        })?);
        proven.push(per_second(CONNECTIONS, || with_a_proof(&daemon))?);
    }
    let bare = median(&bare);
    findings.add(Figure::beside(
        "C1 plain bearer",
        (median(&plain), "per s"),
        bare,
        "≥ 0.75 × bare handshakes",
        |ratio| ratio >= 0.75,
    ));
    findings.add(Figure::beside(
        "C1 with a proof",
        (median(&proven), "per s"),
        bare,
        "printed",
        |_| true,
    ));
    Ok(())
}

/// A first connection as a device makes it: refused with a challenge, proven, and let in.
fn with_a_proof(daemon: &UnderTest) -> Result<()> {
    let mut http = daemon.connect()?;
    let challenge = http.get("/v1/whoami", None)?.challenge()?;
    let device = daemon.device();
    let proven: Proven = http
        .post("/v1/auth/proof", device.token(), &device.proof(&challenge))?
        .ok()?;
    http.begin("/v1/whoami", proven.access_token.expose())?;
    http.begun()
}

/// C2: the same small route with and without authentication, and below bare axum.
pub(in crate::figures) fn keep_asking(findings: &mut Findings) -> Result<()> {
    let floor = Floor::start(FloorKind::Layer, &[])?;
    let (address, pin) = floor.tls()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let device = runtime.block_on(pair(floor.socket(), address, pin))?;
    let access = runtime.block_on(device.access());
    let bare_address = floor.bare()?;
    let (mut guarded, mut public, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(rate(bare_address, pin, "/small", None)?);
        public.push(rate(address, pin, "/v1/small", None)?);
        guarded.push(rate(address, pin, "/v1/guarded", Some(&access))?);
    }
    let (guarded, public, bare) = (median(&guarded), median(&public), median(&bare));
    findings.add(Figure::beside(
        "C2 beside no authentication",
        (guarded, "per s"),
        public,
        "≥ 0.9 × the same route",
        |ratio| ratio >= 0.9,
    ));
    findings.add(Figure::beside(
        "C2 beside bare axum",
        (guarded, "per s"),
        bare,
        "≥ 0.8 × bare axum",
        |ratio| ratio >= 0.8,
    ));
    Ok(())
}

async fn pair(socket: &str, address: SocketAddr, pin: &str) -> Result<Device> {
    let owner = Owner::new(socket.into());
    let mut pairing = Pairing::without_offer(address, pin);
    pairing.ask().await;
    let approved = owner.approve(pairing.id()).await;
    ensure!(approved.status / 100 == 2, "{approved:?}");
    let exchanged = pairing.exchange().await;
    let committed = pairing.try_commit(exchanged.token.expose()).await;
    ensure!(committed.status / 100 == 2, "{committed:?}");
    Ok(pairing.into_device(&exchanged))
}

/// Requests per second on a few kept connections.
fn rate(address: SocketAddr, pin: &str, path: &str, token: Option<&str>) -> Result<f64> {
    let mut clients = (0..CLIENTS)
        .map(|_| Http::connect(address, pin))
        .collect::<Result<Vec<_>>>()?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let asking: Vec<_> = clients
            .iter_mut()
            .map(|http| {
                scope.spawn(move || {
                    (0..REQUESTS).try_for_each(|_| {
                        let answer = http.get(path, token)?;
                        ensure!(answer.status == 200, "{path} was refused: {}", answer.status);
                        anyhow::Ok(())
                    })
                })
            })
            .collect();
        asking
            .into_iter()
            .try_for_each(|thread| thread.join().ok().context("a client panicked")?)
    })?;
    Ok((CLIENTS * REQUESTS) as f64 / begun.elapsed().as_secs_f64())
}

fn per_second(times: usize, mut act: impl FnMut() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    (0..times).try_for_each(|_| act())?;
    Ok(times as f64 / begun.elapsed().as_secs_f64())
}

/// Connections per round.
const CONNECTIONS: usize = 200;
const CLIENTS: usize = 4;
/// Requests of each client per round.
const REQUESTS: usize = 5_000;
