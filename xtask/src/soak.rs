//! `cargo xtask soak`: everything at once on the real binary, against a model that knows what must be true.

use anyhow::{Context, Result, ensure};

use crate::steps::{command, root};

/// How long, and by which script.
#[derive(clap::Args)]
pub(crate) struct Soak {
    /// How long the storm lasts.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// The seed of an earlier storm: the same script again.
    #[arg(long)]
    seed: Option<u64>,
    /// Soak this binary instead of building one.
    #[arg(long, value_name = "PATH")]
    binary: Option<std::path::PathBuf>,
}

/// Builds the daemon and the storm in the tests' profile, and lets it rage.
pub(crate) fn run(soak: &Soak) -> Result<()> {
    let binary = match &soak.binary {
        Some(path) => path
            .canonicalize()
            .with_context(|| format!("there is no {}", path.display()))?,
        None => build("cli", "transom")?,
    };
    let mut storm = std::process::Command::new(build("soak", "soak")?);
    storm
        .args(["--minutes", &soak.minutes.to_string()])
        .env("TEST_TRANSOM_BINARY", binary);
    if let Some(seed) = soak.seed {
        storm.args(["--seed", &seed.to_string()]);
    }
    let status = storm.status().context("the storm could not be started")?;
    ensure!(status.success(), "something that must be true was not");
    Ok(())
}

fn build(package: &str, binary: &str) -> Result<std::path::PathBuf> {
    let mut cargo = command(
        "cargo",
        &["build", "--profile", "ci", "--locked", "--package", package],
    );
    let status = cargo.status().context("cargo could not be started")?;
    ensure!(status.success(), "`{package}` could not be built");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    Ok(root().join(target).join("ci").join(binary))
}
