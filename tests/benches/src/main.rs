//! Benches: what the real binary does, each figure beside a floor, the least code that does the same, in one run.
//!
//! `cargo xtask bench` builds and runs this. The other commands are what it starts of itself: the floors, and the programs
//! that run on the terminals.

mod client;
mod content;
mod figures;
mod floor;
mod gate;
mod kernel;
mod program;
mod report;
mod sampling;
mod under_test;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{content::Kind, figures::Selection, floor::FloorKind, report::Format};

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Sessions(shown) => {
            let (selection, format) = shown.split();
            return figures::sessions(&selection, &format);
        }
        Command::Access(shown) => {
            let (selection, format) = shown.split();
            return figures::access(&selection, &format);
        }
        Command::Reach(shown) => {
            let (selection, format) = shown.split();
            return figures::reach(&selection, &format);
        }
        Command::Web(shown) => {
            let (selection, format) = shown.split();
            return figures::web(&selection, &format);
        }
        Command::Operate(shown) => {
            let (selection, format) = shown.split();
            return figures::operate(&selection, &format);
        }
        Command::Floor { kind, programs } => floor::serve(kind, &programs)?,
        Command::Emit { gate, kind, bytes } => program::emit(&gate, kind, bytes)?,
        Command::History => figures::history()?,
        Command::Open { file } => program::open(&file)?,
        Command::Echo { gate } => program::echo(&gate)?,
        Command::Rest { gate, lines } => program::rest(&gate, lines)?,
        Command::Tick { gate } => program::tick(&gate)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Parser)]
#[command(name = "benches")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The terminal path: bulk, echo, viewers, memory, restart.
    Sessions(Shown),
    /// The access layer: permits, connections, requests, revocation.
    Access(Shown),
    /// The ways in: handshakes, certificates, the start.
    Reach(Shown),
    /// The web app, in a browser: what it loads, the first screen, a flood, echo, the list.
    Web(Shown),
    /// Running it for long: what it costs at rest, the start with a year's state, a scrape.
    Operate(Shown),
    /// Serves the least that does the job.
    #[command(hide = true)]
    Floor {
        kind: FloorKind,
        /// What runs on each terminal: a JSON array of arrays of words.
        programs: String,
    },
    /// Writes so many bytes once it is let go, and says how long that took.
    #[command(hide = true)]
    Emit { gate: PathBuf, kind: Kind, bytes: u64 },
    /// Opens a SQLite file, says so and ends.
    #[command(hide = true)]
    Open { file: PathBuf },
    /// Sends back what is typed, as a line editor does.
    #[command(hide = true)]
    Echo { gate: PathBuf },
    /// Says what a screen's history costs.
    #[command(hide = true)]
    History,
    /// Writes so many lines, then rests until its terminal goes.
    #[command(hide = true)]
    Rest { gate: PathBuf, lines: u32 },
    /// Writes a line each second until its terminal goes.
    #[command(hide = true)]
    Tick { gate: PathBuf },
}

/// What is measured, and how it is shown.
#[derive(clap::Args)]
struct Shown {
    /// One array of figures instead of a table.
    #[arg(long)]
    json: bool,
    /// Write the array to a file as well.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show the ratios of a saved run beside this one's.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Measure these figures alone: B1, L2, restart.
    #[arg(long, value_name = "FIGURE")]
    only: Vec<String>,
}

impl Shown {
    fn split(self) -> (Selection, Format) {
        let Self {
            json,
            save,
            against,
            only,
        } = self;
        (Selection::new(only), Format { json, save, against })
    }
}
