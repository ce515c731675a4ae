//! Where a remote daemon listens, and the links of offers.

use std::{fmt, str::FromStr};

use certs::SpkiPin;
use protocol::pairing::OfferProof;
use reqwest::Url;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an address, an IPv6 one without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// What was given to pair by: an address, or the link of an offer.
#[derive(Debug)]
pub struct Link {
    /// Where the daemon is said to listen.
    pub address: Address,
    /// The owner's offer, and the pin of the key that made it.
    pub offer: Option<(OfferProof, SpkiPin)>,
}

/// A text that leads to no daemon; what it says holds nothing of the text, which may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

impl Address {
    /// A short name for it: the first part of a host's name, or the address.
    pub fn short_name(&self) -> String {
        let is_name = self.host.parse::<std::net::IpAddr>().is_err();
        let short = self.host.split('.').next().filter(|_| is_name);
        short.unwrap_or(&self.host).replace(':', "-")
    }
}

impl FromStr for Address {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let link: Link = text.parse()?;
        match link.offer {
            None => Ok(link.address),
            Some(_) => Err(Malformed("this is the link of an offer, and no address")),
        }
    }
}

impl FromStr for Link {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        // Before it is parsed, which would leave the port of the scheme out, and could not tell it from none.
        let (scheme, default_port) = match text.split_once("://") {
            Some(("https", _)) => ("", HTTPS_PORT),
            Some(_) => return Err(Malformed("the address must begin with https://")),
            None => ("https://", DEFAULT_PORT),
        };
        let url = Url::parse(&format!("{scheme}{text}")).map_err(|_| Malformed("this is no address"))?;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        let (host, fragment) = (url.host_str().unwrap_or_default(), url.fragment());
        let expected = if fragment.is_some() { "/pair" } else { "/" };
        if host.is_empty() || !is_plain || ![expected, "/", "/pair"].contains(&url.path()) {
            return Err(Malformed(
                "an address is a host and a port, as in https://desk:7443",
            ));
        }
        let explicit = scheme.is_empty() || has_port(text);
        let port = match url.port() {
            Some(port) => port,
            // The parser leaves out 443, which is what an https URL means without a port.
            None if explicit => HTTPS_PORT,
            None => default_port,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self {
            address: Address { host, port },
            offer: fragment.map(offer).transpose()?,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|Malformed(why)| de::Error::custom(why))
    }
}

/// Whether an address without a scheme names a port.
fn has_port(text: &str) -> bool {
    let authority = text.split(['/', '#']).next().unwrap_or_default();
    let behind = authority.rsplit_once(']').map_or(authority, |(_, behind)| behind);
    behind.contains(':')
}

/// The offer in a link's fragment: its id, its secret and the pin.
fn offer(fragment: &str) -> Result<(OfferProof, SpkiPin), Malformed> {
    let malformed = || Malformed("the link is not whole: copy all of it, up to its end");
    let (offer, pin) = OfferProof::from_fragment(fragment).ok_or_else(malformed)?;
    Ok((offer, pin.parse().map_err(|_| malformed())?))
}

/// The daemon's own default (listen.tls).
const DEFAULT_PORT: u16 = 7443;
const HTTPS_PORT: u16 = 443;

#[cfg(test)]
mod tests {
    use super::{Address, Link, Malformed};

    const PIN: &str = "sha256/LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM";
    const SECRET: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn address(text: &str) -> String {
        text.parse::<Address>()
            .map_or_else(|Malformed(why)| why.to_owned(), |address| address.to_string())
    }

    #[test]
    fn an_address_is_a_host_with_a_port_or_without() {
        for (text, meant) in [
            ("desk", "desk:7443"),
            ("desk:9000", "desk:9000"),
            ("desk:443", "desk:443"),
            ("https://desk.tail1234.ts.net", "desk.tail1234.ts.net:443"),
            ("https://desk:7443/", "desk:7443"),
            ("https://127.0.0.1:7443/pair", "127.0.0.1:7443"),
            ("[::1]:9000", "[::1]:9000"),
            ("[::1]", "[::1]:7443"),
            ("https://[::1]", "[::1]:443"),
        ] {
            assert_eq!(address(text), meant, "{text}");
        }
    }

    #[test]
    fn an_address_reads_back_from_what_it_wrote() {
        for text in ["desk:443", "desk:7443", "[fd7a::1]:443"] {
            assert_eq!(address(text), text);
        }
    }

    #[test]
    fn other_schemes_users_paths_and_queries_are_refused() {
        for text in [
            "",
            "http://desk:7443",
            "wss://desk",
            "https://me@desk",
            "https://desk/other",
            "https://desk/?a=b",
            "a b",
            "desk:99999",
        ] {
            assert!(text.parse::<Link>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_link_of_an_offer_holds_id_secret_and_pin() {
        let text = format!("https://desk:7443/pair#ofr_0000000000000001.{SECRET}.{PIN}");
        let link: Link = text.parse().unwrap();
        let (offer, pin) = link.offer.unwrap();
        assert_eq!(link.address.to_string(), "desk:7443");
        assert_eq!(offer.id.to_string(), "ofr_0000000000000001");
        assert_eq!((offer.secret.expose(), pin.to_string().as_str()), (SECRET, PIN));
    }

    #[test]
    fn half_a_link_is_refused_without_repeating_it() {
        for fragment in [
            format!("ofr_0000000000000001.{SECRET}"),
            format!("ofr_0000000000000001.{}.{PIN}", &SECRET[1..]),
            format!("ofr_1.{SECRET}.{PIN}"),
            String::new(),
        ] {
            let Malformed(why) = format!("https://desk/pair#{fragment}")
                .parse::<Link>()
                .unwrap_err();
            assert!(!why.contains(SECRET), "{why}");
        }
    }

    #[test]
    fn a_name_is_made_of_the_host() {
        for (text, name) in [
            ("desk.tail1234.ts.net", "desk"),
            ("localhost:7444", "localhost"),
            ("127.0.0.1:7443", "127.0.0.1"),
            ("[fd7a::1]:7443", "fd7a--1"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().short_name(), name);
        }
    }
}
