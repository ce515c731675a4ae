//! Ten thousand bad tokens from one peer, and how a good device fares meanwhile.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use pairing::{DeviceId, DeviceToken};
use rand::{rand_core::UnwrapErr, rngs::SysRng};

use crate::{client::Http, figures::Findings, report::Figure, sampling::tail, under_test::UnderTest};

pub(in crate::figures) fn run(findings: &mut Findings) -> Result<()> {
    let daemon = UnderTest::start()?;
    let access = daemon.access();
    let mut good = daemon.connect()?;
    let mut quiet = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        quiet.push(asked(&mut good, &access)?);
    }
    let is_over = AtomicBool::new(false);
    let mut beside = Vec::new();
    thread::scope(|scope| {
        let attacking = scope.spawn(|| {
            let refused = attack(&daemon);
            is_over.store(true, Ordering::Release);
            refused
        });
        while !is_over.load(Ordering::Acquire) {
            beside.push(asked(&mut good, &access)?);
        }
        attacking.join().ok().context("the attacker panicked")?
    })?;
    let ((_, quiet), (name, value)) = (tail(&quiet), tail(&beside));
    let figure = Figure::beside(
        &format!("bad-tokens {name}"),
        (value, "µs"),
        quiet,
        "≤ 2 × without them",
        |ratio| ratio <= 2.0,
    );
    findings.add(figure.required());
    Ok(())
}

/// Microseconds for one good request.
fn asked(http: &mut Http, access: &str) -> Result<f64> {
    let begun = Instant::now();
    let answer = http.get("/v1/whoami", Some(access))?;
    let taken = begun.elapsed();
    ensure!(
        answer.status == 200,
        "a good device was refused: {}",
        answer.status
    );
    Ok(taken.as_secs_f64() * 1e6)
}

/// Tokens that are well made and nobody's, as fast as one connection takes them.
fn attack(daemon: &UnderTest) -> Result<()> {
    let mut rng = UnwrapErr(SysRng);
    let mut http = daemon.connect()?;
    for _ in 0..BAD {
        let token = DeviceToken::generate(DeviceId::generate(&mut rng), &mut rng);
        // The daemon may have closed on so many failures.
        let status = match http.get("/v1/whoami", Some(&token.reveal())) {
            Ok(answer) => answer.status,
            Err(_) => {
                http = daemon.connect()?;
                continue;
            }
        };
        ensure!(
            matches!(status, 401 | 429),
            "a bad token was answered with {status}"
        );
    }
    Ok(())
}

const BAD: usize = 10_000;
const SAMPLES: usize = 5_000;
