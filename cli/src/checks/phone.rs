//! What a phone sees at each address by which it may come: a page, or a warning before it.

use std::net::{IpAddr, SocketAddr};

use certs::Sight;
use daemon::{Config, config::TailnetMode};
use protocol::{
    access::{Status, TlsEndpoint},
    certificates::{Certificate, CertificateSource, Certificates},
};

use super::{
    Check, Door, Running, day, embedded, timestamp,
    trust::{Trust, trust},
};

/// What a phone sees, once for each name and address by which one can come from elsewhere, where that is configured.
pub(crate) async fn phone(running: &Running, config: Option<&Config>) -> Vec<Check> {
    let names = config.map_or(&[][..], |config| &config.names);
    let mut found = Vec::new();
    let mut done = Vec::new();
    for endpoint in &running.status.tls {
        let Some(at) = remote_address(&running.status, endpoint) else {
            continue;
        };
        if let Some(unreached) = embedded::unreached("phone", &running.status, at) {
            found.push(unreached);
            continue;
        }
        let mut has_good_name = false;
        for host in hosts(&running.status, at, names) {
            if done.contains(&(host.clone(), at.port())) {
                has_good_name |= host.parse::<IpAddr>().is_err();
                continue;
            }
            let is_address = host.parse::<IpAddr>().is_ok();
            let check = seen(
                running.certificates.as_ref(),
                at,
                &host,
                is_address && has_good_name,
            )
            .await;
            has_good_name |= !is_address && check.state == super::State::Ok;
            done.push((host, at.port()));
            found.push(check);
        }
    }
    if found.is_empty() {
        let near: Vec<&str> = running
            .status
            .tls
            .iter()
            .map(|endpoint| &*endpoint.address)
            .collect();
        found.push(match near.is_empty() {
            true => Check::skipped("phone", "no listener is open, so none gets here"),
            false => Check::skipped(
                "phone",
                format!(
                    "{} is on this machine alone: one gets here by a tunnel only",
                    near.join(", ")
                ),
            )
            .hint(way_for_phones(&running.status, config)),
        });
    }
    found
}

/// What has a phone come by a tailnet, as far as it is not configured yet.
fn way_for_phones(status: &Status, config: Option<&Config>) -> &'static str {
    match config.filter(|config| config.tailnet_mode != TailnetMode::Off) {
        None => "for phones a tailnet is best: tailnet.mode = \"host\", and \"tailnet:7443\" in listen.tls",
        Some(_) if status.tailnet.is_none() => {
            "`transom restart` takes up the tailnet that is configured by now; sessions go on"
        }
        Some(config) if config.tailnet_ports.is_empty() => {
            "for phones add \"tailnet:7443\" to listen.tls: the tailnet is configured"
        }
        Some(_) => "see what is said of the tailnet: its listener opens by itself once the node is there",
    }
}

/// The listener that the links of offers lead to.
pub(crate) fn link(status: &Status) -> Option<&TlsEndpoint> {
    let (host, port) = status.link_authority.as_ref()?.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let ip = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let is_of_tailnet = |at: &SocketAddr| {
        let tailnet = status.tailnet.as_ref();
        let has_name = tailnet.is_some_and(|tailnet| tailnet.name.as_deref() == Some(host));
        has_name && of_tailnet(status, *at)
    };
    let rank = |endpoint: &&TlsEndpoint| {
        let at: SocketAddr = endpoint.address.parse().ok()?;
        (at.port() == port).then(|| {
            (
                Some(at.ip()) == ip || is_of_tailnet(&at),
                at.ip().is_unspecified(),
            )
        })
    };
    let there = status.tls.iter().filter(|endpoint| rank(endpoint).is_some());
    there.max_by_key(rank)
}

/// Where it listens, if that can be reached from elsewhere.
pub(crate) fn remote_address(status: &Status, endpoint: &TlsEndpoint) -> Option<SocketAddr> {
    let at: SocketAddr = endpoint.address.parse().ok()?;
    (!at.ip().is_loopback() || of_tailnet(status, at)).then_some(at)
}

pub(super) fn of_tailnet(status: &Status, at: SocketAddr) -> bool {
    let listeners = status.tailnet.iter().flat_map(|tailnet| &tailnet.listeners);
    listeners.into_iter().any(|listener| listener.parse() == Ok(at))
}

/// By what one comes to a listener from elsewhere: names first.
fn hosts(status: &Status, at: SocketAddr, names: &[String]) -> Vec<String> {
    let mut hosts = names.to_vec();
    let tailnet = status.tailnet.as_ref().filter(|_| of_tailnet(status, at));
    hosts.extend(tailnet.and_then(|tailnet| tailnet.name.clone()));
    if !at.ip().is_unspecified() {
        hosts.push(at.ip().to_string());
    }
    hosts
}

/// What is seen under one name or address; `has_better` where there is a name of the same listener without a warning.
async fn seen(certificates: Option<&Certificates>, at: SocketAddr, host: &str, has_better: bool) -> Check {
    let door = Door::at(at);
    let url = format!("https://{}:{}", written(host), at.port());
    let shown = match door.shown(host).await {
        Ok(shown) => shown,
        Err(failure) => return Check::of("phone", failure),
    };
    let (Some(certificates), Ok(sight)) = (certificates, Sight::of(&shown)) else {
        return Check::skipped(
            "phone",
            format!("{url}: which certificate is shown cannot be told"),
        );
    };
    let pem = certs::pem_of(&shown);
    let known = certificates.certificates.iter().find(|one| one.pem == pem);
    match known.map(|known| (known.source, known)) {
        Some((CertificateSource::Trusted, _)) => Check::ok(
            "phone",
            format!(
                "{url}: no warning on a phone that has the root of `transom certs trust`, and one on others"
            ),
        ),
        Some((CertificateSource::Own | CertificateSource::Tailnet, known)) => {
            issued(&url, trust(door, host).await, &sight, known)
        }
        Some((CertificateSource::Identity, _)) if has_better => Check::ok(
            "phone",
            format!("{url}: a warning, as the certificate is the daemon's own; the name is the way"),
        ),
        Some((CertificateSource::Identity, _)) => Check::warning(
            "phone",
            format!("{url}: a warning, as the certificate is the daemon's own"),
            "phones are warned of nothing with HTTPS in a tailnet, with `transom certs trust`, or with a certificate of your own",
        ),
        None => Check::warning(
            "phone",
            format!("{url}: a certificate that the daemon does not serve"),
            format!("another program answers at {at}: see who with `sudo ss -ltnp`"),
        ),
    }
}

fn issued(url: &str, trust: Trust, sight: &Sight, known: &Certificate) -> Check {
    let issuer = &sight.issuer;
    let until = day(timestamp(sight.not_after));
    match trust {
        Trust::Trusted => Check::ok(
            "phone",
            format!("{url}: no warning; issued by {issuer}, good until {until}"),
        ),
        Trust::Untrusted => Check::warning(
            "phone",
            format!("{url}: a warning, unless the phone trusts {issuer}, whom this machine does not"),
            match known.source {
                CertificateSource::Tailnet => "see what `tailscale cert` says of it",
                _ => "get one from a public authority, or have the phone trust the one that issued it",
            },
        ),
        Trust::Unknown => Check::skipped(
            "phone",
            format!("{url}: whether a phone trusts {issuer} cannot be told here (good until {until})"),
        ),
    }
}

fn written(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}
