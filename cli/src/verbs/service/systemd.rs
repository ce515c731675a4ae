//! The user's own systemd, by `systemctl`.

use std::{env, ffi::OsStr, io, process::Stdio};

use tokio::process::Command;

use crate::{client, exit, failure::Failure};

/// Refuses where the service would be of other files than its commands.
///
/// # Errors
/// With TRANSOM_DIR, and inside of a session.
pub(super) fn refuse_elsewhere() -> Result<(), Failure> {
    if client::session_socket().is_some() {
        return Err(Failure::usage(
            "the service of a daemon is not managed from inside of one of its sessions",
            "run this in a terminal outside of it",
        ));
    }
    if env::var_os("TRANSOM_DIR").is_some_and(|value| !value.is_empty()) {
        return Err(Failure::usage(
            "the service is of this user's own daemon, and TRANSOM_DIR names another",
            "unset it; a daemon of another folder is run by `transom up`, or by a unit of your own",
        ));
    }
    Ok(())
}

/// Asks `systemctl` of this user for something, and gives back what it says.
///
/// # Errors
/// There is none, no manager of this user runs, or it says no.
pub(super) async fn ask<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Result<String, Failure> {
    let arguments: Vec<I> = arguments.into_iter().collect();
    let answered = say(&arguments).await?;
    if answered.status.success() {
        return Ok(String::from_utf8_lossy(&answered.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&answered.stderr);
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.as_ref().to_string_lossy())
        .collect();
    let said_first = said.lines().next().unwrap_or_default();
    let detail = format!("`systemctl --user {}` failed: {said_first}", words.join(" "));
    Err(match is_without_manager(&said) {
        true => no_manager(&said),
        false => Failure::failed(
            "service_manager",
            detail,
            "`systemctl --user status transom.service` and `journalctl --user -u transom.service` say more",
        ),
    })
}

/// One word that `systemctl` says of a unit, such as `enabled` or `inactive`, whatever its exit code.
///
/// # Errors
/// There is none, or no manager of this user runs.
pub(super) async fn word(question: &str, unit: &str) -> Result<String, Failure> {
    let answered = say(&[question, unit]).await?;
    let said = String::from_utf8_lossy(&answered.stderr);
    if is_without_manager(&said) {
        return Err(no_manager(&said));
    }
    let word = String::from_utf8_lossy(&answered.stdout).trim().to_owned();
    Ok(match word.is_empty() {
        // What an older one says of a unit that is not there, on standard error.
        true => "not-found".to_owned(),
        false => word,
    })
}

async fn say<I: AsRef<OsStr>>(arguments: &[I]) -> Result<std::process::Output, Failure> {
    let answered = Command::new("systemctl")
        .args(["--user", "--no-pager", "--no-ask-password"])
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    answered.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => problem(
            "no_systemd",
            "there is no systemd on this machine".to_owned(),
            "run `transom up` by whatever starts services here; deploy/README.md says what it needs",
        ),
        _ => problem(
            "no_systemd",
            format!("`systemctl` cannot be started: {error}"),
            "see that `systemctl --user status` works",
        ),
    })
}

fn is_without_manager(said: &str) -> bool {
    [
        "Failed to connect to",
        "not been booted with systemd",
        "$DBUS_SESSION_BUS_ADDRESS",
    ]
    .iter()
    .any(|words| said.contains(words))
}

fn no_manager(said: &str) -> Failure {
    problem(
        "no_service_manager",
        format!(
            "no systemd of this user answers: {}",
            said.lines().next().unwrap_or_default()
        ),
        "log in as this user (`su` and `sudo` start none; `machinectl shell` and ssh do), or run `transom up` by whatever starts \
         services here, as in a container",
    )
}

fn problem(code: &str, detail: String, hint: &str) -> Failure {
    Failure::Problem {
        exit: exit::UNREACHABLE,
        problem: Box::new(protocol::Problem::new(503, code, detail, hint)),
    }
}
