//! Running commands, and saying how long each step took.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};

/// The root of the workspace: as cargo says it that runs this, as a clone which builds into the same target may run what was built of
/// another; else where this was built.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_path_buf).unwrap_or(here)
}

/// A command that runs in the root of the workspace.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    root().join(target)
}

/// What this compiler builds for unless it is told otherwise, such as `x86_64-unknown-linux-gnu`.
///
/// # Errors
/// rustc does not say.
pub(crate) fn host() -> Result<String> {
    let said = output(&mut command("rustc", &["--version", "--verbose"]))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc says no host")
}

/// What a command prints.
///
/// # Errors
/// Where it cannot be started, does not succeed, or prints no text; the message has what it says of it.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command
        .output()
        .with_context(|| format!("`{shown}` could not be started"))?;
    ensure!(
        output.status.success(),
        "`{shown}` ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed no text"))
}

/// Runs a command to its end.
///
/// # Errors
/// Where it cannot be started or does not succeed; the message names it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("`{shown}` could not be started"))?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// The steps of a run, each with its minutes.
#[derive(Default)]
pub(crate) struct Steps {
    only: Vec<String>,
    taken: Vec<(&'static str, f64)>,
}

impl Steps {
    /// All steps, or those named.
    pub(crate) fn new(only: &[String]) -> Self {
        Self {
            only: only.to_vec(),
            taken: Vec::new(),
        }
    }

    /// Runs one step, unless others were asked for.
    pub(crate) fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if !self.only.is_empty() && !self.only.iter().any(|wanted| wanted == name) {
            return Ok(());
        }
        println!("\n== {name}");
        let begun = Instant::now();
        work().with_context(|| {
            format!("step `{name}` failed; `cargo xtask test --only {name}` runs it alone")
        })?;
        self.taken.push((name, begun.elapsed().as_secs_f64() / 60.0));
        Ok(())
    }

    /// The same for a step that is run only where it is asked for.
    pub(crate) fn on_demand(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        match self.only.iter().any(|wanted| wanted == name) {
            true => self.step(name, work),
            false => Ok(()),
        }
    }

    /// Prints the minutes per step.
    pub(crate) fn summary(&self) -> Result<()> {
        ensure!(!self.taken.is_empty(), "no step has that name");
        println!();
        for (name, minutes) in &self.taken {
            println!("{minutes:6.1} min  {name}");
        }
        println!(
            "{:6.1} min  in all",
            self.taken.iter().map(|(_, minutes)| minutes).sum::<f64>()
        );
        Ok(())
    }
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|argument| argument.to_string_lossy().into_owned()),
    );
    words.join(" ")
}
