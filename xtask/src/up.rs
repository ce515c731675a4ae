//! `cargo xtask up`: from a fresh clone to a daemon that waits for a first device.

use std::{
    io::{BufRead, BufReader, IsTerminal},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    steps::{self, command, target},
    web,
};

/// Builds, starts the daemon, starts a first session, and pairs a first device; then waits for the daemon's end.
pub(crate) fn run(dir: Option<&Path>) -> Result<()> {
    let dir = dir.map(std::path::absolute).transpose()?;
    let binary = target().join("release/transom");
    let transom = |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(arguments);
        if let Some(dir) = &dir {
            command.env("TRANSOM_DIR", dir);
        }
        command
    };
    // Said before ten minutes of building, where an earlier build can tell.
    let runs = binary.is_file()
        && transom(&["status"])
            .output()
            .is_ok_and(|status| status.status.success());
    ensure!(
        !runs,
        "a daemon already runs here: `{} shutdown` ends it, or `--dir FOLDER` runs another beside it",
        binary.display()
    );
    web::build()?;
    steps::run(&mut command(
        "cargo",
        &["build", "--release", "--locked", "--package", "cli"],
    ))?;
    let mut daemon = transom(&["up"])
        .stdout(Stdio::piped())
        .spawn()
        .context("the daemon could not be started")?;
    let started = wait_until_ready(&mut daemon).and_then(|()| first_steps(&transom));
    if started.is_err() {
        daemon.kill().ok();
    }
    started?;
    println!(
        "\nThe daemon runs in this terminal; Ctrl-C ends it; its sessions go on (`transom shutdown --sessions` ends both)."
    );
    let status = daemon.wait()?;
    ensure!(status.success(), "the daemon ended with {status}");
    Ok(())
}

/// Passes the daemon's words on until it says that it is ready.
fn wait_until_ready(daemon: &mut Child) -> Result<()> {
    let output = daemon.stdout.take().context("the daemon's output is piped")?;
    let mut lines = BufReader::new(output).lines();
    loop {
        let line = lines
            .next()
            .context("the daemon ended before it was ready; it says why above")??;
        println!("{line}");
        if line.starts_with("ready") {
            break;
        }
    }
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| println!("{line}")));
    Ok(())
}

fn first_steps(transom: &impl Fn(&[&str]) -> Command) -> Result<()> {
    let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    steps::run(&mut transom(&["new", "--name", "first", "--", &shell]))?;
    if std::io::stdin().is_terminal() {
        // A pairing that the person breaks off is no reason to end the daemon.
        if let Err(error) = steps::run(&mut transom(&["pair"])) {
            eprintln!("{error}; `transom pair` tries again");
        }
    } else {
        println!("\nThis is no terminal, so nobody can be asked: run `transom pair` in one.");
    }
    Ok(())
}
