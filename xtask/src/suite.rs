//! `cargo xtask test`: every check, in the order in which a fault is cheapest to find.

use std::process::Command;

use anyhow::Result;

use crate::{
    steps::{self, Steps, command, root, target},
    tools, web,
};

/// Runs the steps, all or those named, and prints the minutes of each.
pub(crate) fn run(only: &[String]) -> Result<()> {
    let mut steps = Steps::new(only);
    steps.step("tools", || {
        tools::require_build_tools()?;
        tools::install()?;
        tools::install_python()
    })?;
    steps.step("format", || {
        steps::run(&mut command("cargo", &["fmt", "--all", "--check"]))
    })?;
    steps.step("web", || {
        web::build()?;
        web::check()
    })?;
    steps.step("lints", || {
        steps::run(&mut cargo(
            "clippy",
            &["--workspace", "--all-targets", "--", "--deny", "warnings"],
        ))?;
        steps::run(&mut cargo("check", &["--package", "pairing"]))
    })?;
    steps.step("build", || {
        steps::run(&mut cargo(
            "build",
            &["--package", "cli", "--package", "daemon", "--package", "protocol"],
        ))
    })?;
    steps.step("tests", || {
        steps::run(&mut with_binary(cargo("test", &["--workspace"])))
    })?;
    steps.step("browser", || {
        web::install(BROWSER)?;
        steps::run(with_binary(command("npm", &["test"])).current_dir(root().join(BROWSER)))
    })?;
    steps.on_demand("embedded", embedded)?;
    steps.summary()
}

/// Checks the node of the daemon's own: its hundreds of crates are built for nothing else.
fn embedded() -> Result<()> {
    let with_node = |verb, arguments: &[&str]| {
        let mut cargo = cargo(verb, &["--package", "daemon", "--package", "cli"]);
        cargo.args(["--features", "cli/tailnet-embedded"]).args(arguments);
        cargo
    };
    steps::run(&mut with_node(
        "clippy",
        &["--all-targets", "--", "--deny", "warnings"],
    ))?;
    steps::run(&mut with_node("test", &["--lib", "--", "tailnet", "config"]))?;
    steps::run(&mut with_node("build", &[]))?;
    let driving = cargo(
        "test",
        &["--package", "e2e", "tailnet::embedded", "--", "--ignored"],
    );
    steps::run(&mut with_binary(driving))
}

/// A cargo command in the one profile of the tests, with the generated files checked.
fn cargo(verb: &str, arguments: &[&str]) -> Command {
    let mut cargo = command("cargo", &[verb, "--locked", "--profile", "ci"]);
    if verb != "check" {
        cargo.args(["--features", "protocol/ts,daemon/openapi"]);
    }
    cargo.args(arguments);
    cargo
}

/// Tells the tests which binary they drive.
fn with_binary(mut command: Command) -> Command {
    command.env("TEST_TRANSOM_BINARY", target().join("ci/transom"));
    command
}

/// Where the browser tests are.
pub(crate) const BROWSER: &str = "tests/browser";
