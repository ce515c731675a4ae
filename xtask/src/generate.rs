//! The generated files that are committed.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::steps::{command, root};

/// Writes each generated file, or checks that it is current.
pub(crate) fn run(check: bool) -> Result<()> {
    for (example, path) in FILES {
        one(example, path, check)?;
    }
    Ok(())
}

fn one(example: &str, file: &str, check: bool) -> Result<()> {
    let output = command(
        "cargo",
        &[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "protocol",
            "--features",
            "ts",
            "--example",
            example,
        ],
    )
    .output()
    .context("cargo could not be started")?;
    ensure!(
        output.status.success(),
        "{file} could not be made:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let path = root().join(file);
    if check {
        let committed = fs::read(&path).with_context(|| format!("{file} cannot be read"))?;
        ensure!(
            committed == output.stdout,
            "{file} is stale: run `cargo xtask gen` and commit it"
        );
        return Ok(());
    }
    fs::write(&path, &output.stdout).with_context(|| format!("{file} cannot be written"))?;
    println!("wrote {file}");
    Ok(())
}

/// The examples of `protocol` that print them, and where they belong.
const FILES: [(&str, &str); 2] = [
    ("typescript", "web/ui/src/protocol.ts"),
    ("widths", "web/ui/src/terminal/width-table.ts"),
];
