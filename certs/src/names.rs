//! The names and addresses by which a daemon can be reached.

use std::{collections::BTreeSet, net::IpAddr};

use rcgen::SanType;

use crate::{CertsError, IDENTITY_SERVER_NAME};

/// What a certificate is made for: its subject alternative names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    hosts: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
}

impl Names {
    /// The names that every daemon has: `localhost`, its own `<instance>.localhost`, the loopback addresses, and the name that
    /// native clients ask for.
    pub fn new(instance: &str) -> Self {
        let hosts = [
            IDENTITY_SERVER_NAME.to_owned(),
            "localhost".to_owned(),
            format!("{instance}.localhost"),
        ];
        let addresses = ["127.0.0.1", "::1"].map(|text| text.parse().expect("a constant address parses"));
        Self {
            hosts: hosts.into(),
            addresses: addresses.into(),
        }
    }

    /// Adds an address that a listener is bound to.
    pub fn address(mut self, address: IpAddr) -> Self {
        self.addresses.insert(address.to_canonical());
        self
    }

    /// Adds a host name, lower-cased and without a trailing dot; text that is an address is added as one.
    pub fn host(mut self, name: &str) -> Self {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        if let Ok(address) = name.parse() {
            return self.address(address);
        }
        self.hosts.insert(name);
        self
    }

    /// The host names, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(String::as_str)
    }

    /// The addresses, in order.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().copied()
    }

    /// Adds all of others.
    pub fn and(mut self, others: &Self) -> Self {
        self.hosts.extend(others.hosts.iter().cloned());
        self.addresses.extend(&others.addresses);
        self
    }

    /// The same without others.
    pub fn without(mut self, others: &Self) -> Self {
        self.hosts.retain(|host| !others.hosts.contains(host));
        self.addresses
            .retain(|address| !others.addresses.contains(address));
        self
    }

    /// Whether all of others are among these, as they are written.
    pub fn has_all(&self, others: &Self) -> bool {
        self.hosts.is_superset(&others.hosts) && self.addresses.is_superset(&others.addresses)
    }

    /// The same without the name that native clients ask for.
    pub(crate) fn without_identity(mut self) -> Self {
        self.hosts.remove(IDENTITY_SERVER_NAME);
        self
    }

    /// Whether a certificate for these names is good for the host, be it by a wildcard (RFC 9525 section 6.3).
    pub fn has_host(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let above = name.split_once('.').map(|(_, above)| format!("*.{above}"));
        self.hosts.contains(&name) || above.is_some_and(|above| self.hosts.contains(&above))
    }

    /// Whether it is good for the address.
    pub fn has_address(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address.to_canonical())
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.addresses.is_empty()
    }

    pub(crate) fn subject_alternatives(&self) -> Result<Vec<SanType>, CertsError> {
        let mut alternatives = Vec::with_capacity(self.hosts.len() + self.addresses.len());
        for host in &self.hosts {
            alternatives.push(SanType::DnsName(dns_name(host)?));
        }
        alternatives.extend(self.addresses.iter().copied().map(SanType::IpAddress));
        Ok(alternatives)
    }
}

fn dns_name(host: &str) -> Result<rcgen::string::Ia5String, CertsError> {
    let refused = || CertsError::Name(host.to_owned());
    // The parser of TLS server names is the judge: a name that no client could ask for has no place in a certificate.
    rustls_pki_types::DnsName::try_from(host).map_err(|_| refused())?;
    host.try_into().map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_name_is_lower_case_without_trailing_dot_and_an_address_is_an_address() {
        let names = Names::new("0011223344556677")
            .host("Box.Tail1234.ts.NET.")
            .host("100.64.0.7");
        assert!(names.hosts().any(|host| host == "box.tail1234.ts.net"));
        assert!(
            names
                .addresses()
                .any(|address| address.to_string() == "100.64.0.7")
        );
    }

    #[test]
    fn names_are_added_and_taken_away_whole() {
        let few = Names::default().host("box.example").host("192.0.2.1");
        let others = Names::default().host("desk.example").host("192.0.2.2");
        let all = few.clone().and(&others);
        assert!(all.has_all(&few) && all.has_all(&others));
        for lacking in ["box.example", "192.0.2.1"] {
            let lacking = all.clone().without(&Names::default().host(lacking));
            assert!(!lacking.has_all(&few) && lacking.has_all(&others));
        }
        assert_eq!(all.without(&others), few);
    }

    #[test]
    fn a_name_that_no_client_could_ask_for_is_refused() {
        for name in ["", "a b", "*.example.org", "ä.example"] {
            assert!(
                Names::default().host(name).subject_alternatives().is_err(),
                "{name:?}"
            );
        }
    }
}
