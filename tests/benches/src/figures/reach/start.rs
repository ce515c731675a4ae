//! S1: the second start, beside a program that opens one SQLite file; and the binary.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    figures::Findings,
    report::Figure,
    sampling::{ROUNDS, median},
    under_test::{UnderTest, program},
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    let mut daemon = UnderTest::start()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("floor.db");
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    // The first of the floor makes its file.
    opened(&file)?;
    for _ in 0..ROUNDS * STARTS {
        floor.push(opened(&file)?);
        daemon.kill();
        let begun = Instant::now();
        daemon.start_again();
        ours.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let more = median(&ours) - median(&floor);
    eprintln!(
        "start to ready: {:.1} ms; exec and one SQLite open: {:.1} ms",
        median(&ours),
        median(&floor)
    );
    // A bound in milliseconds fails at four times itself.
    findings.add(Figure::alone(
        "S1 second start",
        (more, "ms more"),
        "≤ 15 ms more (fails at 60)",
        more <= 60.0,
    ));
    let binary = std::env::var_os("TEST_TRANSOM_BINARY").context("the binary is named")?;
    let size = std::fs::metadata(&binary)?.len() as f64 / f64::from(1 << 20);
    findings.add(Figure::alone(
        "S1 binary",
        (size, "MiB"),
        "≤ 25 MiB",
        size <= 25.0,
    ));
    Ok(())
}

/// Milliseconds from exec until a program that opens a SQLite file says that it has.
fn opened(file: &Path) -> Result<f64> {
    let words = program(&["open", &file.display().to_string()])?;
    let (command, arguments) = words.split_first().context("a program has a name")?;
    let begun = Instant::now();
    let mut child = Command::new(command)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut line)?;
    let taken = begun.elapsed();
    ensure!(child.wait()?.success() && !line.is_empty(), "the floor failed");
    Ok(taken.as_secs_f64() * 1e3)
}

/// Starts of each in a round.
const STARTS: usize = 4;
