//! The Host and Origin gate: the first thing on every request of a TLS listener.
//!
//! It stops DNS rebinding, pages of other origins and cross-site WebSockets before anything is authenticated.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use http::{HeaderMap, Uri, header, request};

use crate::{error::Failure, peer::Peer};

/// The names that a request may use for this daemon, besides the address it arrived at.
#[derive(Clone, Debug, Default)]
pub struct OwnNames {
    loopback: Vec<String>,
    others: Vec<HostName>,
    /// This machine's name in its tailnet.
    tailnet: Option<HostName>,
}

impl OwnNames {
    /// The loopback names of this instance, and further names that a browser may use on the listener's own port.
    pub fn new(instance: &str, others: &[String]) -> Self {
        let loopback = vec!["localhost".to_owned(), format!("{instance}.localhost")];
        let others = others
            .iter()
            .filter_map(|name| HostName::parse(&plain_name(name)))
            .collect();
        Self {
            loopback,
            others,
            tailnet: None,
        }
    }

    /// The same with this machine's name in its tailnet, on the listener's own port as well.
    #[must_use]
    pub fn in_tailnet(self, name: Option<&str>) -> Self {
        let tailnet = name.and_then(|name| HostName::parse(&plain_name(name)));
        Self { tailnet, ..self }
    }

    /// The same with the name in the tailnet that others have.
    pub(crate) fn in_tailnet_of(self, others: &Self) -> Self {
        let tailnet = others.tailnet.clone();
        Self { tailnet, ..self }
    }

    /// Whether a page of this origin, on the listener that the peer came to, is the daemon's own.
    pub(crate) fn has_origin(&self, origin: &pairing::Origin, peer: &Peer) -> bool {
        let Peer::Remote(remote) = peer else { return false };
        let host = Host::parse(&format!("{}:{}", origin.host(), origin.port()));
        host.is_some_and(|host| self.has(&host, remote.listener))
    }

    fn has(&self, host: &Host, listener: SocketAddr) -> bool {
        let is_on_port = host.has_port(listener.port());
        match &host.name {
            // A tunnel's local end may have any port, so loopback names go with any.
            HostName::Name(name) if self.loopback.contains(name) => true,
            HostName::Address(address) if is_plain_loopback(*address) => true,
            HostName::Address(address) if *address == listener.ip().to_canonical() => is_on_port,
            other => (self.others.contains(other) || self.tailnet.as_ref() == Some(other)) && is_on_port,
        }
    }
}

/// A request's own host, as the gate understood it: lower case, without trailing dot, never with user information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: HostName,
    port: Option<u16>,
}

impl Host {
    /// Reads the authority of a URL; `None` for anything but a name or an address and at most a port.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = split_port(text)?;
        let name = match name.strip_prefix('[') {
            Some(rest) => HostName::Address(IpAddr::V6(rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?)),
            None if name.contains(':') => return None,
            None => HostName::parse(&plain_name(name))?,
        };
        Some(Self { name, port })
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.unwrap_or(HTTPS) == port
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            HostName::Name(name) => write!(formatter, "{name}")?,
            HostName::Address(IpAddr::V4(address)) => write!(formatter, "{address}")?,
            HostName::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

/// Lets a request pass or says why not; the host is `None` on the Unix socket, where it says nothing.
///
/// # Errors
/// Where Host or Origin are not what a client of this daemon sends.
pub fn check(head: &request::Parts, peer: &Peer, names: &OwnNames) -> Result<Option<Host>, Failure> {
    let Peer::Remote(remote) = peer else {
        let has_origin = head.headers.contains_key(header::ORIGIN);
        return if has_origin {
            Err(Failure::WrongOrigin)
        } else {
            Ok(None)
        };
    };
    let host = host_of(&head.headers, &head.uri)?;
    if !names.has(&host, remote.listener) {
        return Err(Failure::WrongHost);
    }
    if !origin_is_own(&head.headers, &host) {
        return Err(Failure::WrongOrigin);
    }
    Ok(Some(host))
}

fn host_of(headers: &HeaderMap, uri: &Uri) -> Result<Host, Failure> {
    let mut named = headers.get_all(header::HOST).iter();
    let from_header = match (named.next(), named.next()) {
        (Some(_), Some(_)) => return Err(Failure::AmbiguousHost),
        (Some(value), None) => Some(
            value
                .to_str()
                .ok()
                .and_then(Host::parse)
                .ok_or(Failure::AmbiguousHost)?,
        ),
        (None, _) => None,
    };
    let from_uri = match uri.authority() {
        Some(authority) => Some(Host::parse(authority.as_str()).ok_or(Failure::AmbiguousHost)?),
        None => None,
    };
    match (from_header, from_uri) {
        (Some(header), Some(uri)) if header != uri => Err(Failure::AmbiguousHost),
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err(Failure::AmbiguousHost),
    }
}

fn origin_is_own(headers: &HeaderMap, host: &Host) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(origin), None) => origin
            .to_str()
            .ok()
            .and_then(|origin| Host::parse(origin.strip_prefix("https://")?))
            .is_some_and(|origin| origin.name == host.name && origin.has_port(host.port.unwrap_or(HTTPS))),
        (Some(_), Some(_)) => false,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Name(String),
    Address(IpAddr),
}

impl HostName {
    fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address));
        }
        let is_plain = !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        is_plain.then(|| Self::Name(text.to_owned()))
    }
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number
                .then(|| digits.parse().ok())
                .flatten()
                .map(|port| (name, Some(port)))
        }
        Some(_) | None => Some((text, None)),
    }
}

fn plain_name(text: &str) -> String {
    text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()
}

fn is_plain_loopback(address: IpAddr) -> bool {
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

/// The port of an `https` URL that names none.
const HTTPS: u16 = 443;

#[cfg(test)]
mod tests;
