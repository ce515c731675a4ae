//! What others know about the dependencies: cargo-deny, cargo-machete, RustSec's and npm's advisories.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Outcome;
use crate::{
    steps::{self, command, output, root, target},
    suite::BROWSER,
    tools,
    web::UI,
};

/// Licences, bans and sources, as `deny.toml` has them.
pub(super) fn bans(install: bool) -> Result<Outcome> {
    let Some(mut deny) = tool(DENY, install)? else {
        return Ok(missing(DENY));
    };
    output(deny.args(["deny", "--locked", "check", "bans", "licenses", "sources"]))?;
    Ok(Outcome::Well(
        "licences, bans and sources are as deny.toml has them".to_owned(),
    ))
}

/// RustSec's advisories, where its database can be had.
pub(super) fn advisories(install: bool) -> Result<Outcome> {
    let reached = Command::new("timeout")
        .args([
            "20",
            "git",
            "ls-remote",
            "--quiet",
            "--exit-code",
            RUSTSEC,
            "HEAD",
        ])
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .context("git could not be started")?;
    if !reached.status.success() {
        return Ok(Outcome::Skipped(format!(
            "RustSec's database cannot be reached from here: {RUSTSEC}"
        )));
    }
    let Some(mut deny) = tool(DENY, install)? else {
        return Ok(missing(DENY));
    };
    output(deny.args(["deny", "--locked", "check", "advisories"]))?;
    Ok(Outcome::Well(
        "RustSec knows nothing against the crates".to_owned(),
    ))
}

/// npm's advisories, where the registry tells them.
pub(super) fn npm() -> Result<Outcome> {
    for folder in [UI, BROWSER] {
        let audit = Command::new("npm")
            .args(["audit", "--json", "--package-lock-only"])
            .current_dir(root().join(folder))
            .output();
        let audit = match audit {
            Ok(audit) => audit,
            Err(_) => return Ok(Outcome::Skipped("npm is not installed".to_owned())),
        };
        let report: Value = serde_json::from_slice(&audit.stdout).unwrap_or_default();
        let Some(total) = report["metadata"]["vulnerabilities"]["total"].as_u64() else {
            let words = report["message"].as_str().or(report["error"]["summary"].as_str());
            let words = words.unwrap_or("it gave no report");
            return Ok(Outcome::Skipped(format!(
                "the registry tells no advisories here: {words}"
            )));
        };
        if total > 0 {
            let names: Vec<_> = report["vulnerabilities"]
                .as_object()
                .into_iter()
                .flat_map(|found| found.keys())
                .collect();
            bail!("{folder} has {total} packages with advisories, {names:?}; `npm audit` there tells more");
        }
    }
    Ok(Outcome::Well(format!(
        "npm knows nothing against the packages of {UI} and {BROWSER}"
    )))
}

/// Dependencies that a manifest names and no source uses.
pub(super) fn unused(install: bool) -> Result<Outcome> {
    let Some(mut machete) = tool(MACHETE, install)? else {
        return Ok(missing(MACHETE));
    };
    output(machete.arg("machete"))?;
    Ok(Outcome::Well(
        "every dependency that a manifest names is used".to_owned(),
    ))
}

/// A cargo subcommand: of the PATH, or built into `target/tools`.
fn tool((name, version): (&str, &str), install: bool) -> Result<Option<Command>> {
    let own = target().join("tools/bin").join(name);
    let path: PathBuf = match (tools::found(name), own.is_file()) {
        (true, _) => name.into(),
        (false, true) => own,
        (false, false) if install => {
            let arguments = [
                "install",
                "--quiet",
                "--locked",
                name,
                "--version",
                version,
                "--root",
            ];
            steps::run(command("cargo", &arguments).arg(target().join("tools")))?;
            own
        }
        (false, false) => return Ok(None),
    };
    let mut tool = Command::new(path);
    tool.current_dir(root());
    Ok(Some(tool))
}

fn missing((name, _): (&str, &str)) -> Outcome {
    Outcome::Skipped(format!(
        "{name} is not installed: `cargo xtask scan --install` builds it"
    ))
}

const DENY: (&str, &str) = ("cargo-deny", "0.20.2");
const MACHETE: (&str, &str) = ("cargo-machete", "0.9.2");
const RUSTSEC: &str = "https://github.com/rustsec/advisory-db";
