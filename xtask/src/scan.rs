//! `cargo xtask scan`: what can be known against the dependencies, the wire and the history, by tools that look for nothing else.

mod daemon;
mod headers;
mod history;
mod supply;
mod tls;

use std::path::PathBuf;

use anyhow::{Result, ensure};

use self::daemon::Daemon;
use crate::dependencies;

/// What is scanned, and with what.
#[derive(clap::Args)]
pub(crate) struct Scan {
    /// Run these steps alone: dependencies, bans, advisories, npm, unused, tls, headers, history.
    #[arg(long = "only", value_name = "STEP")]
    only: Vec<String>,
    /// Build cargo-deny and cargo-machete into `target/tools` where they are missing (some ten minutes of a processor).
    #[arg(long)]
    install: bool,
    /// Scan a daemon of this binary instead of building one.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// How a step went that did not fail.
pub(crate) enum Outcome {
    /// What was looked at, and that it is well.
    Well(String),
    /// Why it could not be looked at here.
    Skipped(String),
}

/// Runs the steps, each to its end whatever the others say.
///
/// # Errors
/// A step found something, or could not be run though its tool is there.
pub(crate) fn run(scan: &Scan) -> Result<()> {
    for wanted in &scan.only {
        ensure!(
            STEPS.contains(&wanted.as_str()),
            "there is no step `{wanted}`; there are {}",
            STEPS.join(", ")
        );
    }
    let mut failed = Vec::new();
    let mut daemon = None;
    for step in STEPS
        .into_iter()
        .filter(|step| scan.only.is_empty() || scan.only.iter().any(|only| only == step))
    {
        let outcome = match step {
            "dependencies" => dependencies::check().map(Outcome::Well),
            "bans" => supply::bans(scan.install),
            "advisories" => supply::advisories(scan.install),
            "npm" => supply::npm(),
            "unused" => supply::unused(scan.install),
            "history" => history::scan(),
            of_the_wire => on_a_daemon(of_the_wire, scan, &mut daemon),
        };
        match outcome {
            Ok(Outcome::Well(what)) => println!("ok       {step}: {what}"),
            Ok(Outcome::Skipped(why)) => println!("skipped  {step}: {why}"),
            Err(error) => {
                println!("failed   {step}: {error:#}");
                failed.push(step);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn on_a_daemon(step: &str, scan: &Scan, daemon: &mut Option<Daemon>) -> Result<Outcome> {
    let daemon = match daemon {
        Some(daemon) => daemon,
        None => daemon.insert(Daemon::start(scan.binary.as_deref())?),
    };
    match step {
        "tls" => tls::scan(daemon),
        _ => headers::scan(daemon),
    }
}

const STEPS: [&str; 8] = [
    "dependencies",
    "bans",
    "advisories",
    "npm",
    "unused",
    "tls",
    "headers",
    "history",
];
