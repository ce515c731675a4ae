//! The gates on the way of a phone, looked at before it is shown a code that would lead nowhere.

use daemon::{Config, config::TailnetMode};
use jiff::Timestamp;
use protocol::access::TailnetStatus;

use crate::{
    checks::{self, Check, Running, State},
    client::{self, Client},
    failure::Failure,
    output,
};

/// Looks at each gate. What only warns is given back; what shuts a phone out is an error, unless the owner wants the code all the
/// same.
///
/// # Errors
/// The first gate that is shut, with what opens it.
pub(super) async fn pass(client: &Client, is_forced: bool) -> Result<Vec<Check>, Failure> {
    // What keeps an offer from being made is said by whoever makes it.
    let Ok(running) = Running::ask(client).await else {
        return Ok(Vec::new());
    };
    if running.status.locked_down {
        return Ok(Vec::new());
    }
    let (shut, warnings) = sorted(look(&running).await);
    if let Some(first) = shut.first().filter(|_| !is_forced) {
        let hint = first.hint.as_deref().unwrap_or("see what `transom doctor` says");
        return Err(Failure::failed(
            "way_is_shut",
            format!("no phone would get here: {}", first.detail),
            format!("{hint}. `transom pair --force` shows the code all the same"),
        ));
    }
    Ok(shut.into_iter().chain(warnings).collect())
}

/// Tells of the gates that only warn.
pub(super) fn tell(warnings: &[Check]) {
    for warning in warnings {
        output::warning(&crate::escape::escape(&warning.detail));
        if let Some(hint) = &warning.hint {
            output::hint(&crate::escape::escape(hint));
        }
    }
}

async fn look(running: &Running) -> Vec<Check> {
    let now = Timestamp::now();
    let status = &running.status;
    let paths = client::paths().ok();
    let config = paths.as_ref().and_then(|paths| checks::configuration(paths).1);
    let mut found = Vec::new();
    if let Some(config) = &config {
        found.extend(tailnet(running, config).await);
        found.extend(checks::certificate(config, now).map(softened));
    }
    if let Some(endpoint) = checks::link(status) {
        found.push(checks::listener(status, endpoint, None, now).await);
    }
    found.extend(paths.map(|paths| softened(checks::clock(&paths, None, Some(running), now))));
    found.push(checks::web_app(Some(running)));
    found
}

/// What there is to say of the tailnet, where one is configured. It shuts a phone out only where that has no other way.
async fn tailnet(running: &Running, config: &Config) -> Vec<Check> {
    if config.tailnet_mode == TailnetMode::Off {
        return Vec::new();
    }
    let Some(status) = &running.status.tailnet else {
        let waits = checks::tailnet_listeners(config, Some(running));
        let mut tls = running.status.tls.iter();
        let is_reached = tls.any(|endpoint| checks::remote_address(&running.status, endpoint).is_some());
        return waits
            .into_iter()
            .map(|check| match is_reached {
                true => check,
                false => hardened(check),
            })
            .collect();
    };
    let found = match checks::embedded(config, Some(running)) {
        Some(found) => found,
        None => of_the_machine(running, status, config).await,
    };
    let is_other = |endpoint| {
        let at = checks::remote_address(&running.status, endpoint);
        at.is_some_and(|at| !status.listeners.iter().any(|listener| listener.parse() == Ok(at)))
    };
    match running.status.tls.iter().any(is_other) {
        true => found.into_iter().map(softened).collect(),
        false => found,
    }
}

/// What its tailscaled says of it.
async fn of_the_machine(running: &Running, status: &TailnetStatus, config: &Config) -> Vec<Check> {
    let (check, probe) = checks::tailnet(config).await;
    let mut found = vec![check];
    if let Some(probe) = probe.filter(|_| found[0].state == State::Ok) {
        found.push(checks::who_is_itself(config, &probe));
        found.extend(checks::tailnet_listeners(config, Some(running)));
        found.push(checks::https(&probe, Some(status)));
        found.push(checks::nodes(config, &probe));
    }
    found
}

/// The same, which is no more than a warning to who does not wait for a phone, and shuts that out.
fn hardened(check: Check) -> Check {
    turned(check, State::Warning, State::Failed)
}

/// The same, which shuts nobody out.
fn softened(check: Check) -> Check {
    turned(check, State::Failed, State::Warning)
}

fn turned(check: Check, from: State, to: State) -> Check {
    let state = if check.state == from { to } else { check.state };
    Check { state, ..check }
}

/// What is shut, and what only warns.
fn sorted(found: Vec<Check>) -> (Vec<Check>, Vec<Check>) {
    let of = |state| {
        let checks = found.iter().filter(move |check| check.state == state);
        checks.cloned().collect()
    };
    (of(State::Failed), of(State::Warning))
}
