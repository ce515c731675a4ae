//! The listeners of a running daemon, each through TLS: its pin, its names and its dates.

use std::net::SocketAddr;

use certs::{Sight, SpkiPin};
use daemon::{Config, config::TailnetMode};
use jiff::Timestamp;
use protocol::access::{Status, TlsEndpoint};

use super::{Check, Door, Running, day, embedded, timestamp, unix};
use crate::failure::Failure;

/// Whether any is configured; none where one is, or there is one all the same.
pub(crate) fn configured(config: &Config, running: Option<&Running>) -> Option<Check> {
    // With a tailnet, what it lacks is said of that.
    let is_any = !config.tls.is_empty() || config.tailnet_mode != TailnetMode::Off;
    let is_there = running.is_some_and(|running| !running.status.tls.is_empty());
    (!is_any && !is_there).then(|| {
        Check::warning(
            "listener",
            "none is configured: no device reaches the daemon, not even through a tunnel",
            "add \"127.0.0.1:7443\" to listen.tls for SSH, or \"tailnet:7443\" for a tailnet",
        )
    })
}

/// Comes to a listener as devices do, where there is a way; `kept` is the pin of the identity in the files.
pub(crate) async fn listener(
    status: &Status,
    endpoint: &TlsEndpoint,
    kept: Option<SpkiPin>,
    now: Timestamp,
) -> Check {
    let address = &endpoint.address;
    let (Ok(at), Ok(pin)) = (address.parse::<SocketAddr>(), endpoint.pin.parse::<SpkiPin>()) else {
        let hint = "daemon and command are of different versions: `transom restart`";
        return Check::failed("listener", format!("{address} is not understood"), hint);
    };
    if let Some(kept) = kept.filter(|kept| *kept != pin) {
        return Check::failed(
            "listener",
            format!("{address} shows the key {pin}, and keys/identity.pem holds {kept}"),
            "the file was exchanged while the daemon ran: put the right one back, then `transom restart`",
        );
    }
    if let Some(unreached) = embedded::unreached("listener", status, at) {
        return unreached;
    }
    let door = Door::at(at);
    if let Err(failure) = door.check_pin(pin).await {
        return unreached(address, failure);
    }
    let hosts = hosts(endpoint, at);
    let mut ends = None;
    for host in &hosts {
        match seen(door, host, now).await {
            Ok(sight) => {
                let end = timestamp(sight.not_after);
                ends = Some(ends.map_or(end, |ends: Timestamp| ends.min(end)));
            }
            Err(check) => return check,
        }
    }
    let until = ends.map(|end| format!(" until {}", day(end))).unwrap_or_default();
    Check::ok(
        "listener",
        format!(
            "{address} answers with its pin, and with a certificate for {}{until}",
            hosts.join(", ")
        ),
    )
}

/// The certificate for a name, where it is for that name and good now.
async fn seen(door: Door, host: &str, now: Timestamp) -> Result<Sight, Check> {
    let address = door.at;
    let shown = door
        .shown(host)
        .await
        .map_err(|failure| unreached(&address.to_string(), failure))?;
    let unreadable = |why: certs::PairError| {
        let hint = "see `transom certs`";
        Check::failed(
            "listener",
            format!("{address}: what it shows for {host} {why}"),
            hint,
        )
    };
    let sight = Sight::of(&shown).map_err(unreadable)?;
    if !sight.is_for(host) {
        let hint = "see `transom certs`; a certificate of your own must have the name, and its own is made anew by `transom reload`";
        let detail = format!("{address} shows a certificate for {host} that does not name it");
        return Err(Check::failed("listener", detail, hint));
    }
    sight.check_dates(unix(now)).map_err(|why| {
        let from = day(timestamp(sight.not_before));
        let until = day(timestamp(sight.not_after));
        Check::failed(
            "listener",
            format!("{address}: the certificate for {host} {why} (it is good from {from} until {until})"),
            "see the clock of this machine; renew a certificate of your own, and the daemon takes it up",
        )
    })?;
    Ok(sight)
}

/// The names by which one comes to this listener.
fn hosts(endpoint: &TlsEndpoint, at: SocketAddr) -> Vec<String> {
    let is_here = |name: &&String| match name.parse::<std::net::IpAddr>() {
        Ok(address) => address == at.ip(),
        Err(_) => true,
    };
    endpoint.names.iter().filter(is_here).cloned().collect()
}

fn unreached(address: &str, failure: Failure) -> Check {
    let is_another = matches!(&failure, Failure::Problem { problem, .. } if problem.code == "wrong_pin");
    Check::of("listener", failure).hint(match is_another {
        true => format!("another program answers at {address}: see who with `sudo ss -ltnp`"),
        false => {
            "`transom restart` opens it again; where a firewall of this machine is in the way, let it pass"
                .to_owned()
        }
    })
}
