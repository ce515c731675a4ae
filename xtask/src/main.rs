//! `cargo xtask`: set-up and checks, nothing that the product needs at run time.

mod bench;
mod dependencies;
mod dist;
mod fuzz;
mod generate;
mod packages;
mod scan;
mod soak;
mod steps;
mod suite;
mod tools;
mod up;
mod web;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Up { dir } => up::run(dir.as_deref()),
        Task::Test { only } => suite::run(&only),
        Task::Web => web::build(),
        Task::Gen { check } => generate::run(check),
        Task::Bench(bench) => bench::run(&bench),
        Task::Fuzz(fuzz) => fuzz::run(&fuzz),
        Task::Dist(dist) => dist::run(&dist),
        Task::Scan(scan) => scan::run(&scan),
        Task::Soak(soak) => soak::run(&soak),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Set-up and checks for people who work on Transom.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build everything, start the daemon and a first session, and show the QR code to pair with.
    Up {
        /// Keep all state in this directory instead of the user's own.
        #[arg(long)]
        dir: Option<std::path::PathBuf>,
    },
    /// Install what the tests need, then run every check: formatting, lints, unit, end-to-end and browser tests.
    Test {
        /// Run these steps alone: tools, format, web, lints, build, tests, browser; or embedded, which no other run has.
        #[arg(long = "only", value_name = "STEP")]
        only: Vec<String>,
    },
    /// Build the web app into `web/ui/dist`.
    Web,
    /// Write the generated files that are committed.
    Gen {
        /// Write nothing; fail where a file is stale.
        #[arg(long)]
        check: bool,
    },
    /// Measure the release binary, each figure beside the least code that does the same.
    Bench(bench::Bench),
    /// Fuzz what reads bytes of strangers.
    Fuzz(fuzz::Fuzz),
    /// Make the packages: a tarball, a Debian package, a bill of materials, checksums.
    Dist(dist::Dist),
    /// Look for what is known against the dependencies, the wire and the history.
    Scan(scan::Scan),
    /// Let everything happen at once, by a seed, and check what must be true.
    Soak(soak::Soak),
}
