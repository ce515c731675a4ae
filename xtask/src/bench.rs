//! `cargo xtask bench`: the release binary, measured beside the least code that does the same.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::{
    steps::{command, root, target},
    suite::BROWSER,
    tools,
    web::UI,
};

/// What is measured, and how it is shown.
#[derive(clap::Args)]
pub(crate) struct Bench {
    /// What to measure: `sessions`, the terminal path; `access`, the access layer; `reach`, the ways in; `web`, the
    /// web app in the system's Chromium; `operate`, what it costs at rest, a start with a year's state, a scrape.
    name: String,
    /// One array of figures instead of a table; all else goes to stderr.
    #[arg(long)]
    json: bool,
    /// Write the array to a file as well.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show the ratios of a saved run beside this one's.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Measure these figures alone: B1, L2, restart; C1, revoke; S1; flood, echo; idle, start.
    #[arg(long, value_name = "FIGURE")]
    only: Vec<String>,
    /// Measure this binary instead of building the release binary.
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Builds what is measured and what measures, and runs it.
pub(crate) fn run(bench: &Bench) -> Result<()> {
    if !NAMES.contains(&bench.name.as_str()) {
        bail!(
            "there is no bench `{}` yet; there is `{}`",
            bench.name,
            NAMES.join("`, `")
        );
    }
    if bench.name == WEB {
        prepare_browser(bench.binary.is_none())?;
    }
    let binary = match &bench.binary {
        Some(path) => path
            .canonicalize()
            .with_context(|| format!("there is no {}", path.display()))?,
        None => build("cli", "transom")?,
    };
    let mut benches = std::process::Command::new(build("benches", "benches")?);
    benches.arg(&bench.name).env("TEST_TRANSOM_BINARY", binary);
    if bench.json {
        benches.arg("--json");
    }
    for (flag, path) in [("--save", &bench.save), ("--against", &bench.against)] {
        if let Some(path) = path {
            benches.arg(flag).arg(path);
        }
    }
    for figure in &bench.only {
        benches.args(["--only", figure]);
    }
    let status = benches.status().context("the benches could not be started")?;
    ensure!(status.success(), "not everything could be measured");
    Ok(())
}

/// Has what the browser's side needs: the browser and its fonts, its driver, the widget of the floor and, for a binary that is built now, the app.
fn prepare_browser(builds_app: bool) -> Result<()> {
    tools::require_build_tools()?;
    tools::install_browser()?;
    for folder in [UI, BROWSER] {
        if builds_app || !root().join(folder).join("node_modules").exists() {
            npm(folder, &["ci", "--no-fund", "--no-audit"])?;
        }
    }
    if builds_app {
        npm(UI, &["run", "build"])?;
    }
    Ok(())
}

/// Runs npm, which speaks on stderr here: stdout is for the figures.
fn npm(folder: &str, arguments: &[&str]) -> Result<()> {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join(folder)).stdout(std::io::stderr());
    let status = npm.status().context("npm could not be started")?;
    ensure!(
        status.success(),
        "`npm {}` failed in {folder}",
        arguments.join(" ")
    );
    Ok(())
}

/// Builds one package in the release profile, alone, so that no other's features come into it.
fn build(package: &str, binary: &str) -> Result<PathBuf> {
    // Cargo speaks on stderr: stdout is for the figures.
    let mut cargo = command("cargo", &["build", "--release", "--locked", "--package", package]);
    let status = cargo.status().context("cargo could not be started")?;
    ensure!(status.success(), "`{package}` could not be built");
    Ok(target().join("release").join(binary))
}

const NAMES: &[&str] = &["sessions", "access", "reach", "operate", WEB];
const WEB: &str = "web";
