//! B5: the screen's own speed, beside alacritty_terminal alone, on one thread.

use std::process::Command;

use alacritty_terminal::{
    Term,
    event::VoidListener,
    grid::Dimensions,
    term::Config,
    vte::ansi::{Processor, StdSyncHandler},
};
use anyhow::Result;
use terminal::Size;

use super::Findings;
use crate::{
    content::Kind,
    kernel::{self, thread_seconds},
    report::Figure,
    sampling::{ROUNDS, median},
};

pub(super) fn run(findings: &mut Findings) -> Result<()> {
    for kind in [Kind::Plain, Kind::Mixed] {
        let block = kind.block();
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut screen = terminal::screen(Size::new(COLUMNS, ROWS));
            ours.push(speed(&block, |piece| screen.feed(piece))?);
            let mut term = Term::new(config(), &Area, VoidListener);
            let mut parser = Processor::<StdSyncHandler>::new();
            floor.push(speed(&block, |piece| parser.advance(&mut term, piece))?);
        }
        findings.add(Figure::beside(
            &format!("B5 {}", kind.name()),
            (median(&ours), "MB per s of CPU"),
            median(&floor),
            "≥ 3 × alacritty_terminal",
            |ratio| ratio >= 3.0,
        ));
    }
    memory(findings)
}

/// In a process of its own, where nothing was freed before.
fn memory(findings: &mut Findings) -> Result<()> {
    let output = Command::new(std::env::current_exe()?).arg("history").output()?;
    let (lines, mebibytes): (u64, f64) = serde_json::from_slice(&output.stdout)?;
    if lines < LINES {
        findings.missing("B5 memory", &format!("a screen keeps {lines} lines"));
        return Ok(());
    }
    findings.add(Figure::alone(
        "B5 memory",
        (mebibytes, "MiB"),
        "≤ 3 MB for 10,000 lines of 80 columns",
        mebibytes * 1.048_576 <= 3.0,
    ));
    Ok(())
}

/// Prints how many lines of history a screen has after 10,000 full ones scrolled out of it, and what it costs in MiB.
pub(crate) fn history() -> Result<()> {
    let line = "the quick brown fox jumps over the lazy dog while the build goes on and on and 1\r\n";
    let before = kernel::memory(std::process::id())?.private;
    let mut screen = terminal::screen(Size::new(80, ROWS));
    for _ in 0..LINES + u64::from(ROWS) {
        screen.feed(line.as_bytes());
    }
    let more = kernel::memory(std::process::id())?.private - before;
    let history = screen.history();
    println!(
        "{}",
        serde_json::to_string(&(history.end - history.start, more / 1024.0))?
    );
    Ok(())
}

/// MB per second of processor time.
fn speed(block: &[u8], mut feed: impl FnMut(&[u8])) -> Result<f64> {
    let before = thread_seconds()?;
    for _ in 0..BLOCKS {
        block.chunks(PIECE).for_each(&mut feed);
    }
    Ok((block.len() * BLOCKS) as f64 / 1e6 / (thread_seconds()? - before))
}

fn config() -> Config {
    Config {
        scrolling_history: 10_000,
        ..Config::default()
    }
}

/// The size of alacritty's terminal.
struct Area;

impl Dimensions for Area {
    fn total_lines(&self) -> usize {
        usize::from(ROWS)
    }

    fn screen_lines(&self) -> usize {
        usize::from(ROWS)
    }

    fn columns(&self) -> usize {
        usize::from(COLUMNS)
    }
}

const LINES: u64 = 10_000;
const COLUMNS: u16 = 100;
const ROWS: u16 = 30;
/// Blocks of about a megabyte.
const BLOCKS: usize = 24;
/// Bytes that a screen is fed at once.
const PIECE: usize = 16 * 1024;
