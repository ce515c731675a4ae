//! The packages, made a second time of a clone at another path, compared byte by byte.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::{SUMS, is_changed};
use crate::steps::{self, command, root, target};

/// Makes them again and compares.
///
/// # Errors
/// There are changes that a clone has not, or the bytes are others; the message names the files.
pub(super) fn run(out: &Path) -> Result<()> {
    ensure!(
        !is_changed()?,
        "a clone has only what is committed: commit the changes, then compare"
    );
    let folder = out.join("again");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let (clone, second) = (folder.join("clone"), folder.join("dist"));
    steps::run(command("git", &["clone", "--quiet"]).arg(root()).arg(&clone))?;
    // The linker and what the tests share with the manual come from here; the binary is built whole, at another path.
    steps::run(
        command("cargo", &["xtask", "dist", "--out"])
            .arg(&second)
            .current_dir(&clone)
            .env("CARGO_TARGET_DIR", target()),
    )?;
    let (first, second) = (sums(out)?, sums(&second)?);
    let others: Vec<_> = first
        .keys()
        .chain(second.keys())
        .filter(|name| first.get(*name) != second.get(*name))
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        bail!(
            "two builds of one commit differ in {}; the second is in {}",
            others.join(", "),
            folder.display()
        );
    }
    fs::remove_dir_all(&folder)?;
    println!(
        "two builds of one commit, at two paths, gave the same bytes: {} files",
        first.len()
    );
    Ok(())
}

/// The checksums by the names of the files.
fn sums(out: &Path) -> Result<BTreeMap<String, String>> {
    let path = out.join(SUMS);
    let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    Ok(lines
        .map(|(sum, name)| (name.to_owned(), sum.to_owned()))
        .collect())
}
