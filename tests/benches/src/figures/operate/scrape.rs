//! A scrape while a thousand connections are open, beside one while none is.

use std::time::Instant;

use anyhow::{Result, ensure};
use pairing::Role;

use crate::{
    client::Http,
    figures::{Findings, access::raise_descriptors},
    report::Figure,
    sampling::{median, tail},
    under_test::UnderTest,
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    raise_descriptors()?;
    let daemon = UnderTest::start()?;
    let metrics = daemon.add(Some(Role::Metrics))?;
    let token = metrics.token.expose();
    let mut scraper = daemon.connect()?;
    let none = scrapes(&mut scraper, token)?;
    let access = daemon.access();
    let mut open = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut http = daemon.connect()?;
        let answer = http.get("/v1/whoami", Some(&access))?;
        ensure!(answer.status == 200, "it was refused: {}", answer.status);
        open.push(http);
    }
    let many = scrapes(&mut scraper, token)?;
    drop(open);
    for (name, value, floor) in [
        ("scrape", median(&many), median(&none)),
        ("scrape, slowest", slowest(&many), slowest(&none)),
    ] {
        let most = 2.0 * floor + 2.0;
        let target = "≤ 2 × with none + 2 ms";
        let figure = Figure::beside(name, (value, "ms"), floor, target, |_| value <= most);
        findings.add(figure.required());
    }
    Ok(())
}

/// As far as the samples can tell.
fn slowest(taken: &[f64]) -> f64 {
    tail(taken).1
}

/// Milliseconds that each took.
fn scrapes(scraper: &mut Http, token: &str) -> Result<Vec<f64>> {
    let mut taken = Vec::with_capacity(SCRAPES);
    // The first authenticates the connection.
    for number in 0..=SCRAPES {
        let asked = Instant::now();
        let answer = scraper.get("/metrics", Some(token))?;
        ensure!(answer.status == 200, "it was refused: {}", answer.status);
        if number > 0 {
            taken.push(asked.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(taken)
}

const CONNECTIONS: usize = 1_000;
const SCRAPES: usize = 200;
