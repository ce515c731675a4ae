//! Where `ssh` goes, and how the command is called there.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What `ssh` takes as its destination (ssh(1)): `host`, `user@host` or `ssh://user@host:port`, with the host as in its own
/// configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination(String);

/// A daemon behind a destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Far {
    /// Where `ssh` goes.
    pub(crate) destination: Destination,
    /// How the command is called there, as the shell there reads it; without it, `transom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<String>,
}

/// A text that is no destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoDestination;

impl Destination {
    /// Whether a text that may be an address as well can only mean this: it names a user, or the scheme.
    pub(crate) fn is_meant_by(text: &str) -> bool {
        text.starts_with(SCHEME) || (text.contains('@') && !text.contains("://"))
    }

    /// What this machine calls it where no name is given: the first part of the host's name, or its address.
    pub(crate) fn short_name(&self) -> String {
        let is_url = self.0.starts_with(SCHEME);
        let text = self.0.strip_prefix(SCHEME).unwrap_or(&self.0);
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _port)) => address,
            // Only an URL has a port: elsewhere a colon is of an IPv6 address.
            None if is_url => host.split([':', '/']).next().unwrap_or(host),
            None => host,
        };
        let is_name = host.parse::<IpAddr>().is_err();
        let short = host.split('.').next().filter(|_| is_name);
        short.unwrap_or(host).replace(':', "-")
    }
}

impl FromStr for Destination {
    type Err = NoDestination;

    fn from_str(text: &str) -> Result<Self, NoDestination> {
        // One that begins with a hyphen would be an option.
        let is_one = |character: char| !character.is_whitespace() && !character.is_control();
        match !text.is_empty() && !text.starts_with('-') && text.chars().all(is_one) {
            true => Ok(Self(text.to_owned())),
            false => Err(NoDestination),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for Destination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Destination {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|NoDestination| de::Error::custom("this is no destination of ssh"))
    }
}

impl Far {
    /// How the command is called there.
    pub(crate) fn program(&self) -> &str {
        self.program.as_deref().unwrap_or("transom")
    }
}

const SCHEME: &str = "ssh://";

#[cfg(test)]
mod tests {
    use super::{Destination, NoDestination};

    fn parsed(text: &str) -> Result<Destination, NoDestination> {
        text.parse()
    }

    #[test]
    fn what_ssh_would_read_as_an_option_or_as_two_words_is_refused() {
        for text in [
            "",
            "-oProxyCommand=sh",
            "-v",
            "ann@desk -v",
            "ann@desk\n",
            "a\u{1b}[2Jb",
        ] {
            assert_eq!(parsed(text), Err(NoDestination), "{text:?}");
        }
        for text in ["desk", "ann@desk", "ssh://ann@desk:2222", "ann@fd7a::1"] {
            assert_eq!(parsed(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_user_or_the_scheme_tells_it_from_an_address() {
        for text in ["ann@desk", "ssh://desk", "ssh://ann@desk:22"] {
            assert!(Destination::is_meant_by(text), "{text}");
        }
        for text in ["desk", "desk:7443", "https://desk", "https://me@desk"] {
            assert!(!Destination::is_meant_by(text), "{text}");
        }
    }

    #[test]
    fn it_is_called_by_the_first_part_of_its_host() {
        for (text, name) in [
            ("desk", "desk"),
            ("ann@desk.example.com", "desk"),
            ("ssh://ann@desk.example.com:22", "desk"),
            ("ssh://[fd7a::1]:22", "fd7a--1"),
            ("ann@10.0.0.7", "10.0.0.7"),
            ("ann@fd7a::1", "fd7a--1"),
        ] {
            assert_eq!(parsed(text).unwrap().short_name(), name, "{text}");
        }
    }
}
