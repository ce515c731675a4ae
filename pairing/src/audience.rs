//! Whom a device believes to be talking to.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

/// The other end as a device sees it: what it signs, so that a relay with another certificate or name gains nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// `pin:sha256/<base64url>`, by native clients: the certificate's key that they see themselves.
    Pin(String),
    /// `origin:https://host:port`, by browsers, which cannot see the certificate.
    Origin(Origin),
}

/// The origin of a page, `https` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    host: String,
    port: Option<u16>,
}

/// A text that is no audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an audience is pin:sha256/… or origin:https://host:port")]
pub struct MalformedAudience;

impl Origin {
    /// The host in lower case; IPv6 addresses in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, 443 where the origin names none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(443)
    }
}

impl FromStr for Audience {
    type Err = MalformedAudience;

    fn from_str(text: &str) -> Result<Self, MalformedAudience> {
        if let Some(pin) = text.strip_prefix("pin:") {
            return if is_pin(pin) {
                Ok(Self::Pin(pin.to_string()))
            } else {
                Err(MalformedAudience)
            };
        }
        text.strip_prefix("origin:")
            .ok_or(MalformedAudience)?
            .parse()
            .map(Self::Origin)
    }
}

impl FromStr for Origin {
    type Err = MalformedAudience;

    fn from_str(text: &str) -> Result<Self, MalformedAudience> {
        let authority = text.strip_prefix("https://").ok_or(MalformedAudience)?;
        // An IPv6 address holds colons of its own.
        let (host, port) = match authority
            .rfind(':')
            .filter(|colon| !authority[*colon..].contains(']'))
        {
            Some(colon) => (&authority[..colon], Some(parse_port(&authority[colon + 1..])?)),
            None => (authority, None),
        };
        if is_host(host) {
            Ok(Self {
                host: host.into(),
                port,
            })
        } else {
            Err(MalformedAudience)
        }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pin(pin) => write!(f, "pin:{pin}"),
            Self::Origin(origin) => write!(f, "origin:{origin}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn is_pin(text: &str) -> bool {
    text.strip_prefix("sha256/").is_some_and(|digest| {
        digest.len() == 43
            && digest
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    })
}

/// A name or IPv4 address, or an IPv6 one in brackets. Lower case only: so do browsers write origins, and what is
/// signed is compared byte by byte.
fn is_host(text: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => {
            inner.contains(':')
                && inner
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b":abcdef.".contains(&b))
        }
        None => (1..=253).contains(&text.len()) && text.bytes().all(|b| lower(b) || b == b'-' || b == b'.'),
    }
}

/// A port as browsers write it: without sign or leading zero.
fn parse_port(text: &str) -> Result<u16, MalformedAudience> {
    match text.parse::<u16>() {
        Ok(port) if port.to_string() == text => Ok(port),
        _ => Err(MalformedAudience),
    }
}

#[cfg(test)]
mod tests {
    use super::{Audience, MalformedAudience};
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::ProptestConfig;

    const PIN: &str = "sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

    #[test]
    fn a_pin_reads_what_it_wrote() {
        let text = format!("pin:{PIN}");
        let audience: Audience = text.parse().unwrap();
        assert_eq!(audience, Audience::Pin(PIN.into()));
        assert_eq!(audience.to_string(), text);
    }

    #[test]
    fn origins_with_names_addresses_and_without_a_port_read_what_they_wrote() {
        for text in [
            "origin:https://localhost:7300",
            "origin:https://host.tail1234.ts.net",
            "origin:https://127.0.0.1:9000",
            "origin:https://[::1]:7300",
            "origin:https://[fd7a:115c::1]",
        ] {
            assert_eq!(text.parse::<Audience>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn host_and_port_are_told_apart() {
        let Ok(Audience::Origin(v6)) = "origin:https://[::1]:7300".parse() else {
            panic!("an origin")
        };
        assert_eq!((v6.host(), v6.port()), ("[::1]", 7300));
        let Ok(Audience::Origin(name)) = "origin:https://a.example".parse() else {
            panic!("an origin")
        };
        assert_eq!((name.host(), name.port()), ("a.example", 443));
    }

    #[test]
    fn user_info_paths_other_schemes_and_capitals_are_refused() {
        for text in [
            "",
            "origin:",
            "origin:null",
            "origin:http://localhost:1",
            "origin:https://",
            "origin:https://:7300",
            "origin:https://a@b:1",
            "origin:https://localhost:7300/",
            "origin:https://localhost:7300/x",
            "origin:https://LOCALHOST:7300",
            "origin:https://localhost:",
            "origin:https://localhost:07300",
            "origin:https://localhost:+73",
            "origin:https://localhost:70000",
            "origin:https://a\nb:1",
            "origin:https://[localhost]:1",
        ] {
            assert_eq!(text.parse::<Audience>(), Err(MalformedAudience), "{text}");
        }
    }

    #[test]
    fn pins_of_other_hashes_lengths_and_alphabets_are_refused() {
        for text in [
            "pin:",
            "pin:sha256/",
            "pin:sha1/47DEQpj8HBSa",
            &format!("pin:{PIN}="),
            "pin:sha256/+7DEQpj8",
        ] {
            assert_eq!(text.parse::<Audience>(), Err(MalformedAudience), "{text}");
        }
    }

    proptest::proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_an_audience_is_written_as_it_was_read(text in "(pin:|origin:)?(https://|sha256/)?[\\PC]{0,50}") {
            if let Ok(audience) = text.parse::<Audience>() {
                assert_eq!(audience.to_string(), text);
            }
        }

        #[test]
        fn names_with_ports_are_origins(host in "[a-z0-9][a-z0-9.-]{0,20}", port in 0_u16..) {
            let text = format!("origin:https://{host}:{port}");
            let Ok(Audience::Origin(origin)) = text.parse() else { panic!("{text}") };
            assert_eq!((origin.host(), origin.port()), (host.as_str(), port));
        }
    }
}
