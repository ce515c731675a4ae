//! What a connection costs in memory that is a device's and at rest.

use anyhow::{Result, ensure};

use super::raise_descriptors;
use crate::{figures::Findings, kernel, report::Figure, under_test::UnderTest};

pub(in crate::figures) fn run(findings: &mut Findings) -> Result<()> {
    raise_descriptors()?;
    let daemon = UnderTest::start()?;
    let access = daemon.access();
    let mut connections = Vec::with_capacity(IDLE + WARM_UP);
    let mut before = 0.0;
    for number in 0..IDLE + WARM_UP {
        if number == WARM_UP {
            before = kernel::resident_kib(daemon.pid())?;
        }
        let mut http = daemon.connect()?;
        let answer = http.get("/v1/whoami", Some(&access))?;
        ensure!(answer.status == 200, "it was refused: {}", answer.status);
        connections.push(http);
    }
    let each = (kernel::resident_kib(daemon.pid())? - before) / IDLE as f64;
    let figure = Figure::alone("idle connection", (each, "KiB"), "≤ 32 KB", each <= 32.0);
    findings.add(figure.required());
    Ok(())
}

const IDLE: usize = 1_000;
/// Connections before them, so that what happens once is not counted.
const WARM_UP: usize = 20;
