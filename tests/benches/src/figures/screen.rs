//! B5: the screen's own speed, beside alacritty_terminal alone, on one thread.

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
    kernel::thread_seconds,
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
    findings.missing(
        "B5 memory of 10,000 lines",
        "a screen does not say yet how many lines it keeps",
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

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;
/// Blocks of about a megabyte.
const BLOCKS: usize = 24;
/// Bytes that a screen is fed at once.
const PIECE: usize = 16 * 1024;
