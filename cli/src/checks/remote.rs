//! The way to a remote daemon, step by step, and nothing is kept of what is learned.

use std::time::Duration;

use ::client::Https;
use jiff::{Timestamp, fmt::rfc2822};
use protocol::access::Health;
use reqwest::{Method, Response, header::DATE};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout},
};

use super::Check;
use crate::{
    failure::Failure,
    remote::{self, Record, Store},
    ssh::Tunnel,
};

/// Goes to the remote of this name, as verbs with `--on` do. What comes after a step that failed is not tried.
pub(crate) async fn remote(name: &str) -> Vec<Check> {
    let found = Store::of_environment().and_then(|store| Ok((store.get(name)?, store)));
    let (record, store) = match found {
        Ok(found) => found,
        Err(failure) => return vec![Check::of("remote", failure)],
    };
    let way = match &record.ssh {
        Some(far) => format!("{} over SSH", far.destination),
        None => record.address.to_string(),
    };
    let mut found = vec![Check::ok(
        "remote",
        format!("{name} is {way}, with the pin {}", record.pin),
    )];
    let https = match reached(name, &record, &mut found).await {
        Some(https) => https,
        None => return found,
    };
    let Some(health) = greeted(name, &https, &mut found).await else {
        return found;
    };
    found.push(version(name, &health));
    found.push(token(name, record, store, https).await);
    found
}

/// Goes as far as the daemon's port.
async fn reached(name: &str, record: &Record, found: &mut Vec<Check>) -> Option<Https> {
    let Some(far) = &record.ssh else {
        return directly(name, record, found).await;
    };
    let opened = async {
        let tunnel = Tunnel::to(far.clone())?;
        let there = tunnel.open().await?;
        Ok((tunnel, there))
    };
    let (tunnel, there) = match opened.await {
        Ok(opened) => opened,
        Err(failure) => {
            found.push(Check::of("ssh", failure));
            return None;
        }
    };
    let is_it = there.pin == record.pin || record.next_pin() == Some(there.pin);
    if !is_it {
        found.push(Check::of(
            "ssh",
            Failure::wrong_key(&far.destination.to_string(), record.pin, there.pin),
        ));
        return None;
    }
    let detail = format!("`ssh` gets there, and the daemon listens at {}", there.address);
    found.push(Check::ok("ssh", detail));
    remote::through(name, tunnel, record.pin, record.next_pin())
        .map_err(|failure| found.push(Check::of("ssh", failure)))
        .ok()
}

async fn directly(name: &str, record: &Record, found: &mut Vec<Check>) -> Option<Https> {
    let address = &record.address;
    let resolved = timeout(PATIENCE, lookup_host((address.host.as_str(), address.port))).await;
    let addresses: Vec<_> = match resolved {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    if addresses.is_empty() {
        found.push(Check::failed(
            "resolve",
            format!(
                "{} is no name that this machine finds an address for",
                address.host
            ),
            "see that the tailnet or the network of that name is up; `transom remote list` shows the address",
        ));
        return None;
    }
    let all: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
    found.push(Check::ok(
        "resolve",
        format!("{} is {}", address.host, all.join(", ")),
    ));
    let began = Instant::now();
    let connected = timeout(PATIENCE, TcpStream::connect(&addresses[..])).await;
    let failure = match connected {
        Ok(Ok(_)) => {
            let detail = format!(
                "{address} answers within {} ms",
                began.elapsed().as_millis().max(1)
            );
            found.push(Check::ok("connect", detail));
            let https = Https::with_next(name, address, record.pin, record.next_pin());
            return https
                .map_err(|error| found.push(Check::of("connect", error.into())))
                .ok();
        }
        Ok(Err(error)) => format!("{address} does not take a connection: {error}"),
        Err(_) => format!("{address} does not answer"),
    };
    found.push(Check::failed(
        "connect",
        failure,
        "see that the daemon runs there and listens (`transom doctor` there), and that the tailnet or the tunnel is open",
    ));
    None
}

/// Shakes hands with the holder of the key, and compares the clocks.
async fn greeted(name: &str, https: &Https, found: &mut Vec<Check>) -> Option<Health> {
    let before = Timestamp::now();
    let asked = async {
        let response = https.send(https.request(Method::GET, "/health")).await?;
        let date = date(&response);
        let body = response.bytes().await;
        let body = body.map_err(|error| Failure::connecting(https.place(), &error))?;
        Ok::<_, Failure>((date, serde_json::from_slice::<Health>(&body).ok()))
    };
    let asked = timeout(PATIENCE, asked)
        .await
        .map_err(|_| Failure::no_answer(https.place()))
        .flatten();
    let (date, health) = match asked {
        Ok(asked) => asked,
        Err(failure) => {
            found.push(Check::of("tls", failure));
            return None;
        }
    };
    found.push(Check::ok(
        "tls",
        format!("the holder of the key {} is there", https.pin()),
    ));
    if health.is_none() {
        let hint = "see what listens there: the key is the daemon's, and its words are not";
        found.push(Check::failed(
            "tls",
            format!("{name} does not answer as a daemon does"),
            hint,
        ));
    }
    found.push(compared(name, date, before, Timestamp::now()));
    health
}

/// The time by the clock there.
fn date(response: &Response) -> Option<Timestamp> {
    let text = response.headers().get(DATE)?.to_str().ok()?;
    Some(rfc2822::parse(text).ok()?.timestamp())
}

fn compared(name: &str, there: Option<Timestamp>, before: Timestamp, after: Timestamp) -> Check {
    let Some(there) = there else {
        return Check::skipped("clock", format!("{name} does not say what its clock shows"));
    };
    let there = there.as_second();
    let (behind, ahead) = (before.as_second() - there, there - after.as_second());
    let apart = behind.max(ahead);
    if apart <= TOLERANCE {
        return Check::ok(
            "clock",
            format!("the clocks here and there are at most {TOLERANCE} s apart"),
        );
    }
    let which = if behind > ahead { "behind" } else { "ahead of" };
    Check::warning(
        "clock",
        format!("the clock of {name} is {apart} s {which} this machine's"),
        "set the one that is wrong (`sudo timedatectl set-ntp true`): certificates and ends of trust go by that one's",
    )
}

fn version(name: &str, health: &Health) -> Check {
    let ours = env!("CARGO_PKG_VERSION");
    match health.version == ours {
        true => Check::ok("version", format!("{ours}, here and there")),
        false => Check::warning(
            "version",
            format!("{name} runs {}, and this is {ours}", health.version),
            "bring the older one up to date: what only one of them knows cannot be done between them",
        ),
    }
}

/// Whether the daemon knows this machine, by a proof of its key.
async fn token(name: &str, record: Record, store: Store, https: Https) -> Check {
    if record.uncommitted.is_some() {
        return Check::warning(
            "token",
            format!("the pairing with {name} is not finished"),
            format!("`transom whoami --on {name}` finishes it"),
        );
    }
    let device = match remote::device_by(store, name, &record, https) {
        Ok(device) => device,
        Err(failure) => return Check::of("token", failure),
    };
    match device.who_is_asking().await.map_err(Failure::from) {
        Ok(me) => {
            let role = me.role.map(|role| role.to_string()).unwrap_or_default();
            let label = me.label.unwrap_or_default();
            Check::ok(
                "token",
                format!("{name} knows this machine as \"{label}\", {role}"),
            )
        }
        Err(failure) if failure.is_rejection() => Check::of("token", failure).hint(format!(
            "if its owner wants that, `transom remote rm {name}`, then pair again with `transom remote add`"
        )),
        Err(failure) => Check::of("token", failure),
    }
}

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds by which two clocks may differ without anybody noticing.
const TOLERANCE: i64 = 30;

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::compared;
    use crate::checks::State;

    #[test]
    fn clocks_that_are_far_apart_are_told_with_the_one_that_is_behind() {
        let at = |second: i64| Timestamp::from_second(1_795_000_000 + second).unwrap();
        let compared = |there| compared("desk", Some(at(there)), at(0), at(5));
        assert_eq!(compared(-20).state, State::Ok);
        assert_eq!(compared(30).state, State::Ok);
        assert!(compared(-600).detail.contains("600 s behind"));
        assert!(compared(605).detail.contains("600 s ahead of"));
        assert_eq!(super::compared("desk", None, at(0), at(5)).state, State::Skipped);
    }
}
