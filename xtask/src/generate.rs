//! The generated files that are committed.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::steps::{command, root};

/// Writes each generated file, or checks that it is current.
pub(crate) fn run(check: bool) -> Result<()> {
    for made in FILES {
        one(&made, check)?;
    }
    Ok(())
}

fn one(made: &Made, check: bool) -> Result<()> {
    let Made {
        package,
        feature,
        example,
        file,
    } = *made;
    let output = command(
        "cargo",
        &[
            "run",
            "--quiet",
            "--locked",
            "--package",
            package,
            "--features",
            feature,
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

/// An example that prints a file, and where that belongs.
struct Made {
    package: &'static str,
    feature: &'static str,
    example: &'static str,
    file: &'static str,
}

const FILES: [Made; 4] = [
    Made {
        package: "protocol",
        feature: "ts",
        example: "typescript",
        file: "web/ui/src/protocol.ts",
    },
    Made {
        package: "protocol",
        feature: "ts",
        example: "widths",
        file: "web/ui/src/terminal/width-table.ts",
    },
    Made {
        package: "daemon",
        feature: "openapi",
        example: "openapi",
        file: "docs/openapi.json",
    },
    Made {
        package: "daemon",
        feature: "openapi",
        example: "routes",
        file: "docs/routes.md",
    },
];
